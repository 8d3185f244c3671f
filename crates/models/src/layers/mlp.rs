//! Gated feed-forward (Shazeer 2020).

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
}

/// `down(act(gate(x)) * up(x))`.
pub struct GatedMlp {
    gate_up_proj: Linear,
    down_proj: Linear,
    activation: Activation,
    n_inner: i32,
}

impl GatedMlp {
    /// Takes `gate_proj`, `up_proj` and `down_proj`.
    pub fn load(at: &At<'_, '_>, sizes: [i32; 2], bias: Bias, activation: Activation) -> LoadResult<Self> {
        let [n_hidden, n_inner] = sizes;
        let inward = |name| Shape { name, n_out: n_inner, n_in: n_hidden, bias };
        Ok(Self {
            gate_up_proj: Linear::load_stacked(at, &[inward("gate_proj"), inward("up_proj")])?,
            down_proj: Linear::load(at, Shape { name: "down_proj", n_out: n_hidden, n_in: n_inner, bias })?,
            activation,
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
        let parts = self.gate_up_proj.forward_parts(x, &[self.n_inner; 2])?;
        let [gate, up] = parts.as_slice() else { unreachable!("two sizes give two parts") };
        mx::multiply(&self.activation.apply(gate)?, up)
    }
}

impl Activation {
    /// Elementwise.
    pub fn apply(self, x: &Array) -> Result<Array> {
        let number = |value: f32| mx::cast(&mx::scalar(value), x.dtype());
        match self {
            Activation::Silu => mx::multiply(x, &mx::sigmoid(x)?),
            Activation::GeluTanh => {
                // x (1 + tanh(u)) / 2 = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3)
                let scale = 2.0 * (2.0 / std::f32::consts::PI).sqrt();
                let cubic = mx::multiply(&mx::square(x)?, &number(0.044_715 * scale)?)?;
                let u = mx::multiply(x, &mx::add(&cubic, &number(scale)?)?)?;
                mx::multiply(x, &mx::sigmoid(&u)?)
            }
            Activation::Gelu => {
                let erf = mx::erf(&mx::multiply(x, &number(std::f32::consts::FRAC_1_SQRT_2)?)?)?;
                mx::multiply(&mx::multiply(x, &number(0.5)?)?, &mx::add(&erf, &number(1.0)?)?)
            }
        }
    }
}
