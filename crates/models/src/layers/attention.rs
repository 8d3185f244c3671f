//! Grouped-query attention (Ainslie et al. 2023) over each row's own KV cache.

use std::ops::Range;

use crate::cache::rotating::Held;
use crate::cache::{Stored, Stretch};
use crate::mx::{self, Array, Cut, Mask, Result};
use crate::pass::{Pass, PassRow, Reach, Span};
use crate::weights::Kernels;

#[cfg(test)]
pub mod blind;
mod chosen;
mod together;
mod weights;

pub use chosen::Chosen;

/// Queries that the plain path scores at a time: bounds the score matrix and skips keys after the block.
const N_QUERY_BLOCK: usize = 128;

/// Scores from which on it pays to divide what has been weighed, and not each weight.
const N_SCORES_MIN: usize = 4096;

/// Sizes of a layer's attention.
#[derive(Clone, Copy, Debug)]
pub struct AttentionShape {
    /// Query heads.
    pub n_heads: i32,
    /// Key and value heads.
    pub n_kv_heads: i32,
    /// Elements a head.
    pub head_dim: i32,
    /// Multiplies the scores.
    pub scale: f32,
    /// How far back a query sees.
    pub reach: Reach,
    /// Bounds the scores: `cap * tanh(score / cap)` (Gemma Team 2024); `None` = unbounded.
    pub cap: Option<f32>,
}

/// Projected heads of all tokens.
pub struct Heads {
    /// `[T, Hq + Hk, D]`: queries, then keys.
    pub qk: Array,
    /// `[T, Hk, D]`; `None` = the keys.
    pub values: Option<Array>,
}

/// Attention without projections.
#[derive(Clone, Debug)]
pub struct Sdpa {
    shape: AttentionShape,
    /// `[Hq]`: the score of a key without a value, which a query may turn to (OpenAI 2025).
    sinks: Option<Array>,
    layer_idx: usize,
    kernels: Kernels,
}

impl AttentionShape {
    /// Rows of the stacked q, k and v projections.
    pub fn n_rows(&self) -> [i32; 3] {
        [self.n_heads, self.n_kv_heads, self.n_kv_heads].map(|n| n * self.head_dim)
    }

    /// Splits `[T, (Hq + 2 Hk) D]`.
    pub fn split(&self, qkv: &Array) -> Result<Heads> {
        let n_qk = self.n_heads + self.n_kv_heads;
        let heads = mx::reshape(qkv, &[qkv.dim(0), n_qk + self.n_kv_heads, self.head_dim])?;
        let part = |start, stop| mx::slice(&heads, &[Cut { axis: 1, start, stop }]);
        Ok(Heads { qk: part(0, n_qk)?, values: Some(part(n_qk, n_qk + self.n_kv_heads)?) })
    }
}

impl Sdpa {
    /// Attention of layer `layer_idx`. On the plain path the scale must be in queries and keys already.
    pub fn new(shape: AttentionShape, layer_idx: usize, kernels: Kernels) -> Self {
        Self { shape, sinks: None, layer_idx, kernels }
    }

    /// The same with the scores `[Hq]` of a key without a value.
    pub fn with_sinks(self, sinks: Array) -> Self {
        Self { sinks: Some(sinks), ..self }
    }

    /// Its sizes.
    pub fn shape(&self) -> &AttentionShape {
        &self.shape
    }

    /// Appends the keys and values to the rows' caches and attends: `[T, Hq D]`.
    /// All rows write before any reads: rows may share storage, and what has been read cannot be written in place.
    pub fn forward(&self, heads: &Heads, pass: &mut Pass<'_>) -> Result<Array> {
        let (queries, held) = self.append(heads, pass)?;
        #[cfg(test)]
        if blind::is_on() {
            return mx::reshape(&queries, &[queries.dim(0), self.shape.n_heads * self.shape.head_dim]);
        }
        self.read(&queries, held, pass)
    }

    /// Attends to the keys and values that this layer's namesake, an earlier one, has appended in this pass: `[T, Hq, D]`
    /// queries to `[T, Hq D]`.
    pub fn forward_again(&self, queries: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let held = (0..pass.n_rows()).map(|row_idx| {
            let row = pass.row(row_idx);
            row.cache.appended(self.layer_idx, row.len)
        });
        let held = held.collect::<Result<Vec<_>>>()?;
        self.read(queries, held, pass)
    }

