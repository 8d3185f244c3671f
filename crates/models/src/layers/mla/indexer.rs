//! Which positions latent attention reads (DeepSeek-AI 2025): small heads score every position, and a query reads the best.

use crate::LoadResult;
use crate::cache::Stretch;
use crate::layers::attention::Chosen;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::norm::{Norm, NormKind};
use crate::layers::rope::Rope;
use crate::mx::{self, Array, Cut, Dtype, Result};
use crate::pass::{Pass, Reach, Span};
use crate::weights::At;

/// Queries that are scored at a time, and elements of all heads' scores: bounds what they take.
const N_QUERY_BLOCK: i32 = 128;
const N_SCORES_MAX: i32 = 1 << 26;

/// Sizes of an indexer.
#[derive(Clone, Copy, Debug)]
pub struct IndexLayout {
    /// Heads that score.
    pub n_heads: i32,
    /// Elements of each, and of a position's key.
    pub head_dim: i32,
    /// The first of them, which are rotated.
    pub n_rotated: i32,
    /// Positions that a query reads.
    pub top_k: usize,
}

/// See the module.
pub struct Indexer {
    layout: IndexLayout,
    wq_b: Linear,
    wk: Linear,
    k_norm: Norm,
    weights_proj: Linear,
    rope: Rope,
    cache_idx: usize,
}

impl Indexer {
    /// Takes `indexer` of an attention, whose queries come from vectors of `n_latent` and keys from `n_hidden`; its cache keeps keys.
    pub fn load(
        at: &At<'_, '_>,
        layout: IndexLayout,
        [n_latent, n_hidden]: [i32; 2],
        cache_idx: usize,
        rope: &Rope,
    ) -> LoadResult<Self> {
        let IndexLayout { n_heads, head_dim, .. } = layout;
        let linear = |name, n_out, n_in| Linear::load(at, Shape { name, n_out, n_in, bias: Bias::Absent });
        Ok(Self {
            layout,
            wq_b: linear("wq_b", n_heads * head_dim, n_latent)?,
            wk: linear("wk", head_dim, n_hidden)?,
            k_norm: Norm::load(&at.at("k_norm"), head_dim, 1e-6, NormKind::Layer(Bias::Present))?,
            weights_proj: linear("weights_proj", n_heads, n_hidden)?,
            rope: rope.clone(),
            cache_idx,
        })
    }

    /// What each row's queries read; `x` is `[T, hidden]`, `latent` `[T, n_latent]`. Keeps the keys of all tokens.
    pub fn choose(&self, x: &Array, latent: &Array, pass: &mut Pass<'_>) -> Result<Vec<Chosen>> {
        let IndexLayout { n_heads, head_dim, top_k, .. } = self.layout;
        let t = x.dim(0);
        let queries = mx::reshape(&self.wq_b.forward(latent)?, &[t, n_heads, head_dim])?;
        let keys = mx::reshape(&self.k_norm.forward(&self.wk.forward(x)?)?, &[t, 1, head_dim])?;
        let heads = self.rotated(&mx::concatenate(&[&queries, &keys], 1)?, pass)?;
        let part = |start, stop| mx::slice(&heads, &[Cut { axis: 1, start, stop }]);
        let (queries, keys) = (part(0, n_heads)?, part(n_heads, n_heads + 1)?);
        // What scores are scaled by is in the heads' weights.
        let scale = (n_heads as f32 * head_dim as f32).powf(-0.5);
        let weights = mx::scale(&self.weights_proj.forward(x)?, scale)?;
        for row_idx in 0..pass.n_rows() {
            let row = pass.row(row_idx);
            let keys = mx::transpose_axes(&cut(&keys, row.start, row.len)?, &[1, 0, 2])?;
            row.cache.append(self.cache_idx, &keys)?;
        }
        let mut chosen = Vec::with_capacity(pass.n_rows());
        for row_idx in 0..pass.n_rows() {
            let row = pass.row(row_idx);
            let (offset, start, len) = (row.offset, row.start, row.len);
            if offset + len <= top_k {
                chosen.push(Chosen::All);
                continue;
            }
            let stretches = row.cache.stretches(self.cache_idx)?;
            let keys = joined(&stretches, queries.dtype())?;
            let row = Row { queries: cut(&queries, start, len)?, weights: cut(&weights, start, len)?, keys, offset };
            chosen.push(self.best(&row, pass)?);
        }
        Ok(chosen)
    }

    /// The first elements of `[T, H, D]` rotated.
    fn rotated(&self, heads: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let part = |start, stop| mx::slice(heads, &[Cut { axis: 2, start, stop }]);
        let (n, d) = (self.layout.n_rotated, self.layout.head_dim);
        mx::concatenate(&[&self.rope.forward(&part(0, n)?, pass)?, &part(n, d)?], 2)
    }

