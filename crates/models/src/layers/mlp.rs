//! Feed-forward, gated (Shazeer 2020) or plain.

use serde::Deserialize;

use crate::LoadResult;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::mx::{self, Array, Result};
use crate::weights::At;

/// What the gate goes through. Names as in config.json.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Activation {
    /// `x * sigmoid(x)`.
    #[default]
    #[serde(rename = "silu", alias = "swish")]
    Silu,
    /// Gaussian error linear unit, its tanh approximation.
    #[serde(rename = "gelu_pytorch_tanh", alias = "gelu_new", alias = "gelu_fast")]
    GeluTanh,
    /// Gaussian error linear unit.
    #[serde(rename = "gelu")]
    Gelu,
    /// `max(x, 0)^2` (So et al. 2021).
    #[serde(rename = "relu2")]
    Relu2,
}

/// What differs between decoders.
#[derive(Clone, Copy, Debug)]
pub struct MlpLayout {
    /// Of all projections.
    pub bias: Bias,
    /// Between gate and product.
    pub activation: Activation,
    /// How the checkpoint keeps the two inward projections.
    pub inward: Inward,
    /// Gates count from this many standard deviations above their mean on (Gemma Team 2025); `None` = as they are.
    pub cutoff: Option<f32>,
}

/// How a checkpoint keeps projections of the same input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inward {
    /// Each by itself.
    #[default]
    Apart,
    /// As one.
    Joined,
    /// There is one only, and no gate.
    Ungated,
}

impl Default for MlpLayout {
    fn default() -> Self {
        Self { bias: Bias::Absent, activation: Activation::Silu, inward: Inward::Apart, cutoff: None }
    }
}

/// `down(act(gate(x)) * up(x))`, or `down(act(up(x)))`.
pub struct GatedMlp {
    gate_up_proj: Linear,
    inward: Inward,
    down_proj: Linear,
    activation: Activation,
    cutoff: Option<f32>,
    n_inner: i32,
}

impl GatedMlp {
    /// Takes `gate_proj` and `up_proj`, `gate_up_proj` or `up_proj` alone, and `down_proj`; `sizes` are the hidden and the inner one.
    pub fn load(at: &At<'_, '_>, sizes: [i32; 2], layout: MlpLayout) -> LoadResult<Self> {
        let ([n_hidden, n_inner], MlpLayout { bias, activation, inward, cutoff }) = (sizes, layout);
        let shape = |name, n_out| Shape { name, n_out, n_in: n_hidden, bias };
        let gate_up_proj = match inward {
            Inward::Apart => Linear::load_stacked(at, &[shape("gate_proj", n_inner), shape("up_proj", n_inner)])?,
            Inward::Joined => Linear::load(at, shape("gate_up_proj", 2 * n_inner))?,
            Inward::Ungated => Linear::load(at, shape("up_proj", n_inner))?,
        };
        Ok(Self {
            gate_up_proj,
            inward,
            down_proj: Linear::load(at, Shape { name: "down_proj", n_out: n_hidden, n_in: n_inner, bias })?,
            activation,
            cutoff,
            n_inner,
        })
    }

    /// `[T, hidden]` to `[T, hidden]`.
    pub fn forward(&self, x: &Array) -> Result<Array> {
        self.down_proj.forward(&self.inner(x)?)
    }

    /// `residual + forward(x)`.
    pub fn forward_onto(&self, residual: &Array, x: &Array) -> Result<Array> {
        self.down_proj.forward_onto(residual, &self.inner(x)?)
    }

    fn inner(&self, x: &Array) -> Result<Array> {
        if self.inward == Inward::Ungated {
            return self.activation.apply(&self.gate_up_proj.forward(x)?);
        }
        let parts = self.gate_up_proj.forward_parts(x, &[self.n_inner; 2])?;
        let [gate, up] = parts.as_slice() else { unreachable!("two sizes give two parts") };
        let gate = match self.cutoff {
            Some(n_deviations) => &above(gate, n_deviations)?,
            None => gate,
        };
        self.activation.times(gate, up)
    }
}

