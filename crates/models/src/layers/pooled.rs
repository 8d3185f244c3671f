//! Attention over a window and over groups of tokens pooled into one key each (DeepSeek-AI 2026): keys are the values too, one
//! head of them for all queries.

use crate::LoadResult;
use crate::cache::rotating::Held;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::norm::{Centre, RmsNorm};
use crate::layers::per_head::PerHead;
use crate::layers::rope::Rope;
use crate::mx::{self, Array, Cut, Result};
use crate::pass::{Pass, Reach, Span};
use crate::weights::At;

mod pool;
mod seen;

use pool::Pool;
pub use pool::{Overlap, PoolLayout};
pub use seen::SeenLayout;
use seen::{Asked, Seen};

/// Scores of all heads at a time, and queries: bounds what they take.
const N_SCORES_MAX: usize = 1 << 25;
const N_QUERIES_MIN: usize = 32;
const N_QUERIES_MAX: usize = 512;

/// Sizes of a layer.
#[derive(Clone, Copy, Debug)]
pub struct PooledLayout {
    /// Of the residual stream.
    pub n_hidden: i32,
    /// Query heads.
    pub n_heads: i32,
    /// Elements of each, and of a key.
    pub head_dim: i32,
    /// The vector that queries come from.
    pub q_lora_rank: i32,
    /// Groups of heads that are brought together first.
    pub o_groups: i32,
    /// What a group becomes.
    pub o_lora_rank: i32,
    /// Positions that a query sees one by one.
    pub window: usize,
    /// Of all norms.
    pub eps: f32,
    /// Which of the model's caches is the window's.
    pub window_cache: usize,
    /// How groups are pooled; `None` = the window is all.
    pub pool: Option<PoolLayout>,
    /// Which of them a query sees; `None` = all.
    pub seen: Option<SeenLayout>,
}

/// See the module.
pub struct PooledAttention {
    layout: PooledLayout,
    wq_a: Linear,
    q_norm: RmsNorm,
    wq_b: Linear,
    head_norm: RmsNorm,
    wkv: Linear,
    kv_norm: RmsNorm,
    turn: Turn,
    back: Turn,
    /// `[1, H, 1]`.
    sinks: Array,
    pool: Option<Pool>,
    seen: Option<Seen>,
    wo_a: PerHead,
    wo_b: Linear,
}

/// A rotation of the last elements of heads.
#[derive(Clone)]
struct Turn {
    rope: Rope,
    n_rotated: i32,
}

impl PooledAttention {
    /// Takes the projections, the norms, `attn_sink`, and `compressor` and `indexer` where the layout has them; `rope` rotates
    /// the last `n_rotated` elements of heads.
    pub fn load(at: &At<'_, '_>, layout: PooledLayout, rope: &Rope, n_rotated: i32) -> LoadResult<Self> {
        let PooledLayout { n_hidden, n_heads, head_dim, q_lora_rank, o_groups, o_lora_rank, eps, .. } = layout;
        let linear = |name, n_out, n_in| Linear::load(at, Shape { name, n_out, n_in, bias: Bias::Absent });
        let norm = |name: &str, n| RmsNorm::load(&at.at(name), n, eps, Centre::Zero);
        let turn = Turn { rope: rope.clone(), n_rotated };
        let pool = layout.pool.map(|pool| Pool::load(&at.at("compressor"), pool, n_hidden, &turn));
        let seen = layout.seen.map(|seen| Seen::load(&at.at("indexer"), seen, [q_lora_rank, n_hidden], &turn));
        let sizes = [o_groups, o_lora_rank, n_heads * head_dim / o_groups];
        Ok(Self {
            layout,
            wq_a: linear("wq_a", q_lora_rank, n_hidden)?,
            q_norm: norm("q_norm", q_lora_rank)?,
            wq_b: linear("wq_b", n_heads * head_dim, q_lora_rank)?,
            head_norm: RmsNorm::constant(1.0, head_dim, eps, at.kernels())?,
            wkv: linear("wkv", head_dim, n_hidden)?,
            kv_norm: norm("kv_norm", head_dim)?,
            back: Turn { rope: rope.reversed(), n_rotated },
            turn,
            sinks: mx::reshape(&at.tensor("attn_sink", &[n_heads])?, &[1, n_heads, 1])?,
            pool: pool.transpose()?,
            seen: seen.transpose()?,
            wo_a: PerHead::load_joined(&at.at("wo_a"), sizes)?,
            wo_b: linear("wo_b", n_hidden, o_groups * o_lora_rank)?,
        })
    }

