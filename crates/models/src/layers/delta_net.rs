//! Linear attention as Qwen3-Next and Qwen3.5 have it (Yang et al. 2024, Qwen Team 2025): short filters before the gated delta
//! rule, a gated norm after it.

use std::rc::Rc;

use crate::LoadResult;
use crate::cache::state::Recurrence;
use crate::layers::gated_delta::{GatedDelta, HeadShape, Tokens};
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::mlp::Activation;
use crate::layers::norm::{Centre, HeadNorm, RmsNorm};
use crate::layers::recurrent::Recurrent;
use crate::layers::short_conv::ShortConv;
use crate::mx::{self, Array, Cut, Dtype, Result};
use crate::pass::Pass;
use crate::weights::At;

/// Added under the root of what queries and keys are divided by.
const EPS: f32 = 1e-6;

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
        let rule = Rule {
            conv: ShortConv::load(&at.at("conv1d"), [n_qkv, n_taps], Bias::Absent)?,
            qk_norm: unit_heads(at, &heads)?,
            decay: Decay::load(at, heads.n_v_heads)?,
            delta: GatedDelta::new(heads),
        };
        Ok(Self {
            layout,
            in_proj: Linear::load_stacked(at, &inward.collect::<Vec<_>>())?,
            recurrent: Recurrent::new(Rc::new(rule), layer_idx),
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
        let gate = Activation::Silu.apply(&mx::cast(gate, Dtype::Float32)?)?;
        let out = mx::multiply(&mx::reshape(&out, &[t, n_values])?, &gate)?;
        self.out_proj.forward(&mx::cast(&out, x.dtype())?)
    }
}

/// Norms of queries and keys to unit length, queries then divided by the root of their size.
pub fn unit_heads(at: &At<'_, '_>, heads: &HeadShape) -> LoadResult<HeadNorm> {
    let (n, root) = (heads.k_dim, (heads.k_dim as f32).sqrt());
    let norm = |scale: f32| RmsNorm::constant(scale, n, EPS / n as f32, at.kernels());
    Ok(HeadNorm::new(norm(1.0 / n as f32)?, heads.n_k_heads, norm(1.0 / root)?, heads.n_k_heads)?)
}

/// `-exp(A_log) softplus(x + dt_bias)`: the logarithm of decay.
pub struct Decay {
    /// `[H]`.
    rate: Array,
    /// `[N]`.
    dt_bias: Array,
}

impl Decay {
    /// Takes `A_log` and `dt_bias`, `n` each.
    fn load(at: &At<'_, '_>, n: i32) -> LoadResult<Self> {
        let vector = |name| -> LoadResult<Array> { Ok(mx::cast(&at.vector(name, n)?, Dtype::Float32)?) };
        let rate = mx::multiply(&mx::exp(&vector("A_log")?)?, &mx::scalar(-1.0))?;
        Ok(Self { rate, dt_bias: vector("dt_bias")? })
    }

    fn forward(&self, x: &Array) -> Result<Array> {
        let x = mx::add(&mx::cast(x, Dtype::Float32)?, &self.dt_bias)?;
        mx::multiply(&mx::logaddexp(&x, &mx::scalar(0.0))?, &self.rate)
    }
}

/// From projections to what is read from the state.
struct Rule {
    conv: ShortConv,
    qk_norm: HeadNorm,
    decay: Decay,
    delta: GatedDelta,
}

impl Recurrence for Rule {
    fn start(&self, inputs: &[Array]) -> Result<Vec<Array>> {
        inputs.iter().take(1).map(|qkv| self.conv.start(qkv)).chain([self.delta.start()]).collect()
    }

    fn advance(&self, inputs: &[Array], states: &[Array]) -> Result<(Array, Vec<Array>)> {
        let ([qkv, beta, decay], [conv, state]) = (inputs, states) else {
            return Err(mx::Error { what: "a delta rule has three inputs and two states".into() });
        };
        let HeadShape { n_k_heads, n_v_heads, k_dim, v_dim } = *self.delta.shape();
        let (r, len) = (qkv.dim(0), qkv.dim(1));
        let (qkv, conv) = self.conv.forward(qkv, conv)?;
        let qkv = Activation::Silu.apply(&mx::cast(&qkv, Dtype::Float32)?)?;
        let qkv = mx::reshape(&qkv, &[r * len, -1])?;
        let n_qk = 2 * n_k_heads * k_dim;
        let part = |array: &Array, start, stop| mx::slice(array, &[Cut { axis: 1, start, stop }]);
        let qk = mx::reshape(&part(&qkv, 0, n_qk)?, &[r * len, 2 * n_k_heads, k_dim])?;
        let qk = self.qk_norm.forward(&qk)?;
        let shaped = |array: &Array, n, dim| mx::reshape(array, &[r, len, n, dim]);
        let tokens = Tokens {
            queries: shaped(&part(&qk, 0, n_k_heads)?, n_k_heads, k_dim)?,
            keys: shaped(&part(&qk, n_k_heads, 2 * n_k_heads)?, n_k_heads, k_dim)?,
            values: shaped(&part(&qkv, n_qk, n_qk + n_v_heads * v_dim)?, n_v_heads, v_dim)?,
            log_decay: shaped(&self.decay.forward(decay)?, n_v_heads, 1)?,
            beta: Some(mx::sigmoid(&mx::cast(beta, Dtype::Float32)?)?),
        };
        let (out, state) = self.delta.advance(&tokens, state)?;
        Ok((mx::reshape(&out, &[r, len, n_v_heads * v_dim])?, vec![conv, state]))
    }
}
