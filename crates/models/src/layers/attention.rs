//! Grouped-query attention (Ainslie et al. 2023) over each row's own KV cache.

use crate::cache::Held;
use crate::mx::{self, Array, Cut, Mask, Result};
use crate::pass::{Pass, Span};
use crate::weights::Kernels;

/// Queries that the plain path scores at a time: bounds the score matrix and skips keys after the block.
const N_QUERY_BLOCK: usize = 128;

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
    /// Positions a query sees, itself included; `None` = all.
    pub window: Option<usize>,
}

/// Projected heads of all tokens.
pub struct Heads {
    /// `[T, Hq + Hk, D]`: queries, then keys.
    pub qk: Array,
    /// `[T, Hk, D]`.
    pub values: Array,
}

/// Attention without projections.
#[derive(Clone, Copy, Debug)]
pub struct Sdpa {
    shape: AttentionShape,
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
        Ok(Heads { qk: part(0, n_qk)?, values: part(n_qk, n_qk + self.n_kv_heads)? })
    }
}

impl Sdpa {
    /// Attention of layer `layer_idx`. On the plain path the scale must be in queries and keys already.
    pub fn new(shape: AttentionShape, layer_idx: usize, kernels: Kernels) -> Self {
        Self { shape, layer_idx, kernels }
    }

    /// Its sizes.
    pub fn shape(&self) -> &AttentionShape {
        &self.shape
    }

    /// Appends the keys and values to the rows' caches and attends: `[T, Hq D]`.
    pub fn forward(&self, heads: &Heads, pass: &mut Pass<'_>) -> Result<Array> {
        if pass.n_rows() == 1 {
            return self.row(heads, pass, 0);
        }
        let mut outputs = Vec::with_capacity(pass.n_rows());
        for row_idx in 0..pass.n_rows() {
            let row = pass.row(row_idx);
            let cut = [Cut { axis: 0, start: row.start as i32, stop: (row.start + row.len) as i32 }];
            let heads = Heads { qk: mx::slice(&heads.qk, &cut)?, values: mx::slice(&heads.values, &cut)? };
            outputs.push(self.row(&heads, pass, row_idx)?);
        }
        mx::concatenate(&outputs.iter().collect::<Vec<_>>(), 0)
    }

    fn row(&self, heads: &Heads, pass: &mut Pass<'_>, row_idx: usize) -> Result<Array> {
        let AttentionShape { n_heads, n_kv_heads, .. } = self.shape;
        let part = |start, stop| mx::slice(&heads.qk, &[Cut { axis: 1, start, stop }]);
        let queries = part(0, n_heads)?;
        let keys = mx::transpose_axes(&part(n_heads, n_heads + n_kv_heads)?, &[1, 0, 2])?;
        let values = mx::transpose_axes(&heads.values, &[1, 0, 2])?;
        let row = pass.row(row_idx);
        let offset = row.offset;
        let held = row.caches[self.layer_idx].update(&keys, &values)?;
        match self.kernels {
            Kernels::Fused => self.fused(&queries, &held, offset, pass),
            Kernels::Plain => self.plain(&queries, &held, offset, pass),
        }
    }

    /// `[L, Hq, D]` queries by MLX's own attention.
    fn fused(&self, queries: &Array, held: &Held, offset: usize, pass: &mut Pass<'_>) -> Result<Array> {
        let (n_q, n_k) = (queries.dim(0), held.keys.dim(1));
        let span = Span {
            q_start: offset,
            q_stop: offset + n_q as usize,
            k_start: held.start,
            k_stop: held.start + n_k as usize,
            window: self.shape.window,
        };
        let queries = mx::expand_dims(&mx::transpose_axes(queries, &[1, 0, 2])?, 0)?;
        let (keys, values) = (mx::expand_dims(&held.keys, 0)?, mx::expand_dims(&held.values, 0)?);
        let array;
        let mask = if span.is_full() {
            Mask::All
        } else if span.is_causal() {
            Mask::Causal
        } else {
            array = pass.mask(span);
            Mask::Array(&array)
        };
        let out = mx::attention(&queries, &keys, &values, self.shape.scale, mask)?;
        mx::reshape(&mx::transpose_axes(&out, &[0, 2, 1, 3])?, &[n_q, self.shape.n_heads * self.shape.head_dim])
    }

    /// `[L, Hq, D]` queries by plain operations, some at a time.
    fn plain(&self, queries: &Array, held: &Held, offset: usize, pass: &mut Pass<'_>) -> Result<Array> {
        let AttentionShape { n_heads, n_kv_heads, head_dim, window, .. } = self.shape;
        let n_q = queries.dim(0) as usize;
        let group = n_heads / n_kv_heads;
        if n_q == 1 {
            let queries = mx::reshape(queries, &[n_kv_heads, group, head_dim])?;
            let scores = mx::matmul(&queries, &mx::transpose_axes(&held.keys, &[0, 2, 1])?)?;
            let out = mx::matmul(&mx::softmax(&scores, -1)?, &held.values)?;
            return mx::reshape(&out, &[1, n_heads * head_dim]);
        }
        // [Hk, G, L, D] over [Hk, 1, S, D]
        let queries = mx::reshape(queries, &[n_q as i32, n_kv_heads, group, head_dim])?;
        let queries = mx::transpose_axes(&queries, &[1, 2, 0, 3])?;
        let keys = mx::expand_dims(&mx::transpose_axes(&held.keys, &[0, 2, 1])?, 1)?;
        let values = mx::expand_dims(&held.values, 1)?;
        let mut blocks = Vec::new();
        for first in (0..n_q).step_by(N_QUERY_BLOCK) {
            let last = (first + N_QUERY_BLOCK).min(n_q);
            let visible = window.map_or(0, |window| (offset + first + 1).saturating_sub(window)).max(held.start);
            let span = Span {
                q_start: offset + first,
                q_stop: offset + last,
                k_start: visible,
                k_stop: offset + last,
                window,
            };
            let queries = mx::slice(&queries, &[Cut { axis: 2, start: first as i32, stop: last as i32 }])?;
            let (start, stop) = ((visible - held.start) as i32, (offset + last - held.start) as i32);
            let keys = mx::slice(&keys, &[Cut { axis: 3, start, stop }])?;
            let values = mx::slice(&values, &[Cut { axis: 2, start, stop }])?;
            let mut scores = mx::matmul(&queries, &keys)?;
            if !span.is_full() {
                scores = mx::select(&pass.mask(span), &scores, &mx::scalar(f32::NEG_INFINITY))?;
            }
            let out = mx::matmul(&mx::softmax(&scores, -1)?, &values)?;
            blocks.push(mx::transpose_axes(&out, &[2, 0, 1, 3])?);
        }
        let out = match blocks.as_slice() {
            [block] => block.clone(),
            blocks => mx::concatenate(&blocks.iter().collect::<Vec<_>>(), 0)?,
        };
        mx::reshape(&out, &[n_q as i32, n_heads * head_dim])
    }
}
