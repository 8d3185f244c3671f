//! From scores to what values are weighed by.

use super::{AttentionShape, Sdpa};
use crate::mx::{self, Array, Cut, Result};

impl Sdpa {
    /// `[Hk, G L, S]` scores to weights that sum to 1, sinks included.
    pub(super) fn probabilities(&self, scores: &Array) -> Result<Array> {
        let Some(sinks) = self.sink_scores(scores)? else { return mx::softmax(scores, -1) };
        let probs = mx::softmax(&mx::concatenate(&[scores, &sinks], -1)?, -1)?;
        mx::slice(&probs, &[Cut { axis: 2, start: 0, stop: scores.dim(2) }])
    }

    /// `[.., Hk, G L, S]` scores of each of some keys to weights, and `[.., Hk, G L, 1]` what all of them sum to, sinks
    /// included.
    pub(super) fn weights(&self, scores: &[Array]) -> Result<(Vec<Array>, Array)> {
        let mut largest = total(scores.iter().map(|scores| mx::max(scores, -1)), mx::maximum)?;
        let sinks = scores.first().map(|scores| self.sink_scores(scores)).transpose()?.flatten();
        if let Some(sinks) = &sinks {
            largest = mx::maximum(&largest, sinks)?;
        }
        let weights = scores.iter().map(|scores| mx::exp(&mx::subtract(scores, &largest)?));
        let weights = weights.collect::<Result<Vec<_>>>()?;
        let mut sums = total(weights.iter().map(sum), mx::add)?;
        if let Some(sinks) = &sinks {
            sums = mx::add(&sums, &mx::exp(&mx::subtract(sinks, &largest)?)?)?;
        }
        Ok((weights, sums))
    }

    /// The sinks' scores for each row of `[.., Hk, G L, S]`: `[Hk, G L, 1]`.
    fn sink_scores(&self, scores: &Array) -> Result<Option<Array>> {
        let Some(sinks) = &self.sinks else { return Ok(None) };
        let AttentionShape { n_heads, n_kv_heads, .. } = self.shape;
        let (group, n_rows) = (n_heads / n_kv_heads, scores.dim(-2));
        let sinks = mx::reshape(&mx::cast(sinks, scores.dtype())?, &[n_kv_heads, group, 1])?;
        let sinks = mx::broadcast_to(&sinks, &[n_kv_heads, group, n_rows / group])?;
        mx::reshape(&sinks, &[n_kv_heads, n_rows, 1]).map(Some)
    }
}

/// Along the last axis: matrix products are faster than sums.
fn sum(weights: &Array) -> Result<Array> {
    let one = mx::cast(&mx::scalar(1.0), weights.dtype())?;
    mx::matmul(weights, &mx::broadcast_to(&one, &[weights.dim(-1), 1])?)
}

/// All parts as one.
fn total(
    mut parts: impl Iterator<Item = Result<Array>>,
    both: impl Fn(&Array, &Array) -> Result<Array>,
) -> Result<Array> {
    let first = parts.next().ok_or_else(|| mx::Error { what: "attention over no positions".into() })??;
    parts.try_fold(first, |sum, part| both(&sum, &part?))
}
