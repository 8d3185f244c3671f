//! Multi-head latent attention (DeepSeek-AI 2024): keys and values of all heads come from one small vector a position, which
//! is all that is kept. Queries are brought into its space, so that it is never expanded.

use crate::LoadResult;
use crate::layers::attention::{AttentionShape, Heads, Sdpa};
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::norm::{Centre, RmsNorm};
use crate::layers::per_head::PerHead;
use crate::layers::rope::Rope;
use crate::layers::self_attention::Growth;
use crate::mx::{self, Array, Cut, Result};
use crate::pass::{Pass, Reach};
use crate::weights::{At, Kernels, Matrix};

mod indexer;

use indexer::Indexer;
pub use indexer::{IndexLayout, scores};

/// Sizes of the parts.
#[derive(Clone, Copy, Debug)]
pub struct MlaLayout {
    /// Of the residual stream.
    pub n_hidden: i32,
    /// Query heads.
    pub n_heads: i32,
    /// The vector that queries come from; `None` = the residual stream.
    pub q_lora_rank: Option<i32>,
    /// The vector that keys and values come from.
    pub kv_lora_rank: i32,
    /// Elements of a query that are not rotated.
    pub qk_nope_head_dim: i32,
    /// Elements of a query that are.
    pub qk_rope_head_dim: i32,
    /// Elements of a value.
    pub v_head_dim: i32,
    /// Of the projections into small vectors and of the output.
    pub bias: Bias,
    /// Of the norms of the small vectors.
    pub eps: f32,
    /// Multiplies the scores.
    pub scale: f32,
    /// Longer queries at later positions; `None` = the same everywhere.
    pub growth: Option<Growth>,
    /// What picks the positions that are read, from the vectors that queries come from; `None` = all are.
    pub index: Option<IndexLayout>,
}

impl MlaLayout {
    /// One key head that is the value too.
    pub fn shape(&self) -> AttentionShape {
        AttentionShape {
            n_heads: self.n_heads,
            n_kv_heads: 1,
            head_dim: self.kv_lora_rank + self.qk_rope_head_dim,
            scale: self.scale,
            reach: Reach::All,
            cap: None,
        }
    }
}

/// See the module.
pub struct Mla {
    layout: MlaLayout,
    queries: Queries,
    kv_a_proj_with_mqa: Linear,
    kv_a_layernorm: RmsNorm,
    /// `[H, kv_lora, nope]`: a query without its rotated part into the small vector's space.
    embed_q: PerHead,
    /// `[H, v, kv_lora]`: out of it.
    unembed_out: PerHead,
    rope: Rope,
    indexer: Option<Indexer>,
    sdpa: Sdpa,
    kernels: Kernels,
    /// To one number a head, whose sigmoid weighs what it attended (Qiu et al. 2025).
    g_proj: Option<Linear>,
    o_proj: Linear,
}

enum Queries {
    Direct(Linear),
    Latent { q_a_proj: Linear, q_a_layernorm: RmsNorm, q_b_proj: Linear },
}

impl Mla {
    /// Takes the projections, `g_proj` where the checkpoint has it; `caches` keep what is attended, and an indexer's keys; `ropes` rotate
    /// the rotated part of heads, and that of an indexer's.
    pub fn load(at: &At<'_, '_>, layout: MlaLayout, caches: [usize; 2], ropes: [&Rope; 2]) -> LoadResult<Self> {
        let MlaLayout { n_hidden, n_heads, kv_lora_rank, qk_rope_head_dim, v_head_dim, bias, .. } = layout;
        let linear = |name, n_out, n_in, bias| Linear::load(at, Shape { name, n_out, n_in, bias });
        let norm = |name: &str, n| RmsNorm::load(&at.at(name), n, layout.eps, Centre::Zero);
        let n_query = n_heads * (layout.qk_nope_head_dim + qk_rope_head_dim);
        let queries = match layout.q_lora_rank {
            None => Queries::Direct(linear("q_proj", n_query, n_hidden, Bias::Absent)?),
            Some(rank) => Queries::Latent {
                q_a_proj: linear("q_a_proj", rank, n_hidden, bias)?,
                q_a_layernorm: norm("q_a_layernorm", rank)?,
                q_b_proj: linear("q_b_proj", n_query, rank, Bias::Absent)?,
            },
        };
        let [embed_q, unembed_out] = heads(at, &layout)?;
        let [rope, index_rope] = ropes;
        let indexer = layout.index.map(|index| {
            let n_in = [layout.q_lora_rank.unwrap_or(n_hidden), n_hidden];
            Indexer::load(&at.at("indexer"), index, n_in, caches[1], index_rope)
        });
        let g_proj = at.has("g_proj.weight").then(|| linear("g_proj", n_heads, n_hidden, Bias::Absent)).transpose()?;
        Ok(Self {
            queries,
            kv_a_proj_with_mqa: linear("kv_a_proj_with_mqa", kv_lora_rank + qk_rope_head_dim, n_hidden, bias)?,
            kv_a_layernorm: norm("kv_a_layernorm", kv_lora_rank)?,
            embed_q,
            unembed_out,
            rope: rope.clone(),
            indexer: indexer.transpose()?,
            sdpa: Sdpa::new(layout.shape(), caches[0], at.kernels()),
            kernels: at.kernels(),
            g_proj,
            o_proj: linear("o_proj", n_hidden, n_heads * v_head_dim, bias)?,
            layout,
        })
    }

