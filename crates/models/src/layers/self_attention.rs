//! Attention with its projections, as most decoders have it.

use crate::LoadResult;
use crate::layers::attention::{AttentionShape, Heads, Sdpa};
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
    /// Where keys and values come from.
    pub source: Source,
    /// Added under the root of a norm of values that has no weight; `None` = there is no such norm.
    pub value_norm: Option<f32>,
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

/// Where a layer's keys and values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A projection each.
    Own,
    /// One projection for both; values go without the norm and the rotation of keys.
    Keys,
    /// An earlier layer has them already.
    Earlier,
}

/// Queries at position `p`, counted from `first`, are multiplied by `1 + beta ln(1 + floor(p / n_original))` (Meta 2025,
/// Mistral AI 2025).
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// How much.
    pub beta: f32,
    /// Positions that are left as they are.
    pub n_original: usize,
    /// What the first position counts as.
    pub first: usize,
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
            source: Source::Own,
            value_norm: None,
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
    source: Source,
    value_norm: Option<RmsNorm>,
    rope: Rope,
    growth: Option<Growth>,
    sdpa: Sdpa,
    o_proj: Linear,
}

impl SelfAttention {
    /// Takes `q_proj`, `k_proj` and `v_proj`, or `qkv_proj`; `o_proj`; and, where the layout has them, `q_norm` and `k_norm`.
    pub fn load(at: &At<'_, '_>, layout: Layout, sdpa: Sdpa, rope: &Rope) -> LoadResult<Self> {
        let Layout { n_hidden, qk_norm, source, growth, gate, .. } = layout;
        let shape = *sdpa.shape();
        let value_norm = layout.value_norm.map(|eps| RmsNorm::load(at, shape.head_dim, eps, Centre::Unweighted));
        let sdpa = match layout.sinks {
            Sinks::Present => sdpa.with_sinks(at.tensor("sinks", &[shape.n_heads])?),
            Sinks::Absent => sdpa,
        };
        let [q, ..] = shape.n_rows();
        Ok(Self {
            qkv_proj: layout.projection(at, shape)?,
            gate,
            qk_norm: qk_norm.map(|kind| Norm::load(at, (kind, source), shape)).transpose()?,
            source,
            value_norm: value_norm.transpose()?,
            rope: rope.clone(),
            growth,
            sdpa,
            o_proj: Linear::load(at, Shape { name: "o_proj", n_out: n_hidden, n_in: q, bias: layout.o_bias })?,
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
        let (projected, gate) = self.gate(projected)?;
        let mut heads = self.split(&projected)?;
        if let (Some(norm), Some(values)) = (&self.value_norm, &mut heads.values) {
            *values = norm.forward(values)?;
        }
        if let Some(norm) = &self.qk_norm {
            heads.qk = norm.forward(&heads.qk)?;
        }
        heads.qk = self.rope.forward(&heads.qk, pass)?;
        if let Some(growth) = &self.growth {
            heads.qk = growth.apply(&heads.qk, self.sdpa.shape().n_heads, pass)?;
        }
        let out = match self.source {
            Source::Earlier => self.sdpa.forward_again(&heads.qk, pass)?,
            Source::Own | Source::Keys => self.sdpa.forward(&heads, pass)?,
        };
        match gate {
            Some(gate) => mx::gated(&out, &gate),
            None => Ok(out),
        }
    }

    /// Parts what the projection gave and the gate, which comes last.
    fn gate(&self, projected: Array) -> Result<(Array, Option<Array>)> {
        if self.gate == Gate::Absent {
            return Ok((projected, None));
        }
        let [q, k, v] = self.sdpa.shape().n_rows();
        let part = |start, stop| mx::slice(&projected, &[Cut { axis: 1, start, stop }]);
        Ok((part(0, q + k + v)?, Some(part(q + k + v, q + k + v + q)?)))
    }

    /// The heads of what the projection gave.
    fn split(&self, projected: &Array) -> Result<Heads> {
        let shape @ AttentionShape { n_heads, n_kv_heads, head_dim, .. } = *self.sdpa.shape();
        if self.source == Source::Own {
            return shape.split(projected);
        }
        let n = if self.source == Source::Keys { n_heads + n_kv_heads } else { n_heads };
        let qk = mx::reshape(projected, &[projected.dim(0), n, head_dim])?;
        let values = match self.source {
            Source::Keys => Some(mx::slice(&qk, &[Cut { axis: 1, start: n_heads, stop: n }])?),
            Source::Own | Source::Earlier => None,
        };
        Ok(Heads { qk, values })
    }
}

impl Layout {
    fn projection(&self, at: &At<'_, '_>, shape: AttentionShape) -> LoadResult<Linear> {
        let [q, k, v] = shape.n_rows();
        let matrix = |name, n_out| Shape { name, n_out, n_in: self.n_hidden, bias: self.qkv_bias };
        if self.inward == Inward::Joined {
            return Linear::load(at, matrix("qkv_proj", q + k + v));
        }
        let all = [matrix("q_proj", q), matrix("k_proj", k), matrix("v_proj", v)];
        let n = match self.source {
            Source::Own => 3,
            Source::Keys => 2,
            Source::Earlier => 1,
        };
        let gate = (self.gate == Gate::Present).then(|| matrix("gate_proj", q));
        let shapes: Vec<_> = all[..n].iter().copied().chain(gate).collect();
        Linear::load_stacked(at, &shapes)
    }
}

impl Growth {
    /// `[T, H, D]`, of which the first `n_queries` heads are queries.
    pub fn apply(&self, heads: &Array, n_queries: i32, pass: &Pass<'_>) -> Result<Array> {
        let positions = pass.positions().map(|position| position + self.first);
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
    Queries(RmsNorm),
    Head(HeadNorm),
    Heads(HeadsNorm),
}

impl Norm {
    fn load(at: &At<'_, '_>, (kind, source): (QkNorm, Source), shape: AttentionShape) -> LoadResult<Self> {
        let norm = |name: &str, n| RmsNorm::load(&at.at(name), n, kind.eps, kind.centre);
        let (d, [q, k, _]) = (shape.head_dim, shape.n_rows());
        Ok(match kind.span {
            Span::Head if source == Source::Earlier => Self::Queries(norm("q_norm", d)?),
            Span::Head => {
                Self::Head(HeadNorm::new(norm("q_norm", d)?, shape.n_heads, norm("k_norm", d)?, shape.n_kv_heads)?)
            }
            Span::Heads => Self::Heads(HeadsNorm::new(norm("q_norm", q)?, shape.n_heads, norm("k_norm", k)?)),
        })
    }

    fn forward(&self, heads: &Array) -> Result<Array> {
        match self {
            Self::Queries(norm) => norm.forward(heads),
            Self::Head(norm) => norm.forward(heads),
            Self::Heads(norm) => norm.forward(heads),
        }
    }
}
