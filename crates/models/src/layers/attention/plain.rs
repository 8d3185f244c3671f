//! Attention by plain operations.

use std::ops::Range;

use super::{AttentionShape, Sdpa, joined};
use crate::cache::{Stored, Stretch};
use crate::mx::{self, Array, Cut, Result};
use crate::pass::{Pass, Span};
use crate::weights::Kernels;

/// Queries that are scored at a time: bounds the score matrix and skips keys after the block.
const N_QUERY_BLOCK: usize = 128;

/// Scores from which on it pays to divide what has been weighed, and not each weight.
const N_SCORES_MIN: usize = 4096;

/// Scores from which on a copy costs more than the operations that do without it.
const N_APART_MIN: usize = 1 << 18;

/// Keys that all queries see from which on it pays to leave them out of the mask.
const N_SEEN_MIN: usize = 1024;

/// Which keys queries do not see.
pub(super) struct Hiding {
    /// `[L, S]`, added to the scores of the keys from `from` on: minus infinity where a query does not see a key.
    pub cells: Array,
    /// A position. All queries see the keys before it.
    pub from: usize,
}

impl Sdpa {
    /// `[L, Hq, D]` queries; they carry the scale.
    pub(super) fn plain(
        &self,
        queries: &Array,
        stretches: &[Stretch],
        offset: usize,
        pass: &mut Pass<'_>,
    ) -> Result<Array> {
        self.blocks(queries, stretches, offset, |span| {
            if span.is_full() {
                return Ok(None);
            }
            let is_late = span.is_causal() && span.q_start - span.k_start >= N_SEEN_MIN;
            let from = if is_late { span.q_start } else { span.k_start };
            Ok(Some(Hiding { cells: pass.hiding(Span { k_start: from, ..span })?, from }))
        })
    }

    /// `[L, Hq, D]` queries, some at a time, each without what is hidden from it.
    pub(super) fn blocks(
        &self,
        queries: &Array,
        stretches: &[Stretch],
        offset: usize,
        mut hiding: impl FnMut(Span) -> Result<Option<Hiding>>,
    ) -> Result<Array> {
        let AttentionShape { n_heads, n_kv_heads, head_dim, reach, .. } = self.shape;
        let n_q = queries.dim(0) as usize;
        let group = n_heads / n_kv_heads;
        // [Hk, G, L, D]
        let queries = mx::reshape(queries, &[n_q as i32, n_kv_heads, group, head_dim])?;
        let queries = mx::transpose_axes(&queries, &[1, 2, 0, 3])?;
        let held = stretches.first().map_or(0, |first| first.range.start);
        let mut blocks = Vec::new();
        for first in (0..n_q).step_by(N_QUERY_BLOCK) {
            let last = (first + N_QUERY_BLOCK).min(n_q);
            let visible = reach.first(offset + first).max(held);
            let stop = offset + last;
            let span = Span { q_start: offset + first, q_stop: stop, k_start: visible, k_stop: stop, reach };
            let queries = mx::slice(&queries, &[Cut { axis: 2, start: first as i32, stop: last as i32 }])?;
            let n_block = (last - first) as i32;
            let queries = mx::reshape(&queries, &[n_kv_heads, group * n_block, head_dim])?;
            let hiding = hiding(span)?;
            let mut seen = clip(stretches, &(visible..stop))?;
            if let Some(Hiding { from, .. }) = &hiding {
                seen = split(seen, *from)?;
            }
            let out = self.attend(&queries, &seen, hiding.as_ref())?;
            let out = mx::reshape(&out, &[n_kv_heads, group, n_block, head_dim])?;
            blocks.push(mx::transpose_axes(&out, &[2, 0, 1, 3])?);
        }
        mx::reshape(&joined(&blocks, 0)?, &[n_q as i32, n_heads * head_dim])
    }

    /// `[Hk, G L, D]` queries over all positions of the stretches, none of which is hidden in part only.
    pub(super) fn attend(&self, queries: &Array, stretches: &[Stretch], hiding: Option<&Hiding>) -> Result<Array> {
        let scores = stretches.iter().map(|stretch| {
            let scores = self.capped(&self.scores(queries, &stretch.keys)?)?;
            match hiding.filter(|hiding| hiding.from < stretch.range.end) {
                Some(hiding) => hiding.hide(&scores, stretch),
                None => Ok(scores),
            }
        });
        let scores = scores.collect::<Result<Vec<_>>>()?;
        let n_scores: usize = scores.iter().map(Array::size).sum();
        if self.kernels == Kernels::Fused || n_scores < N_SCORES_MIN {
            return self.weigh_joined(&self.probabilities(&joined(&scores, -1)?)?, stretches);
        }
        if n_scores < N_APART_MIN {
            let (weights, sums) = self.weights(&[joined(&scores, -1)?])?;
            return mx::divide(&self.weigh_joined(&weights[0], stretches)?, &sums);
        }
        let (weights, sums) = self.weights(&scores)?;
        mx::divide(&self.weigh_all(weights.iter().zip(stretches))?, &sums)
    }

