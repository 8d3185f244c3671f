//! Grouped-query attention (Ainslie et al. 2023) over each row's own KV cache.

use crate::cache::rotating::Held;
use crate::cache::{Stored, Stretch};
use crate::mx::{self, Array, Cut, Mask, Result};
use crate::pass::{Pass, PassRow, Reach, Span};
use crate::weights::Kernels;

#[cfg(test)]
pub mod blind;
mod chosen;
mod plain;
mod together;
mod weights;

pub use chosen::Chosen;
use plain::clip;

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

#[cfg(test)]
#[path = "attention_tests.rs"]
mod tests;
