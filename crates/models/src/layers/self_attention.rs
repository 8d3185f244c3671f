//! Attention with its projections, as most decoders have it.

use crate::LoadResult;
use crate::layers::attention::{AttentionShape, Sdpa};
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::mlp::Inward;
use crate::layers::norm::{Centre, HeadNorm, HeadsNorm, RmsNorm};
use crate::layers::rope::Rope;
use crate::mx::{self, Array, Cut, Result};
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
    /// Norms of queries and keys; `None` = there are none.
    pub qk_norm: Option<QkNorm>,
    /// How the checkpoint keeps the query, key and value projections.
    pub inward: Inward,
    /// Longer queries at later positions; `None` = the same everywhere.
    pub growth: Option<Growth>,
    /// Whether queries may turn to a key without a value, whose scores are `sinks`.
    pub sinks: Sinks,
    /// Whether what is attended goes through a gate.
    pub gate: Gate,
}

/// Whether a layer weighs what its heads attended, element by element (Qiu et al. 2025).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// No.
    Absent,
    /// By the sigmoid of `gate_proj`, `[Hq D, hidden]`.
    Present,
}

/// Whether a layer has attention sinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sinks {
    /// None.
    Absent,
    /// `sinks`, `[Hq]`.
    Present,
}

/// Queries at position `p` are multiplied by `1 + beta ln(1 + floor(p / n_original))` (Meta 2025, Mistral AI 2025).
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// How much.
    pub beta: f32,
    /// Positions that are left as they are.
    pub n_original: usize,
}

/// Norms of queries and keys.
#[derive(Clone, Copy, Debug)]
pub struct QkNorm {
    /// What their weights multiply by.
    pub centre: Centre,
    /// Added under the root.
    pub eps: f32,
    /// What is normed together.
    pub span: Span,
}

impl QkNorm {
    /// Each head by itself.
    pub fn per_head(eps: f32) -> Self {
        Self { centre: Centre::Zero, eps, span: Span::Head }
    }

    /// All query heads together, and all key heads.
    pub fn all_heads(eps: f32) -> Self {
        Self { centre: Centre::Zero, eps, span: Span::Heads }
    }
}

/// What a norm of queries or keys takes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Each head.
    Head,
    /// All heads.
    Heads,
}

impl Layout {
    /// Without biases and norms.
    pub fn plain(n_hidden: i32) -> Self {
        Self {
            n_hidden,
            qkv_bias: Bias::Absent,
            o_bias: Bias::Absent,
            qk_norm: None,
            inward: Inward::Apart,
            growth: None,
            sinks: Sinks::Absent,
            gate: Gate::Absent,
        }
    }
}

/// `o_proj(attention(rope(norm(qkv_proj(x)))))`.
pub struct SelfAttention {
    /// Queries, keys, values and, where there is one, the gate.
    qkv_proj: Linear,
    gate: Gate,
    qk_norm: Option<Norm>,
    rope: Rope,
    growth: Option<Growth>,
    sdpa: Sdpa,
    o_proj: Linear,
}

impl SelfAttention {
    /// Takes `q_proj`, `k_proj` and `v_proj`, or `qkv_proj`; `o_proj`; and, where the layout has them, `q_norm` and `k_norm`.
    pub fn load(at: &At<'_, '_>, layout: Layout, sdpa: Sdpa, rope: &Rope) -> LoadResult<Self> {
        let Layout { n_hidden, qkv_bias, o_bias, qk_norm, inward, growth, sinks, gate } = layout;
        let shape = *sdpa.shape();
        let [q, k, v] = shape.n_rows();
        let matrix = |name, n_out| Shape { name, n_out, n_in: n_hidden, bias: qkv_bias };
        let qkv_proj = match inward {
            Inward::Apart => {
                let mut shapes = vec![matrix("q_proj", q), matrix("k_proj", k), matrix("v_proj", v)];
                shapes.extend((gate == Gate::Present).then(|| matrix("gate_proj", q)));
                Linear::load_stacked(at, &shapes)?
            }
            Inward::Joined => Linear::load(at, matrix("qkv_proj", q + k + v))?,
        };
        let sdpa = match sinks {
            Sinks::Present => sdpa.with_sinks(at.tensor("sinks", &[shape.n_heads])?),
            Sinks::Absent => sdpa,
        };
        Ok(Self {
            qkv_proj,
            gate,
            qk_norm: qk_norm.map(|kind| Norm::load(at, kind, shape)).transpose()?,
            rope: rope.clone(),
            growth,
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
        let projected = self.qkv_proj.forward(x)?;
        let n_rows = self.sdpa.shape().n_rows();
        let n_qkv = n_rows.iter().sum();
        let part = |start, stop| mx::slice(&projected, &[Cut { axis: 1, start, stop }]);
        let (qkv, gate) = match self.gate {
            Gate::Absent => (projected, None),
            Gate::Present => (part(0, n_qkv)?, Some(mx::sigmoid(&part(n_qkv, n_qkv + n_rows[0])?)?)),
        };
        let mut heads = self.sdpa.shape().split(&qkv)?;
        if let Some(norm) = &self.qk_norm {
            heads.qk = norm.forward(&heads.qk)?;
        }
        heads.qk = self.rope.forward(&heads.qk, pass)?;
        if let Some(growth) = &self.growth {
            heads.qk = growth.apply(&heads.qk, self.sdpa.shape().n_heads, pass)?;
        }
        let out = self.sdpa.forward(&heads, pass)?;
        gate.map_or_else(|| Ok(out.clone()), |gate| mx::multiply(&out, &gate))
    }
}

impl Growth {
    /// `[T, H, D]`, of which the first `n_queries` heads are queries.
    fn apply(&self, heads: &Array, n_queries: i32, pass: &Pass<'_>) -> Result<Array> {
        let positions = pass.positions();
        if positions.clone().all(|position| position < self.n_original) {
            return Ok(heads.clone());
        }
        let (t, h) = (heads.dim(0), heads.dim(1));
        let factors: Vec<f32> = positions
            .flat_map(|position| {
                let factor = 1.0 + self.beta * (1.0 + (position / self.n_original) as f32).ln();
                (0..h).map(move |head| if head < n_queries { factor } else { 1.0 })
            })
            .collect();
        mx::multiply(heads, &mx::cast(&Array::from_slice(&factors, &[t, h, 1]), heads.dtype())?)
    }
}

/// Norms of queries and keys, loaded.
enum Norm {
    Head(HeadNorm),
    Heads(HeadsNorm),
}

impl Norm {
    fn load(at: &At<'_, '_>, kind: QkNorm, shape: AttentionShape) -> LoadResult<Self> {
        let norm = |name: &str, n| RmsNorm::load(&at.at(name), n, kind.eps, kind.centre);
        let (d, [q, k, _]) = (shape.head_dim, shape.n_rows());
        Ok(match kind.span {
            Span::Head => {
                Self::Head(HeadNorm::new(norm("q_norm", d)?, shape.n_heads, norm("k_norm", d)?, shape.n_kv_heads)?)
            }
            Span::Heads => Self::Heads(HeadsNorm::new(norm("q_norm", q)?, shape.n_heads, norm("k_norm", k)?)),
        })
    }

    fn forward(&self, heads: &Array) -> Result<Array> {
        match self {
            Self::Head(norm) => norm.forward(heads),
            Self::Heads(norm) => norm.forward(heads),
        }
    }
}