    pub(super) fn capped(&self, scores: &Array) -> Result<Array> {
        match self.shape.cap {
            Some(cap) => mx::scale(&mx::tanh(&mx::scale(scores, 1.0 / cap)?)?, cap),
            None => Ok(scores.clone()),
        }
    }

    /// `weights @ values` over all stretches; `weights` are those of all of them.
    fn weigh_joined(&self, weights: &Array, stretches: &[Stretch]) -> Result<Array> {
        if let [stretch] = stretches {
            return self.weigh(weights, &stretch.values);
        }
        let mut start = 0;
        let parts = stretches.iter().map(|stretch| {
            let stop = start + stretch.range.len() as i32;
            let part = mx::slice(weights, &[Cut { axis: 2, start, stop }]);
            start = stop;
            part
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        self.weigh_all(parts.iter().zip(stretches))
    }

    /// The sum of `weights @ values` of stretches.
    fn weigh_all<'a>(&self, parts: impl Iterator<Item = (&'a Array, &'a Stretch)>) -> Result<Array> {
        let mut sum: Option<Array> = None;
        for (weights, stretch) in parts {
            let out = self.weigh(weights, &stretch.values)?;
            sum = Some(match sum {
                Some(sum) => mx::add(&sum, &out)?,
                None => out,
            });
        }
        sum.ok_or_else(|| mx::Error { what: "attention over no positions".into() })
    }

    /// `queries @ keys^T`.
    pub(super) fn scores(&self, queries: &Array, keys: &Stored) -> Result<Array> {
        match (keys, self.kernels) {
            (Stored::Dense(keys), _) => mx::matmul(queries, &mx::transpose_axes(keys, &[0, 2, 1])?),
            (Stored::Packed(keys), Kernels::Fused) => mx::quantized_matmul(queries, keys),
            (Stored::Packed(keys), Kernels::Plain) => {
                mx::matmul(queries, &mx::transpose_axes(&mx::dequantize(keys, queries.dtype())?, &[0, 2, 1])?)
            }
        }
    }

    /// `probs @ values`.
    pub(super) fn weigh(&self, probs: &Array, values: &Stored) -> Result<Array> {
        match (values, self.kernels) {
            (Stored::Dense(values), _) => mx::matmul(probs, values),
            (Stored::Packed(values), Kernels::Fused) => mx::quantized_matmul_rows(probs, values),
            (Stored::Packed(values), Kernels::Plain) => mx::matmul(probs, &mx::dequantize(values, probs.dtype())?),
        }
    }
}

impl Hiding {
    /// `[Hk, G L, S]` scores of a stretch that begins at or after `from`.
    fn hide(&self, scores: &Array, stretch: &Stretch) -> Result<Array> {
        let (n_kv_heads, n_rows, n_k) = (scores.dim(0), scores.dim(1), scores.dim(2));
        let n_q = self.cells.dim(0);
        let cells = if n_k == self.cells.dim(1) {
            self.cells.clone()
        } else {
            let start = (stretch.range.start - self.from) as i32;
            mx::slice(&self.cells, &[Cut { axis: 1, start, stop: start + n_k }])?
        };
        let by_query = mx::reshape(scores, &[n_kv_heads, n_rows / n_q, n_q, n_k])?;
        let masked = mx::add(&by_query, &mx::cast(&cells, scores.dtype())?)?;
        mx::reshape(&masked, &[n_kv_heads, n_rows, n_k])
    }
}

/// The positions of `range`, all of which the stretches hold.
pub(super) fn clip(stretches: &[Stretch], range: &Range<usize>) -> Result<Vec<Stretch>> {
    let overlapping = stretches.iter().filter(|s| s.range.start < range.end && s.range.end > range.start);
    overlapping.map(|stretch| stretch.clip(range)).collect()
}

/// The same positions, with a border at `at`.
fn split(stretches: Vec<Stretch>, at: usize) -> Result<Vec<Stretch>> {
    let mut parts = Vec::with_capacity(stretches.len() + 1);
    for stretch in stretches {
        let Range { start, end } = stretch.range;
        if start < at && at < end {
            parts.extend([stretch.clip(&(start..at))?, stretch.clip(&(at..end))?]);
        } else {
            parts.push(stretch);
        }
    }
    Ok(parts)
}
