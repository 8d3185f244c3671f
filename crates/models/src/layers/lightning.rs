//! Lightning attention (Qin et al. 2024): linear attention whose heads each decay at a fixed rate, slower in later layers.

use std::rc::Rc;

use crate::LoadResult;
use crate::cache::state::Recurrence;
use crate::layers::gated_delta::{GatedDelta, HeadShape, Tokens};
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::norm::{Centre, HeadNorm, RmsNorm};
use crate::layers::recurrent::Recurrent;
use crate::layers::rope::Rope;
use crate::mx::{self, Array, Cut, Dtype, Result};
use crate::pass::Pass;
use crate::weights::At;

/// Sizes of a layer.
#[derive(Clone, Copy, Debug)]
pub struct LightningLayout {
    /// Of the residual stream.
    pub n_hidden: i32,
    /// Heads of queries, keys and values.
    pub n_heads: i32,
    /// Elements of each.
    pub head_dim: i32,
    /// Parts of the outputs that are normed each by itself.
    pub n_norm_groups: i32,
    /// Of all norms.
    pub eps: f32,
    /// Of the joined projection.
    pub qkv_bias: Bias,
    /// Of the output.
    pub o_bias: Bias,
    /// Whether heads of queries and keys are normed.
    pub qk_norm: bool,
    /// Multiplies the heads' rates of decay.
    pub rate: f32,
}

/// See the module.
pub struct Lightning {
    layout: LightningLayout,
    qkv_proj: Linear,
    qk_norm: Option<HeadNorm>,
    rope: Rope,
    recurrent: Recurrent,
    g_proj: Linear,
    g_norm: RmsNorm,
    /// `[H D]`.
    weight: Array,
    o_proj: Linear,
}

impl Lightning {
    /// Takes `qkv_proj`, `q_norm` and `k_norm` where the layout has them, `g_proj`, `g_norm` and `o_proj`.
    pub fn load(at: &At<'_, '_>, layout: LightningLayout, layer_idx: usize, rope: &Rope) -> LoadResult<Self> {
        let LightningLayout { n_hidden, n_heads, head_dim, n_norm_groups, eps, qkv_bias, o_bias, .. } = layout;
        let n = n_heads * head_dim;
        let linear = |name, [n_out, n_in]: [i32; 2], bias| Linear::load(at, Shape { name, n_out, n_in, bias });
        let norm = |name: &str| RmsNorm::load(&at.at(name), head_dim, eps, Centre::Zero);
        let qk_norm = match layout.qk_norm {
            true => Some(HeadNorm::new(norm("q_norm")?, n_heads, norm("k_norm")?, n_heads)?),
            false => None,
        };
        let heads = HeadShape { n_k_heads: n_heads, n_v_heads: n_heads, k_dim: head_dim, v_dim: head_dim };
        let slopes: Vec<f32> = slopes(n_heads as usize).iter().map(|slope| -slope * layout.rate).collect();
        let log_decay = Array::from_slice(&slopes, &[1, 1, n_heads, 1]);
        let rule = Rule { log_decay, delta: GatedDelta::new(heads), scale: (head_dim as f32).powf(-0.5) };
        Ok(Self {
            layout,
            qkv_proj: linear("qkv_proj", [3 * n, n_hidden], qkv_bias)?,
            qk_norm,
            rope: rope.clone(),
            recurrent: Recurrent::new(Rc::new(rule), layer_idx),
            g_proj: linear("g_proj", [n, n_hidden], Bias::Absent)?,
            g_norm: RmsNorm::constant(1.0, n / n_norm_groups, eps, at.kernels())?,
            weight: at.at("g_norm").tensor("weight", &[n])?,
            o_proj: linear("o_proj", [n_hidden, n], o_bias)?,
        })
    }

    /// `[T, hidden]` to `[T, hidden]`.
    pub fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let LightningLayout { n_heads, head_dim, n_norm_groups, .. } = self.layout;
        let (t, n) = (x.dim(0), n_heads * head_dim);
        let heads = mx::reshape(&self.qkv_proj.forward(x)?, &[t, 3 * n_heads, head_dim])?;
        let part = |start, stop| mx::slice(&heads, &[Cut { axis: 1, start, stop }]);
        let (qk, values) = (part(0, 2 * n_heads)?, part(2 * n_heads, 3 * n_heads)?);
        let qk = if let Some(norm) = &self.qk_norm { norm.forward(&qk)? } else { qk };
        let qk = self.rope.forward(&qk, pass)?;
        let out = self.recurrent.forward(&[qk, values], pass)?;
        let out = self.g_norm.forward(&mx::reshape(&out, &[t, n_norm_groups, n / n_norm_groups])?)?;
        let out = mx::multiply(&mx::reshape(&out, &[t, n])?, &self.weight)?;
        let out = mx::multiply(&out, &mx::sigmoid(&mx::cast(&self.g_proj.forward(x)?, Dtype::Float32)?)?)?;
        self.o_proj.forward(&mx::cast(&out, x.dtype())?)
    }
}

/// Rates of decay of `n` heads (Press et al. 2021): a geometric series, filled up from the next finer one.
fn slopes(n: usize) -> Vec<f32> {
    let series = |n: usize| (1..=n).map(move |i| 2.0_f64.powf(-8.0 * i as f64 / n as f64) as f32);
    let n_even = if n.is_power_of_two() { n } else { n.next_power_of_two() / 2 };
    series(n_even).chain(series(2 * n_even).step_by(2)).take(n).collect()
}

/// The inputs are queries and keys, `[R, L, 2 H, D]`, and values.
struct Rule {
    /// `[1, 1, H, 1]`.
    log_decay: Array,
    delta: GatedDelta,
    scale: f32,
}

impl Recurrence for Rule {
    fn start(&self, _inputs: &[Array]) -> Result<Vec<Array>> {
        Ok(vec![self.delta.start()?])
    }

    fn advance(&self, inputs: &[Array], states: &[Array]) -> Result<(Array, Vec<Array>)> {
        let ([qk, values], [state]) = (inputs, states) else {
            return Err(mx::Error { what: "lightning attention has two inputs and one state".into() });
        };
        let HeadShape { n_v_heads: h, v_dim, .. } = *self.delta.shape();
        let (r, len) = (values.dim(0), values.dim(1));
        let qk = mx::cast(qk, Dtype::Float32)?;
        let part = |start, stop| mx::slice(&qk, &[Cut { axis: 2, start, stop }]);
        let tokens = Tokens {
            queries: mx::multiply(&part(0, h)?, &mx::scalar(self.scale))?,
            keys: part(h, 2 * h)?,
            values: mx::cast(values, Dtype::Float32)?,
            log_decay: mx::broadcast_to(&self.log_decay, &[r, len, h, 1])?,
            beta: None,
        };
        let (out, state) = self.delta.advance(&tokens, state)?;
        Ok((mx::reshape(&out, &[r, len, h * v_dim])?, vec![state]))
    }
}