    fn best(&self, row: &Row, pass: &mut Pass<'_>) -> Result<Chosen> {
        let (n_queries, n_keys, top_k) = (row.queries.dim(0), row.keys.dim(0), self.layout.top_k as i32);
        let mut masks = Vec::new();
        for first in (0..n_queries).step_by(N_QUERY_BLOCK as usize) {
            let last = (first + N_QUERY_BLOCK).min(n_queries);
            let some = |array: &Array| cut(array, first as usize, (last - first) as usize);
            let scores = scores(&some(&row.queries)?, &some(&row.weights)?, &row.keys)?;
            let top = |ranks: &Array| {
                let order = mx::argpartition(ranks, n_keys - top_k)?;
                mx::slice(&order, &[Cut { axis: 1, start: n_keys - top_k, stop: n_keys }])
            };
            if n_queries == 1 {
                return Ok(Chosen::Positions(mx::reshape(&top(&scores)?, &[top_k])?));
            }
            let (q_start, q_stop) = (row.offset + first as usize, row.offset + last as usize);
            let span = Span { q_start, q_stop, k_start: 0, k_stop: n_keys as usize, reach: Reach::All };
            let visible = pass.mask(span);
            let hidden = mx::cast(&mx::scalar(f32::NEG_INFINITY), scores.dtype())?;
            let picked = top(&mx::select(&visible, &scores, &hidden)?)?;
            let none = mx::zeros(&[last - first, n_keys], Dtype::Float32)?;
            let ones = mx::broadcast_to(&mx::scalar(1.0), &[last - first, top_k])?;
            let marked = mx::scatter_add(&none, &picked, &ones, 1)?;
            let seen = mx::greater(&mx::multiply(&marked, &visible)?, &mx::scalar(0.0))?;
            masks.push(mx::select(&seen, &mx::scalar(0.0), &mx::scalar(f32::NEG_INFINITY))?);
        }
        Ok(Chosen::Mask(mx::concatenate(&masks.iter().collect::<Vec<_>>(), 0)?))
    }
}

/// `[L, S]` of `[L, H, D]` queries whose heads weigh `[L, H]`, and `[S, D]` keys: the heads' positive products, weighed and summed.
pub fn scores(queries: &Array, weights: &Array, keys: &Array) -> Result<Array> {
    let (n_queries, n_heads, n_keys) = (queries.dim(0), queries.dim(1), keys.dim(0));
    let queries = mx::transpose_axes(queries, &[1, 0, 2])?; // [H, L, D]
    let weights = mx::expand_dims(&mx::transpose(weights)?, -1)?; // [H, L, 1]
    let keys = mx::transpose(keys)?;
    let n_together = (N_SCORES_MAX / (n_queries * n_keys).max(1)).clamp(1, n_heads);
    let mut sum: Option<Array> = None;
    for head in (0..n_heads).step_by(n_together as usize) {
        let stop = (head + n_together).min(n_heads);
        let some = |array: &Array| mx::slice(array, &[Cut { axis: 0, start: head, stop }]);
        let products = mx::matmul(&some(&queries)?, &keys)?;
        let zero = mx::cast(&mx::scalar(0.0), products.dtype())?;
        let weighed = mx::multiply(&mx::maximum(&products, &zero)?, &some(&weights)?)?;
        let part = mx::reshape(&mx::sum(&weighed, 0)?, &[n_queries, n_keys])?;
        sum = Some(match sum {
            Some(sum) => mx::add(&sum, &part)?,
            None => part,
        });
    }
    sum.ok_or_else(|| mx::Error { what: "an indexer without heads".into() })
}

/// What one row's positions are scored by.
struct Row {
    /// `[L, H, D]`.
    queries: Array,
    /// `[L, H]`.
    weights: Array,
    /// `[S, D]`.
    keys: Array,
    offset: usize,
}

fn cut(array: &Array, start: usize, len: usize) -> Result<Array> {
    mx::slice(array, &[Cut { axis: 0, start: start as i32, stop: (start + len) as i32 }])
}

/// The keys of all stretches, `[S, D]`.
fn joined(stretches: &[Stretch], dtype: Dtype) -> Result<Array> {
    let keys = stretches.iter().map(|stretch| stretch.keys.dense(dtype)).collect::<Result<Vec<_>>>()?;
    let keys = mx::concatenate(&keys.iter().collect::<Vec<_>>(), 1)?;
    mx::reshape(&keys, &[keys.dim(1), keys.dim(2)])
}
