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

    /// `[.., Hk, G L, S]` scores to weights, and `[.., Hk, G L, 1]` what they sum to, sinks included.
    pub(super) fn weights(&self, scores: &Array) -> Result<(Array, Array)> {
        let mut largest = mx::max(scores, -1)?;
        let sinks = self.sink_scores(scores)?;
        if let Some(sinks) = &sinks {
            largest = mx::maximum(&largest, sinks)?;
        }
        let weights = mx::exp(&mx::subtract(scores, &largest)?)?;
        // Matrix products are faster than sums.
        let ones = mx::broadcast_to(&mx::cast(&mx::scalar(1.0), scores.dtype())?, &[scores.dim(-1), 1])?;
        let mut sums = mx::matmul(&weights, &ones)?;
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