    /// `[T, hidden]` to `[T, hidden]`. All rows write before any reads.
    pub fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let PooledLayout { n_heads, head_dim, o_groups, .. } = self.layout;
        let t = x.dim(0);
        let small = self.q_norm.forward(&self.wq_a.forward(x)?)?;
        let queries = mx::reshape(&self.wq_b.forward(&small)?, &[t, n_heads, head_dim])?;
        let queries = self.head_norm.forward(&queries)?;
        let keys = mx::reshape(&self.kv_norm.forward(&self.wkv.forward(x)?)?, &[t, 1, head_dim])?;
        let heads = self.turn.forward(&mx::concatenate(&[&mx::cast(&queries, keys.dtype())?, &keys], 1)?, pass)?;
        let part = |start, stop| mx::slice(&heads, &[Cut { axis: 1, start, stop }]);
        let (queries, keys) = (part(0, n_heads)?, part(n_heads, n_heads + 1)?);
        if let Some(pool) = &self.pool {
            pool.update(x, pass)?;
        }
        let asked = self.seen.as_ref().map(|seen| seen.ask(x, &small, pass)).transpose()?;
        let mut held = Vec::with_capacity(pass.n_rows());
        for row_idx in 0..pass.n_rows() {
            let row = pass.row(row_idx);
            let keys = mx::transpose_axes(&cut(&keys, row.start, row.len)?, &[1, 0, 2])?;
            held.push(row.cache.append(self.layout.window_cache, &keys)?);
        }
        let mut outputs = Vec::with_capacity(held.len());
        for (row_idx, held) in held.into_iter().enumerate() {
            let held = held.ok_or_else(|| mx::Error { what: "a window's cache keeps no window".into() })?;
            outputs.push(self.row(&queries, &held, asked.as_ref(), (row_idx, pass))?);
        }
        let out = self.back.forward(&mx::concatenate(&outputs.iter().collect::<Vec<_>>(), 0)?, pass)?;
        let out = mx::reshape(&out, &[t, o_groups, n_heads * head_dim / o_groups])?;
        self.wo_b.forward(&mx::reshape(&self.wo_a.forward(&out)?, &[t, -1])?)
    }

    /// One row's `[L, H, D]`, of the queries of all.
    fn row(
        &self,
        queries: &Array,
        held: &Held,
        asked: Option<&Asked>,
        (row_idx, pass): (usize, &mut Pass<'_>),
    ) -> Result<Array> {
        let row = pass.row(row_idx);
        let (start, len, offset) = (row.start, row.len, row.offset);
        let pooled = self.pool.as_ref().map(|pool| pool.entries(row)).transpose()?.flatten();
        let keys = self.seen.as_ref().map(|seen| seen.keys(row)).transpose()?.flatten();
        let reach = Reach::Window(self.layout.window);
        let n_keys = self.layout.window + pooled.as_ref().map_or(0, |entries| entries.dim(0) as usize);
        let n_queries = N_SCORES_MAX / (self.layout.n_heads as usize * n_keys.max(1));
        let n_queries = n_queries.clamp(N_QUERIES_MIN, N_QUERIES_MAX);
        let mut blocks = Vec::new();
        for first in (0..len).step_by(n_queries) {
            let last = (first + n_queries).min(len);
            let (q_start, q_stop) = (offset + first, offset + last);
            let k_start = reach.first(q_start).max(held.start);
            let span = Span { q_start, q_stop, k_start, k_stop: q_stop, reach };
            let (from, to) = ((k_start - held.start) as i32, (q_stop - held.start) as i32);
            let near = mx::slice(&held.kv, &[Cut { axis: 1, start: from, stop: to }])?;
            let near = Keys {
                keys: mx::reshape(&near, &[to - from, self.layout.head_dim])?,
                hiding: if span.is_full() { None } else { Some(pass.hiding(span)?) },
            };
            let tokens = start + first..start + last;
            let far = match (&pooled, &self.pool) {
                (Some(entries), Some(pool)) => pool.visible(entries, q_start, q_stop)?,
                _ => None,
            };
            let far = match (far, &self.seen, asked, &keys) {
                (Some(far), Some(seen), Some(asked), Some(keys)) => {
                    Some(seen.choose(far, asked, tokens.clone(), keys)?)
                }
                (far, ..) => far,
            };
            blocks.push(self.attend(&cut(queries, tokens.start, tokens.len())?, &near, far.as_ref())?);
        }
        mx::concatenate(&blocks.iter().collect::<Vec<_>>(), 0)
    }

    /// `[L, H, D]` queries over keys that are values: `[L, H, D]`.
    fn attend(&self, queries: &Array, near: &Keys, far: Option<&Keys>) -> Result<Array> {
        let PooledLayout { n_heads, head_dim, .. } = self.layout;
        let l = queries.dim(0);
        let flat = mx::reshape(&mx::scale(queries, (head_dim as f32).powf(-0.5))?, &[l * n_heads, head_dim])?;
        let all: Vec<&Keys> = std::iter::once(near).chain(far).collect();
        let mut scores = all.iter().map(|keys| keys.scores(&flat, [l, n_heads])).collect::<Result<Vec<_>>>()?;
        scores.push(mx::broadcast_to(&mx::cast(&self.sinks, queries.dtype())?, &[l, n_heads, 1])?);
        let weights = mx::softmax(&mx::concatenate(&scores.iter().collect::<Vec<_>>(), -1)?, -1)?;
        let (mut start, mut sum) = (0, None);
        for keys in all {
            let stop = start + keys.keys.dim(0);
            let part = mx::slice(&weights, &[Cut { axis: 2, start, stop }])?;
            let part = mx::matmul(&mx::reshape(&part, &[l * n_heads, stop - start])?, &keys.keys)?;
            sum = Some(match sum {
                Some(sum) => mx::add(&sum, &part)?,
                None => part,
            });
            start = stop;
        }
        let sum = sum.ok_or_else(|| mx::Error { what: "attention over no positions".into() })?;
        mx::reshape(&sum, &[l, n_heads, head_dim])
    }
}

