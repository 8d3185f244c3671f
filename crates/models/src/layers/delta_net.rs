//! Linear attention as Qwen3-Next and Qwen3.5 have it (Yang et al. 2024, Qwen Team 2025): short filters before the gated delta
//! rule, a gated norm after it.

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
pub struct DeltaNetLayout {
    /// Of the residual stream.
    pub n_hidden: i32,
    /// Of the heads.
    pub heads: HeadShape,
    /// Inputs that a filter sees.
    pub n_taps: i32,
    /// Of the norm of the outputs.
    pub eps: f32,
}

/// See the module.
pub struct DeltaNet {
    layout: DeltaNetLayout,
    /// Queries, keys and values; the output gate; `beta`; decay.
    in_proj: Linear,
    recurrent: Recurrent,
    norm: RmsNorm,
    out_proj: Linear,
}

impl DeltaNetLayout {
    /// Outputs of each inward projection.
    fn n_parts(&self) -> [i32; 4] {
        let HeadShape { n_k_heads, n_v_heads, k_dim, v_dim } = self.heads;
        [2 * n_k_heads * k_dim + n_v_heads * v_dim, n_v_heads * v_dim, n_v_heads, n_v_heads]
    }
}

impl DeltaNet {
    /// Takes `in_proj_qkv`, `in_proj_z`, `in_proj_b`, `in_proj_a`, `conv1d`, `A_log`, `dt_bias`, `norm` and `out_proj`.
    pub fn load(at: &At<'_, '_>, layout: DeltaNetLayout, layer_idx: usize) -> LoadResult<Self> {
        let DeltaNetLayout { n_hidden, heads, n_taps, eps } = layout;
        let [n_qkv, n_values, ..] = layout.n_parts();
        let names = ["in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a"];
        let shape = |name, n_out, n_in| Shape { name, n_out, n_in, bias: Bias::Absent };
        let inward = names.into_iter().zip(layout.n_parts()).map(|(name, n_out)| shape(name, n_out, n_hidden));
        let conv = ShortConv::load(&at.at("conv1d"), [n_qkv, n_taps], Bias::Absent)?;
        let decay = Decay::load(at, heads.n_v_heads, 1)?;
        Ok(Self {
            layout,
            in_proj: Linear::load_stacked(at, &inward.collect::<Vec<_>>())?,
            recurrent: Recurrent::new(Rc::new(DeltaRule::new(conv, decay, heads, at.kernels())?), layer_idx),
            norm: RmsNorm::load(&at.at("norm"), heads.v_dim, eps, Centre::Zero)?,
            out_proj: Linear::load(at, shape("out_proj", n_hidden, n_values))?,
        })
    }

    /// `[T, hidden]` to `[T, hidden]`.
    pub fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let HeadShape { n_v_heads, v_dim, .. } = self.layout.heads;
        let parts = self.in_proj.forward_parts(x, &self.layout.n_parts())?;
        let [qkv, gate, beta, decay] = parts.as_slice() else { unreachable!("four sizes give four parts") };
        let out = self.recurrent.forward(&[qkv.clone(), beta.clone(), decay.clone()], pass)?;
        let (t, n_values) = (x.dim(0), n_v_heads * v_dim);
        let out = self.norm.forward(&mx::reshape(&out, &[t, n_v_heads, v_dim])?)?;
        let out = mx::fused(gate_by, &[&mx::reshape(&out, &[t, n_values])?, gate])?;
        self.out_proj.forward(&out)
    }
}

/// `out silu(gate)`, computed in f32, in the type of the gate.
fn gate_by(x: &[Array]) -> Result<Array> {
    let gate = mx::cast(&x[1], Dtype::Float32)?;
    mx::cast(&mx::multiply(&x[0], &mx::gated(&gate, &gate)?)?, x[1].dtype())
}