    /// The queries `[T, Hq, D]`, and per row what its cache gave for keys and values.
    fn append(&self, heads: &Heads, pass: &mut Pass<'_>) -> Result<(Array, Vec<Option<Held>>)> {
        let AttentionShape { n_heads, n_kv_heads, head_dim, .. } = self.shape;
        let part = |start, stop| mx::slice(&heads.qk, &[Cut { axis: 1, start, stop }]);
        let keys = part(n_heads, n_heads + n_kv_heads)?;
        let kv = match &heads.values {
            Some(values) => mx::concatenate(&[&keys, values], 1)?,
            None => keys,
        };
        let together = self.together(pass)?;
        if let Some(together) = &together {
            self.write_together(&kv, together, pass)?;
        }
        let (n_tokens, n_stored) = (kv.dim(0), kv.dim(1));
        let is_single = n_tokens as usize == pass.n_rows();
        // One token a row: what is reshaped for all needs no transposing of each.
        let kv = if is_single { mx::reshape(&kv, &[n_tokens * n_stored, 1, head_dim])? } else { kv };
        let mut held = Vec::with_capacity(pass.n_rows());
        for row_idx in 0..pass.n_rows() {
            if together.as_ref().is_some_and(|together| together.has(row_idx)) {
                held.push(None);
                continue;
            }
            let row = pass.row(row_idx);
            let kv = match is_single {
                true => nth(&kv, row_idx, n_stored)?,
                false => mx::transpose_axes(&rows(&kv, row)?, &[1, 0, 2])?,
            };
            held.push(row.cache.append(self.layer_idx, &kv)?);
        }
        Ok((part(0, n_heads)?, held))
    }

    fn read(&self, queries: &Array, held: Vec<Option<Held>>, pass: &mut Pass<'_>) -> Result<Array> {
        if let Some(together) = self.together(pass)? {
            return self.read_together(queries, held, &together, pass);
        }
        if queries.dim(0) as usize == pass.n_rows() {
            return self.singles(queries, held, pass);
        }
        let mut outputs = Vec::with_capacity(pass.n_rows());
        for (row_idx, held) in held.into_iter().enumerate() {
            let row = pass.row(row_idx);
            let queries = rows(queries, row)?;
            let offset = row.offset;
            let stretches = self.stretches(held, row)?;
            outputs.push(self.row(&queries, &stretches, offset, pass)?);
        }
        joined(&outputs, 0)
    }

    /// One token a row: `[T, Hq, D]` queries. Short rows cost what operations cost: views of all rows are made at once.
    fn singles(&self, queries: &Array, held: Vec<Option<Held>>, pass: &mut Pass<'_>) -> Result<Array> {
        let AttentionShape { n_heads, n_kv_heads, head_dim, scale, cap, .. } = self.shape;
        let n_rows = pass.n_rows() as i32;
        let is_fused = self.kernels == Kernels::Fused;
        let by_key = mx::reshape(queries, &[n_rows * n_kv_heads, n_heads / n_kv_heads, head_dim])?;
        let by_row = mx::reshape(queries, &[n_rows, n_heads, 1, head_dim])?;
        let mut outputs = Vec::with_capacity(pass.n_rows());
        for (row_idx, held) in held.into_iter().enumerate() {
            let stretches = self.seen_by_one(held, pass.row(row_idx))?;
            let out = match if is_fused && cap.is_none() { whole(&stretches)? } else { None } {
                Some((keys, values)) => {
                    let (keys, values) = (mx::expand_dims(&keys, 0)?, mx::expand_dims(&values, 0)?);
                    let queries = nth(&by_row, row_idx, 1)?;
                    mx::attention([&queries, &keys, &values], scale, Mask::All, self.sinks.as_ref())?
                }
                None => {
                    let mut queries = nth(&by_key, row_idx, n_kv_heads)?;
                    if is_fused {
                        queries = mx::scale(&queries, scale)?;
                    }
                    self.attend(&queries, &stretches, None)?
                }
            };
            outputs.push(out);
        }
        if is_fused && outputs.iter().any(|out| out.ndim() != outputs[0].ndim()) {
            outputs = outputs.iter().map(|out| mx::reshape(out, &[1, n_heads, 1, head_dim])).collect::<Result<_>>()?;
        }
        mx::reshape(&joined(&outputs, 0)?, &[n_rows, n_heads * head_dim])
    }