/// Keys, and which queries see which.
struct Keys {
    /// `[S, D]`.
    keys: Array,
    /// `[L, S]`, added to scores; `None` = all see all.
    hiding: Option<Array>,
}

impl Keys {
    /// `[L H, D]` queries: `[L, H, S]`.
    fn scores(&self, queries: &Array, [l, n_heads]: [i32; 2]) -> Result<Array> {
        let scores = mx::matmul(queries, &mx::transpose(&self.keys)?)?;
        let scores = mx::reshape(&scores, &[l, n_heads, self.keys.dim(0)])?;
        match &self.hiding {
            Some(hiding) => mx::add(&scores, &mx::cast(&mx::expand_dims(hiding, 1)?, scores.dtype())?),
            None => Ok(scores),
        }
    }
}

impl Turn {
    /// `[T, H, D]` by their tokens' positions.
    fn forward(&self, heads: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        self.of_end(heads, |end| self.rope.forward(end, pass))
    }

    fn of_end(&self, heads: &Array, turn: impl FnOnce(&Array) -> Result<Array>) -> Result<Array> {
        let d = heads.dim(2);
        let part = |start, stop| mx::slice(heads, &[Cut { axis: 2, start, stop }]);
        let first = d - self.n_rotated;
        mx::concatenate(&[&part(0, first)?, &turn(&part(first, d)?)?], 2)
    }
}

fn cut(array: &Array, start: usize, len: usize) -> Result<Array> {
    mx::slice(array, &[Cut { axis: 0, start: start as i32, stop: (start + len) as i32 }])
}