/// What of each element of `[T, N]` lies above the row's mean and `n_deviations` of its standard deviations.
fn above(x: &Array, n_deviations: f32) -> Result<Array> {
    let mean = |x: &Array| mx::scale(&mx::sum(x, -1)?, 1.0 / x.dim(-1) as f32);
    let centred = mx::subtract(x, &mean(x)?)?;
    let deviation = mx::sqrt(&mean(&mx::square(&centred)?)?)?;
    let rest = mx::subtract(&centred, &mx::scale(&deviation, n_deviations)?)?;
    mx::maximum(&rest, &mx::cast(&mx::scalar(0.0), x.dtype())?)
}

/// `down(act(up(x)))`.
pub struct PlainMlp {
    up_proj: Linear,
    down_proj: Linear,
    activation: Activation,
}

impl PlainMlp {
    /// Takes `up_proj` and `down_proj`; `sizes` are the hidden and the inner one.
    pub fn load(at: &At<'_, '_>, sizes: [i32; 2], bias: Bias, activation: Activation) -> LoadResult<Self> {
        let [n_hidden, n_inner] = sizes;
        let up_proj = Linear::load(at, Shape { name: "up_proj", n_out: n_inner, n_in: n_hidden, bias })?;
        let down_proj = Linear::load(at, Shape { name: "down_proj", n_out: n_hidden, n_in: n_inner, bias })?;
        Ok(Self { up_proj, down_proj, activation })
    }

    /// `[T, hidden]` to `[T, hidden]`.
    pub fn forward(&self, x: &Array) -> Result<Array> {
        self.down_proj.forward(&self.activation.apply(&self.up_proj.forward(x)?)?)
    }
}

impl Activation {
    /// `act(gate) * up`.
    pub fn times(self, gate: &Array, up: &Array) -> Result<Array> {
        match self {
            Activation::Silu => mx::fused(|x| mx::multiply(&Self::Silu.plain(&x[0])?, &x[1]), &[gate, up]),
            Activation::GeluTanh => mx::fused(|x| mx::multiply(&Self::GeluTanh.plain(&x[0])?, &x[1]), &[gate, up]),
            Activation::Gelu | Activation::Relu2 => mx::multiply(&self.apply(gate)?, up),
        }
    }

    /// Elementwise.
    pub fn apply(self, x: &Array) -> Result<Array> {
        match self {
            Activation::Silu => mx::fused(|x| Self::Silu.plain(&x[0]), &[x]),
            Activation::GeluTanh => mx::fused(|x| Self::GeluTanh.plain(&x[0]), &[x]),
            Activation::Gelu => mx::fused(|x| Self::Gelu.plain(&x[0]), &[x]),
            Activation::Relu2 => mx::fused(|x| Self::Relu2.plain(&x[0]), &[x]),
        }
    }

    fn plain(self, x: &Array) -> Result<Array> {
        let number = |value: f32| mx::cast(&mx::scalar(value), x.dtype());
        match self {
            Activation::Silu => mx::gated(x, x),
            Activation::GeluTanh => {
                // x (1 + tanh(u)) / 2 = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3)
                let scale = 2.0 * (2.0 / std::f32::consts::PI).sqrt();
                let cubic = mx::multiply(&mx::square(x)?, &number(0.044_715 * scale)?)?;
                let u = mx::multiply(x, &mx::add(&cubic, &number(scale)?)?)?;
                mx::gated(x, &u)
            }
            Activation::Relu2 => mx::square(&mx::maximum(x, &number(0.0)?)?),
            Activation::Gelu => {
                let erf = mx::erf(&mx::multiply(x, &number(std::f32::consts::FRAC_1_SQRT_2)?)?)?;
                mx::multiply(&mx::multiply(x, &number(0.5)?)?, &mx::add(&erf, &number(1.0)?)?)
            }
        }
    }
}