    /// `[T, hidden]` to `[T, hidden]`.
    pub fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let MlaLayout { n_heads, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim, .. } = self.layout;
        let t = x.dim(0);
        let part = |array: &Array, axis, start, stop| mx::slice(array, &[Cut { axis, start, stop }]);
        let n_query = qk_nope_head_dim + qk_rope_head_dim;
        let (queries, small) = self.queries.forward(x)?;
        let queries = mx::reshape(&queries, &[t, n_heads, n_query])?;
        let compressed = self.kv_a_proj_with_mqa.forward(x)?;
        let latent = self.kv_a_layernorm.forward(&part(&compressed, 1, 0, kv_lora_rank)?)?;
        let key = part(&compressed, 1, kv_lora_rank, kv_lora_rank + qk_rope_head_dim)?;
        let key = mx::reshape(&key, &[t, 1, qk_rope_head_dim])?;
        let rotated = mx::concatenate(&[&part(&queries, 2, qk_nope_head_dim, n_query)?, &key], 1)?;
        let rotated = self.rope.forward(&rotated, pass)?;
        let embedded = self.embed_q.forward(&part(&queries, 2, 0, qk_nope_head_dim)?)?;
        let mut queries = mx::concatenate(&[&embedded, &part(&rotated, 1, 0, n_heads)?], 2)?;
        if self.kernels == Kernels::Plain {
            queries = mx::scale(&queries, self.layout.scale)?;
        }
        if let Some(growth) = &self.layout.growth {
            queries = growth.apply(&queries, n_heads, pass)?;
        }
        let latent = mx::reshape(&latent, &[t, 1, kv_lora_rank])?;
        let key = mx::concatenate(&[&latent, &part(&rotated, 1, n_heads, n_heads + 1)?], 2)?;
        let heads = Heads { qk: mx::concatenate(&[&queries, &key], 1)?, values: None };
        let out = match &self.indexer {
            Some(indexer) => {
                let chosen = indexer.choose(x, &small, pass)?;
                self.sdpa.forward_chosen(&heads, &chosen, pass)?
            }
            None => self.sdpa.forward(&heads, pass)?,
        };
        let out = mx::reshape(&out, &[t, n_heads, kv_lora_rank + qk_rope_head_dim])?;
        let mut out = self.unembed_out.forward(&part(&out, 2, 0, kv_lora_rank)?)?;
        if let Some(g_proj) = &self.g_proj {
            out = mx::multiply(&out, &mx::expand_dims(&mx::sigmoid(&g_proj.forward(x)?)?, 2)?)?;
        }
        self.o_proj.forward(&mx::reshape(&out, &[t, n_heads * v_head_dim])?)
    }
}

impl Queries {
    /// The queries, and what they come from.
    fn forward(&self, x: &Array) -> Result<(Array, Array)> {
        match self {
            Self::Direct(q_proj) => Ok((q_proj.forward(x)?, x.clone())),
            Self::Latent { q_a_proj, q_a_layernorm, q_b_proj } => {
                let small = q_a_layernorm.forward(&q_a_proj.forward(x)?)?;
                Ok((q_b_proj.forward(&small)?, small))
            }
        }
    }
}

/// `embed_q` and `unembed_out`, or both made from `kv_b_proj`, `[H (nope + v), kv_lora]`.
fn heads(at: &At<'_, '_>, layout: &MlaLayout) -> LoadResult<[PerHead; 2]> {
    let MlaLayout { n_heads, kv_lora_rank, qk_nope_head_dim, v_head_dim, .. } = *layout;
    if !at.has("kv_b_proj.weight") {
        let embed_q = at.at("embed_q").matrices(&[n_heads, kv_lora_rank, qk_nope_head_dim])?;
        let unembed_out = at.at("unembed_out").matrices(&[n_heads, v_head_dim, kv_lora_rank])?;
        return Ok([PerHead::new(at, embed_q)?, PerHead::new(at, unembed_out)?]);
    }
    let n = qk_nope_head_dim + v_head_dim;
    let dense = match at.at("kv_b_proj").matrix(n_heads * n, kv_lora_rank)? {
        Matrix::Dense(array) => array,
        Matrix::Packed(packed) => mx::dequantize(&packed, packed.scales.dtype())?,
    };
    let dense = mx::reshape(&dense, &[n_heads, n, kv_lora_rank])?;
    let part = |start, stop| mx::contiguous(&mx::slice(&dense, &[Cut { axis: 1, start, stop }])?);
    let embed_q = mx::transpose_axes(&part(0, qk_nope_head_dim)?, &[0, 2, 1])?;
    let unembed_out = part(qk_nope_head_dim, n)?;
    Ok([PerHead::new(at, Matrix::Dense(embed_q))?, PerHead::new(at, Matrix::Dense(unembed_out))?])
}
