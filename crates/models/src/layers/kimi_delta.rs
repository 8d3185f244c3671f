//! Kimi Delta Attention (Kimi Team 2025): the gated delta rule with a decay of its own for each element of a key.

use std::rc::Rc;

use crate::LoadResult;
use crate::layers::delta_rule::{Decay, DeltaRule};
use crate::layers::gated_delta::HeadShape;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::norm::{Centre, RmsNorm};
use crate::layers::recurrent::Recurrent;
use crate::layers::short_conv::ShortConv;
use crate::mx::{self, Array, Dtype, Result};
use crate::pass::Pass;
use crate::weights::At;

/// Sizes of a layer.
#[derive(Clone, Copy, Debug)]
pub struct KimiDeltaLayout {
    /// Of the residual stream.
    pub n_hidden: i32,
    /// Heads of queries, keys and values.
    pub n_heads: i32,
    /// Elements of each.
    pub head_dim: i32,
    /// Inputs that a filter sees.
    pub n_taps: i32,
    /// Of the norm of the outputs.
    pub eps: f32,
    /// How decay and output gate are projected.
    pub gates: Gates,
    /// The lowest logarithm of decay; `None` = unbounded.
    pub bound: Option<f32>,
}

/// How decay and output gate are projected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gates {
    /// Through small vectors: `f_a_proj`, `f_b_proj`, `g_a_proj`, `g_b_proj`.
    Latent,
    /// At once: `f_proj`, `g_proj`.
    Direct,
}

/// See the module.
pub struct KimiDelta {
    layout: KimiDeltaLayout,
    /// Queries, keys and values; decay; output gate; `beta`.
    in_proj: Linear,
    /// From small vectors to decay and output gate.
    up: Option<[Linear; 2]>,
    recurrent: Recurrent,
    o_norm: RmsNorm,
    o_proj: Linear,
}

impl KimiDeltaLayout {
    /// Outputs of all inward projections, queries, keys and values as one.
    fn n_parts(&self) -> [i32; 4] {
        let n = self.n_heads * self.head_dim;
        let n_gate = if self.gates == Gates::Latent { self.head_dim } else { n };
        [3 * n, n_gate, n_gate, self.n_heads]
    }
}

impl KimiDelta {
    /// Takes `{q,k,v}_proj`, `{q,k,v}_conv1d`, `b_proj`, the gates' projections, `A_log`, `dt_bias`, `o_norm` and `o_proj`.
    pub fn load(at: &At<'_, '_>, layout: KimiDeltaLayout, layer_idx: usize) -> LoadResult<Self> {
        let KimiDeltaLayout { n_hidden, n_heads, head_dim, n_taps, eps, gates, bound } = layout;
        let n = n_heads * head_dim;
        let [_, n_gate, ..] = layout.n_parts();
        let shape = |name, n_out, n_in| Shape { name, n_out, n_in, bias: Bias::Absent };
        let [decay_name, gate_name] =
            if gates == Gates::Latent { ["f_a_proj", "g_a_proj"] } else { ["f_proj", "g_proj"] };
        let inward = [("q_proj", n), ("k_proj", n), ("v_proj", n), (decay_name, n_gate), (gate_name, n_gate)];
        let inward = inward.into_iter().chain([("b_proj", n_heads)]).map(|(name, n_out)| shape(name, n_out, n_hidden));
        let up = match gates {
            Gates::Latent => Some([
                Linear::load(at, shape("f_b_proj", n, head_dim))?,
                Linear::load(at, shape("g_b_proj", n, head_dim))?,
            ]),
            Gates::Direct => None,
        };
        let filters = ["q_conv1d", "k_conv1d", "v_conv1d"].map(|name| at.at(name).vector("weight", n * n_taps));
        let filters = filters.into_iter().collect::<LoadResult<Vec<_>>>()?;
        let filters = mx::concatenate(&filters.iter().collect::<Vec<_>>(), 0)?;
        let conv = ShortConv::new(&filters, [3 * n, n_taps], at.kernels())?;
        let decay = Decay::load(at, n_heads, head_dim)?;
        let decay = if let Some(bound) = bound { decay.bounded(bound) } else { decay };
        let heads = HeadShape { n_k_heads: n_heads, n_v_heads: n_heads, k_dim: head_dim, v_dim: head_dim };
        let rule = DeltaRule::new(conv, decay, heads, at.kernels())?;
        Ok(Self {
            layout,
            in_proj: Linear::load_stacked(at, &inward.collect::<Vec<_>>())?,
            up,
            recurrent: Recurrent::new(Rc::new(rule), layer_idx),
            o_norm: RmsNorm::load(&at.at("o_norm"), head_dim, eps, Centre::Zero)?,
            o_proj: Linear::load(at, shape("o_proj", n_hidden, n))?,
        })
    }

    /// `[T, hidden]` to `[T, hidden]`.
    pub fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let KimiDeltaLayout { n_heads, head_dim, .. } = self.layout;
        let parts = self.projected(x)?;
        let [qkv, decay, gate, beta] = parts.as_slice() else { unreachable!("four sizes give four parts") };
        let (decay, gate) = match &self.up {
            Some([f_b_proj, g_b_proj]) => (f_b_proj.forward(decay)?, g_b_proj.forward(gate)?),
            None => (decay.clone(), gate.clone()),
        };
        let out = self.recurrent.forward(&[qkv.clone(), beta.clone(), decay], pass)?;
        let out = self.o_norm.forward(&mx::reshape(&out, &[x.dim(0), n_heads, head_dim])?)?;
        let gate = mx::sigmoid(&mx::cast(&gate, Dtype::Float32)?)?;
        let out = mx::multiply(&mx::reshape(&out, &[x.dim(0), n_heads * head_dim])?, &gate)?;
        self.o_proj.forward(&mx::cast(&out, x.dtype())?)
    }

    /// The inward projections, queries, keys and values as one.
    fn projected(&self, x: &Array) -> Result<Vec<Array>> {
        let [n_qkv, n_decay, n_gate, n_beta] = self.layout.n_parts();
        let n = n_qkv / 3;
        let mut parts = self.in_proj.forward_parts(x, &[n, n, n, n_decay, n_gate, n_beta])?;
        let rest = parts.split_off(3);
        let qkv = mx::concatenate(&parts.iter().collect::<Vec<_>>(), 1)?;
        Ok([vec![qkv], rest].concat())
    }
}
