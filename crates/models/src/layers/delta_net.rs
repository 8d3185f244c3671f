//! Linear attention as Qwen3-Next, Qwen3.5 and Olmo Hybrid have it (Yang et al. 2024, Qwen Team 2025): short filters before the
//! gated delta rule, a gated norm after it.

use std::rc::Rc;

use crate::LoadResult;
use crate::layers::delta_rule::{Beta, Decay, DeltaRule};
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
    /// How the checkpoint keeps it.
    pub kept: Kept,
    /// The largest `beta`.
    pub beta: Beta,
}

/// How a checkpoint keeps the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// `in_proj_qkv`, `in_proj_z`, `in_proj_b`, `in_proj_a`, `conv1d`, `norm` and `out_proj`.
    Joined,
    /// `{q,k,v,g,b,a}_proj`, `{q,k,v}_conv1d`, `o_norm` and `o_proj`.
    Apart,
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

    /// Queries, keys and values.
    fn n_filtered(&self) -> [i32; 3] {
        let HeadShape { n_k_heads, n_v_heads, k_dim, v_dim } = self.heads;
        [n_k_heads * k_dim, n_k_heads * k_dim, n_v_heads * v_dim]
    }

    /// The inward projections and their outputs.
    fn inward(&self) -> Vec<(&'static str, i32)> {
        let [n_qkv, n_gate, n_beta, n_decay] = self.n_parts();
        let [n_queries, n_keys, n_values] = self.n_filtered();
        let first = match self.kept {
            Kept::Joined => vec![("in_proj_qkv", n_qkv)],
            Kept::Apart => vec![("q_proj", n_queries), ("k_proj", n_keys), ("v_proj", n_values)],
        };
        let [gate, beta, decay] = match self.kept {
            Kept::Joined => ["in_proj_z", "in_proj_b", "in_proj_a"],
            Kept::Apart => ["g_proj", "b_proj", "a_proj"],
        };
        first.into_iter().chain([(gate, n_gate), (beta, n_beta), (decay, n_decay)]).collect()
    }

    /// The filters of queries, keys and values as one.
    fn filters(&self, at: &At<'_, '_>) -> LoadResult<ShortConv> {
        let [n_qkv, ..] = self.n_parts();
        if self.kept == Kept::Joined {
            return ShortConv::load(&at.at("conv1d"), [n_qkv, self.n_taps], Bias::Absent);
        }
        let names = ["q_conv1d", "k_conv1d", "v_conv1d"].into_iter().zip(self.n_filtered());
        let filters = names.map(|(name, n)| at.at(name).vector("weight", n * self.n_taps));
        let filters = filters.collect::<LoadResult<Vec<_>>>()?;
        let filters = mx::concatenate(&filters.iter().collect::<Vec<_>>(), 0)?;
        Ok(ShortConv::new(&filters, [n_qkv, self.n_taps], at.kernels())?)
    }
}

impl DeltaNet {
    /// Takes what the layout says, `A_log` and `dt_bias`.
    pub fn load(at: &At<'_, '_>, layout: DeltaNetLayout, layer_idx: usize) -> LoadResult<Self> {
        let DeltaNetLayout { n_hidden, heads, eps, kept, beta, .. } = layout;
        let [_, n_values, ..] = layout.n_parts();
        let shape = |name, n_out, n_in| Shape { name, n_out, n_in, bias: Bias::Absent };
        let inward = layout.inward().into_iter().map(|(name, n_out)| shape(name, n_out, n_hidden));
        let in_proj = Linear::load_stacked(at, &inward.collect::<Vec<_>>())?;
        let [norm, out_proj] = if kept == Kept::Joined { ["norm", "out_proj"] } else { ["o_norm", "o_proj"] };
        let decay = Decay::load(at, heads.n_v_heads, 1)?;
        let rule = DeltaRule::new(layout.filters(at)?, decay, heads, at.kernels())?.with(beta);
        Ok(Self {
            layout,
            in_proj,
            recurrent: Recurrent::new(Rc::new(rule), layer_idx),
            norm: RmsNorm::load(&at.at(norm), heads.v_dim, eps, Centre::Zero)?,
            out_proj: Linear::load(at, shape(out_proj, n_hidden, n_values))?,
        })
    }

    /// `[T, hidden]` to `[T, hidden]`.
    pub fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let HeadShape { n_v_heads, v_dim, .. } = self.layout.heads;
        let [qkv, gate, beta, decay] = self.projected(x)?;
        let out = self.recurrent.forward(&[qkv, beta, decay], pass)?;
        let (t, n_values) = (x.dim(0), n_v_heads * v_dim);
        let out = self.norm.forward(&mx::reshape(&out, &[t, n_v_heads, v_dim])?)?;
        let out = mx::fused(gate_by, &[&mx::reshape(&out, &[t, n_values])?, &gate])?;
        self.out_proj.forward(&out)
    }

    /// Queries, keys and values as one; the output gate; `beta`; decay.
    fn projected(&self, x: &Array) -> Result<[Array; 4]> {
        let sizes: Vec<i32> = self.layout.inward().into_iter().map(|(_, n)| n).collect();
        // What lies side by side in one product need not be taken apart.
        let joined = self
            .in_proj
            .forward_parts(x, &if self.in_proj.is_one() { self.layout.n_parts().to_vec() } else { sizes })?;
        match joined.as_slice() {
            [qkv, gate, beta, decay] => Ok([qkv.clone(), gate.clone(), beta.clone(), decay.clone()]),
            [q, k, v, gate, beta, decay] => {
                Ok([mx::concatenate(&[q, k, v], 1)?, gate.clone(), beta.clone(), decay.clone()])
            }
            parts => Err(mx::Error { what: format!("{} inward projections", parts.len()) }),
        }
    }
}

/// `out silu(gate)`, computed in f32, in the type of the gate.
fn gate_by(x: &[Array]) -> Result<Array> {
    let gate = mx::cast(&x[1], Dtype::Float32)?;
    mx::cast(&mx::multiply(&x[0], &mx::gated(&gate, &gate)?)?, x[1].dtype())
}
