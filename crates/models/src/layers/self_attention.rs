//! Attention with its projections, as most decoders have it.

use crate::LoadResult;
use crate::layers::attention::Sdpa;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::norm::{Centre, HeadNorm, RmsNorm};
use crate::layers::rope::Rope;
use crate::mx::{Array, Result};
use crate::pass::Pass;
use crate::weights::At;

/// What differs between decoders.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Size of the residual stream.
    pub n_hidden: i32,
    /// Of the query, key and value projections.
    pub qkv_bias: Bias,
    /// Of the output projection.
    pub o_bias: Bias,
    /// Norms of queries and keys, with their epsilon; `None` = there are none.
    pub qk_norm: Option<(Centre, f32)>,
}

/// `o_proj(attention(rope(norm(qkv_proj(x)))))`.
pub struct SelfAttention {
    qkv_proj: Linear,
    qk_norm: Option<HeadNorm>,
    rope: Rope,
    sdpa: Sdpa,
    o_proj: Linear,
}

impl SelfAttention {
    /// Takes `q_proj`, `k_proj`, `v_proj`, `o_proj` and, where the layout has them, `q_norm` and `k_norm`.
    pub fn load(at: &At<'_, '_>, layout: Layout, sdpa: Sdpa, rope: &Rope) -> LoadResult<Self> {
        let Layout { n_hidden, qkv_bias, o_bias, qk_norm } = layout;
        let shape = *sdpa.shape();
        let [q, k, v] = shape.n_rows();
        let inward = |name, n_out| Shape { name, n_out, n_in: n_hidden, bias: qkv_bias };
        let norm = |name: &str, (centre, eps)| RmsNorm::load(&at.at(name), shape.head_dim, eps, centre);
        let qk_norm = match qk_norm {
            Some(kind) => {
                let (q, k) = (norm("q_norm", kind)?, norm("k_norm", kind)?);
                Some(HeadNorm::new(q, shape.n_heads, k, shape.n_kv_heads)?)
            }
            None => None,
        };
        Ok(Self {
            qkv_proj: Linear::load_stacked(at, &[inward("q_proj", q), inward("k_proj", k), inward("v_proj", v)])?,
            qk_norm,
            rope: rope.clone(),
            sdpa,
            o_proj: Linear::load(at, Shape { name: "o_proj", n_out: n_hidden, n_in: q, bias: o_bias })?,
        })
    }

    /// `[T, hidden]` to `[T, hidden]`.
    pub fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        self.o_proj.forward(&self.attend(x, pass)?)
    }

    /// `residual + forward(x)`.
    pub fn forward_onto(&self, residual: &Array, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        self.o_proj.forward_onto(residual, &self.attend(x, pass)?)
    }

    fn attend(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let mut heads = self.sdpa.shape().split(&self.qkv_proj.forward(x)?)?;
        if let Some(norm) = &self.qk_norm {
            heads.qk = norm.forward(&heads.qk)?;
        }
        heads.qk = self.rope.forward(&heads.qk, pass)?;
        self.sdpa.forward(&heads, pass)
    }
}