    /// What the one query of a row sees.
    fn seen_by_one(&self, held: Option<Held>, row: &PassRow<'_>) -> Result<Vec<Stretch>> {
        let mut stretches = self.stretches(held, row)?;
        let first = self.shape.reach.first(row.offset);
        if let Reach::Chunk(_) = self.shape.reach {
            // The newest chunk is but a part of what is kept.
            stretches = clip(&stretches, &(first..row.offset + 1))?;
        }
        // The newest window of a rotating cache may be longer.
        assert!(stretches.first().is_some_and(|stretch| stretch.range.start >= first), "a window is too long");
        Ok(stretches)
    }

    /// What a row's queries read.
    fn stretches(&self, held: Option<Held>, row: &PassRow<'_>) -> Result<Vec<Stretch>> {
        match held {
            Some(held) => Ok(vec![Stretch::of_window(&held)?]),
            None => row.cache.stretches(self.layer_idx),
        }
    }

    /// `[L, Hq, D]` queries of one row.
    fn row(&self, queries: &Array, stretches: &[Stretch], offset: usize, pass: &mut Pass<'_>) -> Result<Array> {
        if self.kernels == Kernels::Fused {
            if self.shape.cap.is_none()
                && let Some((keys, values)) = whole(stretches)?
            {
                let start = stretches.first().map_or(0, |first| first.range.start);
                return self.fused(queries, [&keys, &values], self.span(queries, offset, start), pass);
            }
            let queries = mx::scale(queries, self.shape.scale)?;
            return self.plain(&queries, stretches, offset, pass);
        }
        self.plain(queries, stretches, offset, pass)
    }

    fn span(&self, queries: &Array, offset: usize, k_start: usize) -> Span {
        let q_stop = offset + queries.dim(0) as usize;
        Span { q_start: offset, q_stop, k_start, k_stop: q_stop, reach: self.shape.reach }
    }

    /// `[L, Hq, D]` queries by MLX's own attention.
    fn fused(&self, queries: &Array, kv: [&Array; 2], span: Span, pass: &mut Pass<'_>) -> Result<Array> {
        let n_q = queries.dim(0);
        let queries = mx::expand_dims(&mx::transpose_axes(queries, &[1, 0, 2])?, 0)?;
        let [keys, values] = kv;
        let (keys, values) = (mx::expand_dims(keys, 0)?, mx::expand_dims(values, 0)?);
        let array;
        let mask = if span.is_full() {
            Mask::All
        } else if span.is_causal() {
            Mask::Causal
        } else {
            array = pass.mask(span);
            Mask::Array(&array)
        };
        let out = mx::attention([&queries, &keys, &values], self.shape.scale, mask, self.sinks.as_ref())?;
        mx::reshape(&mx::transpose_axes(&out, &[0, 2, 1, 3])?, &[n_q, self.shape.n_heads * self.shape.head_dim])
    }

    /// `[L, Hq, D]` queries by plain operations; they carry the scale.
    fn plain(&self, queries: &Array, stretches: &[Stretch], offset: usize, pass: &mut Pass<'_>) -> Result<Array> {
        self.blocks(queries, stretches, offset, |span| (!span.is_full()).then(|| pass.hiding(span)).transpose())
    }

