//! Which entries a query sees: small heads score them, as in [`crate::layers::mla`].

use std::ops::Range;

use super::pool::{Pool, PoolLayout};
use super::{Keys, Turn, cut};
use crate::LoadResult;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::mla::scores;
use crate::mx::{self, Array, Cut, Dtype, Result};
use crate::pass::{Pass, PassRow};
use crate::weights::At;

/// Sizes of what scores.
#[derive(Clone, Copy, Debug)]
pub struct SeenLayout {
    /// Heads that score.
    pub n_heads: i32,
    /// Entries that a query sees.
    pub top_k: usize,
    /// How its keys are pooled.
    pub pool: PoolLayout,
}

/// See the module.
pub struct Seen {
    layout: SeenLayout,
    wq_b: Linear,
    weights_proj: Linear,
    pool: Pool,
    turn: Turn,
}

/// What the tokens of a pass ask.
pub struct Asked {
    /// `[T, H, D]`.
    queries: Array,
    /// `[T, H]`, f32.
    weights: Array,
}

impl Seen {
    /// Takes `wq_b`, `weights_proj` and `compressor`; `sizes` are those of what queries and keys come from.
    pub(super) fn load(at: &At<'_, '_>, layout: SeenLayout, sizes: [i32; 2], turn: &Turn) -> LoadResult<Self> {
        let ([n_latent, n_hidden], SeenLayout { n_heads, pool, .. }) = (sizes, layout);
        let linear = |name, n_out, n_in| Linear::load(at, Shape { name, n_out, n_in, bias: Bias::Absent });
        Ok(Self {
            wq_b: linear("wq_b", n_heads * pool.size, n_latent)?,
            weights_proj: linear("weights_proj", n_heads, n_hidden)?,
            pool: Pool::load(&at.at("compressor"), pool, n_hidden, turn)?,
            turn: turn.clone(),
            layout,
        })
    }

    /// Pools the keys of the tokens; `x` is `[T, hidden]`, `latent` what queries come from.
    pub(super) fn ask(&self, x: &Array, latent: &Array, pass: &mut Pass<'_>) -> Result<Asked> {
        let (n_heads, size) = (self.layout.n_heads, self.layout.pool.size);
        self.pool.update(x, pass)?;
        let queries = mx::reshape(&self.wq_b.forward(latent)?, &[x.dim(0), n_heads, size])?;
        let scale = (n_heads as f32 * size as f32).powf(-0.5);
        let weights = mx::scale(&mx::cast(&self.weights_proj.forward(x)?, Dtype::Float32)?, scale)?;
        Ok(Asked { queries: mx::cast(&self.turn.forward(&queries, pass)?, Dtype::Float32)?, weights })
    }

    /// A row's keys, `[N, D]`.
    pub(super) fn keys(&self, row: &mut PassRow<'_>) -> Result<Option<Array>> {
        self.pool.entries(row)?.map(|keys| mx::cast(&keys, Dtype::Float32)).transpose()
    }

    /// Of entries that the queries of `tokens` may see, those that they do, by keys of the same groups.
    pub(super) fn choose(&self, far: Keys, asked: &Asked, tokens: Range<usize>, keys: &Array) -> Result<Keys> {
        let (n, top_k) = (far.keys.dim(0), self.layout.top_k as i32);
        if n <= top_k {
            return Ok(far);
        }
        let some = |array: &Array| cut(array, tokens.start, tokens.len());
        let mut ranks = scores(&some(&asked.queries)?, &some(&asked.weights)?, &cut(keys, 0, n as usize)?)?;
        if let Some(hiding) = &far.hiding {
            ranks = mx::add(&ranks, hiding)?;
        }
        let order = mx::argpartition(&ranks, n - top_k)?;
        let picked = mx::slice(&order, &[Cut { axis: 1, start: n - top_k, stop: n }])?;
        if tokens.len() == 1 {
            let picked = mx::reshape(&picked, &[top_k])?;
            return Ok(Keys { keys: mx::take(&far.keys, &picked, 0)?, hiding: None });
        }
        let none = mx::zeros(&[tokens.len() as i32, n], Dtype::Float32)?;
        let ones = mx::broadcast_to(&mx::scalar(1.0), &[tokens.len() as i32, top_k])?;
        let marked = mx::greater(&mx::scatter_add(&none, &picked, &ones, 1)?, &mx::scalar(0.0))?;
        let kept = far.hiding.unwrap_or_else(|| mx::scalar(0.0));
        Ok(Keys { keys: far.keys, hiding: Some(mx::select(&marked, &kept, &mx::scalar(f32::NEG_INFINITY))?) })
    }
}
