//! The state-space layer of Mamba (Gu and Dao 2023) as Jamba has it (Lieber et al. 2024): norms of time and vectors.

use std::rc::Rc;

use crate::LoadResult;
use crate::cache::state::Recurrence;
use crate::config::{ConfigFile, Limit};
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::mlp::Activation;
use crate::layers::norm::{Centre, RmsNorm};
use crate::layers::recurrent::Recurrent;
use crate::layers::short_conv::ShortConv;
use crate::mx::{self, Array, Cut, Dtype, Result};
use crate::pass::Pass;
use crate::weights::At;

mod scan;

use scan::Tokens;

/// Sizes and biases.
#[derive(Clone, Copy, Debug)]
pub struct SelectiveLayout {
    /// Size of the residual stream.
    pub n_hidden: usize,
    /// Channels: `C`.
    pub n_inner: usize,
    /// Elements of a channel's state: `N`.
    pub n_state: usize,
    /// Elements that time is made from.
    pub n_time: usize,
    /// Positions that the convolution sees.
    pub n_taps: usize,
    /// Of the convolution.
    pub conv_bias: Bias,
    /// Of the projections inward and outward.
    pub bias: Bias,
    /// Of the norms.
    pub eps: f32,
}

impl SelectiveLayout {
    /// Checks every number, so that later arithmetic cannot overflow.
    pub fn check(&self, file: &ConfigFile) -> LoadResult<()> {
        file.check(&[
            Limit::positive("the state-space channels", self.n_inner, 1 << 18),
            Limit::positive("mamba_d_state", self.n_state, 4096),
            Limit::positive("mamba_dt_rank", self.n_time, 1 << 17),
            Limit { name: "mamba_d_conv", value: self.n_taps, low: 2, high: 64 },
        ])
    }
}

/// `out_proj(ssm(conv(x)) * silu(z))` with `x, z = in_proj(..)`.
pub struct Selective {
    in_proj: Linear,
    n_inner: i32,
    core: Recurrent,
    out_proj: Linear,
}

/// Between the projections, without gate.
struct Core {
    conv: ShortConv,
    x_proj: Linear,
    /// Of time, inward and outward vectors, with their sizes.
    norms: [(RmsNorm, i32); 3],
    dt_proj: Linear,
    /// `[C, N]`, below 0.
    a: Array,
    /// `[C]`: how much of its input a channel passes on.
    d: Array,
}

impl Selective {
    /// Takes `in_proj`, `conv1d`, `x_proj`, `dt_layernorm`, `b_layernorm`, `c_layernorm`, `dt_proj`, `A_log`, `D` and `out_proj`.
    pub fn load(at: &At<'_, '_>, layout: SelectiveLayout, cache_idx: usize) -> LoadResult<Self> {
        let SelectiveLayout { n_hidden, n_inner, n_state, n_time, n_taps, conv_bias, bias, eps } = layout;
        let [n_hidden, n_inner, n_state, n_time] = [n_hidden, n_inner, n_state, n_time].map(|n| n as i32);
        let linear = |name, n_out, n_in, bias| Linear::load(at, Shape { name, n_out, n_in, bias });
        let norm = |name: &str, n| -> LoadResult<_> { Ok((RmsNorm::load(&at.at(name), n, eps, Centre::Zero)?, n)) };
        let a_log = mx::cast(&at.tensor("A_log", &[n_inner, n_state])?, Dtype::Float32)?;
        let core = Core {
            conv: ShortConv::load(&at.at("conv1d"), [n_inner, n_taps as i32], conv_bias)?,
            x_proj: linear("x_proj", n_time + 2 * n_state, n_inner, Bias::Absent)?,
            norms: [norm("dt_layernorm", n_time)?, norm("b_layernorm", n_state)?, norm("c_layernorm", n_state)?],
            dt_proj: linear("dt_proj", n_inner, n_time, Bias::Present)?,
            a: mx::multiply(&mx::exp(&a_log)?, &mx::scalar(-1.0))?,
            d: mx::cast(&at.vector("D", n_inner)?, Dtype::Float32)?,
        };
        let in_proj = linear("in_proj", 2 * n_inner, n_hidden, bias)?;
        let core = Recurrent::new(Rc::new(core), cache_idx);
        Ok(Self { in_proj, n_inner, core, out_proj: linear("out_proj", n_hidden, n_inner, bias)? })
    }

    /// `[T, hidden]` to `[T, hidden]`.
    pub fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let all = self.in_proj.forward(x)?;
        let part = |start, stop| mx::slice(&all, &[Cut { axis: 1, start, stop }]);
        let y = self.core.forward(&[part(0, self.n_inner)?], pass)?;
        let gate = Activation::Silu.apply(&part(self.n_inner, 2 * self.n_inner)?)?;
        self.out_proj.forward(&mx::multiply(&y, &gate)?)
    }
}

impl Recurrence for Core {
    fn start(&self, inputs: &[Array]) -> Result<Vec<Array>> {
        let inner = inputs.iter().map(|x| self.conv.start(x));
        inner.chain([mx::zeros(&[1, self.a.dim(0), self.a.dim(1)], Dtype::Float32)]).collect()
    }

    fn advance(&self, inputs: &[Array], states: &[Array]) -> Result<(Array, Vec<Array>)> {
        let ([x], [inner, state]) = (inputs, states) else { unreachable!("one input and two states") };
        let dtype = x.dtype();
        let (x, inner) = self.conv.forward(x, inner)?;
        let x = Activation::Silu.apply(&x)?;
        let tokens = self.tokens(&x)?;
        let (y, state) = tokens.scan(&self.a, state)?;
        let y = mx::add(&y, &mx::multiply(&x, &self.d)?)?;
        Ok((mx::cast(&y, dtype)?, vec![inner, state]))
    }
}

impl Core {
    /// What each of `[R, L, C]` does to the state.
    fn tokens(&self, x: &Array) -> Result<Tokens> {
        let (r, len, n_inner) = (x.dim(0), x.dim(1), x.dim(2));
        let all = self.x_proj.forward(&mx::reshape(x, &[r * len, n_inner])?)?;
        let mut start = 0;
        let mut parts = Vec::new();
        for (norm, size) in &self.norms {
            let cut = Cut { axis: 1, start, stop: start + size };
            parts.push(norm.forward(&mx::slice(&all, &[cut])?)?);
            start += size;
        }
        let [time, b, c] = parts.as_slice() else { unreachable!("three norms") };
        let dt = mx::cast(&self.dt_proj.forward(time)?, Dtype::Float32)?;
        let dt = mx::logaddexp(&dt, &mx::scalar(0.0))?;
        let by_row = |array: &Array| mx::reshape(array, &[r, len, array.dim(1)]);
        Ok(Tokens { x: x.clone(), b: by_row(b)?, c: by_row(c)?, dt: by_row(&dt)? })
    }
}