    /// `[L, Hq, D]` queries by plain operations, some at a time, each through its `mask`.
    fn blocks(
        &self,
        queries: &Array,
        stretches: &[Stretch],
        offset: usize,
        mut mask: impl FnMut(Span) -> Result<Option<Array>>,
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
            let seen = clip(stretches, &(visible..stop))?;
            let out = self.attend(&queries, &seen, mask(span)?.as_ref())?;
            let out = mx::reshape(&out, &[n_kv_heads, group, n_block, head_dim])?;
            blocks.push(mx::transpose_axes(&out, &[2, 0, 1, 3])?);
        }
        mx::reshape(&joined(&blocks, 0)?, &[n_q as i32, n_heads * head_dim])
    }

    /// `[Hk, G L, D]` queries over all positions of the stretches; `mask`, `[L, S]`, is added to the scores.
    fn attend(&self, queries: &Array, stretches: &[Stretch], mask: Option<&Array>) -> Result<Array> {
        let scores = stretches.iter().map(|stretch| self.scores(queries, &stretch.keys)).collect::<Result<Vec<_>>>()?;
        let mut scores = self.capped(&joined(&scores, -1)?)?;
        if let Some(mask) = mask {
            let (n_kv_heads, n_rows, n_k) = (scores.dim(0), scores.dim(1), scores.dim(2));
            let n_q = mask.dim(0);
            let by_query = mx::reshape(&scores, &[n_kv_heads, n_rows / n_q, n_q, n_k])?;
            let masked = mx::add(&by_query, &mx::cast(mask, scores.dtype())?)?;
            scores = mx::reshape(&masked, &[n_kv_heads, n_rows, n_k])?;
        }
        if self.kernels == Kernels::Fused || scores.size() < N_SCORES_MIN {
            return self.weigh_all(&self.probabilities(&scores)?, stretches);
        }
        let (weights, sums) = self.weights(&scores)?;
        mx::divide(&self.weigh_all(&weights, stretches)?, &sums)
    }

    fn capped(&self, scores: &Array) -> Result<Array> {
        match self.shape.cap {
            Some(cap) => mx::scale(&mx::tanh(&mx::scale(scores, 1.0 / cap)?)?, cap),
            None => Ok(scores.clone()),
        }
    }

    /// `weights @ values` over all stretches.
    fn weigh_all(&self, weights: &Array, stretches: &[Stretch]) -> Result<Array> {
        if let [stretch] = stretches {
            return self.weigh(weights, &stretch.values);
        }
        let mut sum: Option<Array> = None;
        let mut start = 0;
        for stretch in stretches {
            let stop = start + stretch.range.len() as i32;
            let out = self.weigh(&mx::slice(weights, &[Cut { axis: 2, start, stop }])?, &stretch.values)?;
            start = stop;
            sum = Some(match sum {
                Some(sum) => mx::add(&sum, &out)?,
                None => out,
            });
        }
        sum.ok_or_else(|| mx::Error { what: "attention over no positions".into() })
    }

    /// `queries @ keys^T`.
    fn scores(&self, queries: &Array, keys: &Stored) -> Result<Array> {
        match (keys, self.kernels) {
            (Stored::Dense(keys), _) => mx::matmul(queries, &mx::transpose_axes(keys, &[0, 2, 1])?),
            (Stored::Packed(keys), Kernels::Fused) => mx::quantized_matmul(queries, keys),
            (Stored::Packed(keys), Kernels::Plain) => {
                mx::matmul(queries, &mx::transpose_axes(&mx::dequantize(keys, queries.dtype())?, &[0, 2, 1])?)
            }
        }
    }

    /// `probs @ values`.
    fn weigh(&self, probs: &Array, values: &Stored) -> Result<Array> {
        match (values, self.kernels) {
            (Stored::Dense(values), _) => mx::matmul(probs, values),
            (Stored::Packed(values), Kernels::Fused) => mx::quantized_matmul_rows(probs, values),
            (Stored::Packed(values), Kernels::Plain) => mx::matmul(probs, &mx::dequantize(values, probs.dtype())?),
        }
    }
}

/// The `n` entries of row `row_idx`; the array itself when it has no more.
fn nth(array: &Array, row_idx: usize, n: i32) -> Result<Array> {
    if array.dim(0) == n {
        return Ok(array.clone());
    }
    let start = row_idx as i32 * n;
    mx::slice(array, &[Cut { axis: 0, start, stop: start + n }])
}

/// A row's part of `[T, ..]`.
fn rows(array: &Array, row: &PassRow<'_>) -> Result<Array> {
    if row.start == 0 && row.len == array.dim(0) as usize {
        return Ok(array.clone());
    }
    mx::slice(array, &[Cut { axis: 0, start: row.start as i32, stop: (row.start + row.len) as i32 }])
}

/// Keys and values of all stretches as one array each; `None` when any is packed.
fn whole(stretches: &[Stretch]) -> Result<Option<(Array, Array)>> {
    let dense = stretches.iter().map(|stretch| match (&stretch.keys, &stretch.values) {
        (Stored::Dense(keys), Stored::Dense(values)) => Some((keys.clone(), values.clone())),
        _ => None,
    });
    let Some((keys, values)) = dense.collect::<Option<(Vec<_>, Vec<_>)>>() else { return Ok(None) };
    Ok(Some((joined(&keys, 1)?, joined(&values, 1)?)))
}

fn joined(arrays: &[Array], axis: i32) -> Result<Array> {
    match arrays {
        [array] => Ok(array.clone()),
        arrays => mx::concatenate(&arrays.iter().collect::<Vec<_>>(), axis),
    }
}

/// The positions of `range`, all of which the stretches hold.
fn clip(stretches: &[Stretch], range: &Range<usize>) -> Result<Vec<Stretch>> {
    let overlapping = stretches.iter().filter(|s| s.range.start < range.end && s.range.end > range.start);
    overlapping.map(|stretch| stretch.clip(range)).collect()
}

#[cfg(test)]
#[path = "attention_tests.rs"]
mod tests;
