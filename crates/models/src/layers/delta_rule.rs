//! The gated delta rule with what layers put before it: short filters, queries and keys of unit length, and decay from a
//! projection.

use crate::LoadResult;
use crate::cache::state::Recurrence;
use crate::layers::gated_delta::{GatedDelta, HeadShape, Tokens};
use crate::layers::norm::{HeadNorm, RmsNorm};
use crate::layers::short_conv::ShortConv;
use crate::mx::{self, Array, Cut, Dtype, Result};
use crate::weights::{At, Kernels};

/// Added under the root of what queries and keys are divided by.
const EPS: f32 = 1e-6;

/// From projections to what is read from the state. Its inputs are queries, keys and values joined; `beta` before its sigmoid;
/// decay before [`Decay`].
pub struct DeltaRule {
    conv: ShortConv,
    qk_norm: HeadNorm,
    decay: Decay,
    beta: Beta,
    delta: GatedDelta,
}

/// How much of what it finds a token may take away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beta {
    /// At most all of it: `sigmoid(x)`.
    ToOne,
    /// At most twice that, which turns it around (Grazzi et al. 2025): `2 sigmoid(x)`.
    ToTwo,
}

/// The logarithm of decay: `-exp(A_log) softplus(x + dt_bias)`, or, with a bound, `bound sigmoid(exp(A_log) (x + dt_bias))`.
pub struct Decay {
    /// `exp(A_log)`, `[N]`.
    rate: Array,
    /// `[N]`.
    dt_bias: Array,
    /// Below 0.
    bound: Option<f32>,
}

impl Decay {
    /// Takes `A_log`, one for each of `n_heads`, and `dt_bias`, `n_each` a head.
    pub fn load(at: &At<'_, '_>, n_heads: i32, n_each: i32) -> LoadResult<Self> {
        let vector = |name, n| -> LoadResult<Array> { Ok(mx::cast(&at.vector(name, n)?, Dtype::Float32)?) };
        let rate = mx::reshape(&mx::exp(&vector("A_log", n_heads)?)?, &[n_heads, 1])?;
        let rate = mx::reshape(&mx::broadcast_to(&rate, &[n_heads, n_each])?, &[n_heads * n_each])?;
        Ok(Self { rate, dt_bias: vector("dt_bias", n_heads * n_each)?, bound: None })
    }

    /// The same with a bound.
    pub fn bounded(self, bound: f32) -> Self {
        Self { bound: Some(bound), ..self }
    }

    fn forward(&self, x: &Array) -> Result<Array> {
        match self.bound {
            Some(bound) => {
                let x = mx::add(&mx::cast(x, Dtype::Float32)?, &self.dt_bias)?;
                mx::scale(&mx::sigmoid(&mx::multiply(&x, &self.rate)?)?, bound)
            }
            None => mx::fused(unbounded, &[x, &self.dt_bias, &self.rate]),
        }
    }
}

/// `-rate softplus(x + dt_bias)`, f32.
fn unbounded(x: &[Array]) -> Result<Array> {
    let shifted = mx::add(&mx::cast(&x[0], Dtype::Float32)?, &x[1])?;
    let part = mx::multiply(&mx::logaddexp(&shifted, &mx::scalar(0.0))?, &x[2])?;
    mx::multiply(&part, &mx::scalar(-1.0))
}

/// `x silu`, computed in f32.
fn silu(x: &[Array]) -> Result<Array> {
    let x = mx::cast(&x[0], Dtype::Float32)?;
    mx::gated(&x, &x)
}

/// Sigmoid, computed in f32.
fn sigmoid(x: &[Array]) -> Result<Array> {
    mx::sigmoid(&mx::cast(&x[0], Dtype::Float32)?)
}

/// Twice that.
fn twice_sigmoid(x: &[Array]) -> Result<Array> {
    mx::multiply(&sigmoid(x)?, &mx::scalar(2.0))
}

impl DeltaRule {
    /// For heads of a shape; `conv` filters queries, keys and values joined.
    pub fn new(conv: ShortConv, decay: Decay, heads: HeadShape, kernels: Kernels) -> Result<Self> {
        let (n, root) = (heads.k_dim, (heads.k_dim as f32).sqrt());
        let norm = |scale: f32| RmsNorm::constant(scale, n, EPS / n as f32, kernels);
        // Unit length, and queries once more divided by the root of their size.
        let qk_norm = HeadNorm::new(norm(1.0 / n as f32)?, heads.n_k_heads, norm(1.0 / root)?, heads.n_k_heads)?;
        Ok(Self { conv, qk_norm, decay, beta: Beta::ToOne, delta: GatedDelta::new(heads) })
    }

    /// The same with other bounds.
    pub fn with(self, beta: Beta) -> Self {
        Self { beta, ..self }
    }
}

impl Recurrence for DeltaRule {
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
        let qkv = mx::fused(silu, &[&qkv])?;
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
            log_decay: shaped(&self.decay.forward(decay)?, n_v_heads, -1)?,
            beta: Some(mx::fused(if self.beta == Beta::ToOne { sigmoid } else { twice_sigmoid }, &[beta])?),
        };
        let (out, state) = self.delta.advance(&tokens, state)?;
        Ok((mx::reshape(&out, &[r, len, n_v_heads * v_dim])?, vec![conv, state]))
    }
}
