//! The state-space layer of Mamba 2 (Dao and Gu 2024).

use std::rc::Rc;

use crate::LoadResult;
use crate::cache::state::Recurrence;
use crate::config::{ConfigFile, Limit};
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::mlp::Activation;
use crate::layers::norm::PartsNorm;
use crate::layers::recurrent::Recurrent;
use crate::layers::short_conv::ShortConv;
use crate::mx::{self, Array, Cut, Dtype, Result};
use crate::pass::Pass;
use crate::weights::At;

mod scan;

use scan::{ScanShape, Tokens};

/// Sizes, and what differs between families.
#[derive(Clone, Copy, Debug)]
pub struct SsmLayout {
    /// Size of the residual stream.
    pub n_hidden: usize,
    /// Heads.
    pub n_heads: usize,
    /// Elements a head.
    pub head_dim: usize,
    /// Groups of heads that share their inward and outward vectors.
    pub n_groups: usize,
    /// Elements of those vectors.
    pub n_state: usize,
    /// Positions that the convolution sees.
    pub n_taps: usize,
    /// Of the convolution.
    pub conv_bias: Bias,
    /// Of the projection inward.
    pub in_bias: Bias,
    /// Of the projection outward.
    pub out_bias: Bias,
    /// Bounds of a token's time.
    pub time_limit: [f32; 2],
    /// Between recurrence and projection; `None` = the gate alone.
    pub norm: Option<GateNorm>,
}

/// The norm beside the gate.
#[derive(Clone, Copy, Debug)]
pub struct GateNorm {
    /// Parts that are normed each by itself.
    pub n_parts: usize,
    /// Added under the root.
    pub eps: f32,
    /// Which comes first.
    pub order: GateOrder,
}

/// Whether the gate comes before its norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateOrder {
    /// `norm(y * silu(gate))`.
    GateFirst,
    /// `norm(y) * silu(gate)`.
    NormFirst,
}

impl SsmLayout {
    /// Checks every number, so that later arithmetic cannot overflow.
    pub fn check(&self, file: &ConfigFile) -> LoadResult<()> {
        file.check(&[
            Limit::positive("the state-space heads", self.n_heads, 4096),
            Limit::positive("the state-space head size", self.head_dim, 4096),
            Limit::positive("the state-space groups", self.n_groups, self.n_heads),
            Limit::positive("the state size", self.n_state, 4096),
            Limit { name: "the convolution's width", value: self.n_taps, low: 2, high: 64 },
        ])?;
        if !self.n_heads.is_multiple_of(self.n_groups) {
            let (heads, groups) = (self.n_heads, self.n_groups);
            return Err(file.error(&format!("{heads} state-space heads do not share {groups} groups evenly")));
        }
        let [low, high] = self.time_limit;
        if !(low >= 0.0 && low <= high) {
            return Err(file.error(&format!("the time step is bounded by {low} and {high}, which are no bounds")));
        }
        Ok(())
    }

    /// Elements of all heads.
    fn n_inner(&self) -> i32 {
        (self.n_heads * self.head_dim) as i32
    }

    /// What goes through the convolution: all heads, inward and outward vectors.
    fn n_mixed(&self) -> i32 {
        self.n_inner() + 2 * (self.n_groups * self.n_state) as i32
    }

    fn scan(&self) -> ScanShape {
        ScanShape {
            n_heads: self.n_heads as i32,
            head_dim: self.head_dim as i32,
            n_groups: self.n_groups as i32,
            n_state: self.n_state as i32,
        }
    }
}

/// `out_proj(norm(ssm(conv(in_proj(x))), gate))`.
pub struct Ssm {
    layout: SsmLayout,
    in_proj: Linear,
    core: Recurrent,
    norm: Option<(PartsNorm, GateOrder)>,
    out_proj: Linear,
}

/// Between the projections, without gate.
struct Core {
    layout: SsmLayout,
    conv: ShortConv,
    /// `[H]`, below 0.
    a: Array,
    /// `[H]`.
    dt_bias: Array,
    /// `[H, 1]`: how much of its input a head passes on.
    d: Array,
}

impl Ssm {
    /// Takes `in_proj`, `conv1d`, `A_log`, `D`, `dt_bias`, `norm` where the layout has one, and `out_proj`.
    pub fn load(at: &At<'_, '_>, layout: SsmLayout, cache_idx: usize) -> LoadResult<Self> {
        let (n_hidden, n_heads, n_inner) = (layout.n_hidden as i32, layout.n_heads as i32, layout.n_inner());
        let n_out = n_inner + layout.n_mixed() + n_heads;
        let in_proj = Linear::load(at, Shape { name: "in_proj", n_out, n_in: n_hidden, bias: layout.in_bias })?;
        let number = |name: &str| -> LoadResult<Array> { Ok(mx::cast(&at.vector(name, n_heads)?, Dtype::Float32)?) };
        let a = mx::multiply(&mx::exp(&number("A_log")?)?, &mx::scalar(-1.0))?;
        let conv = ShortConv::load(&at.at("conv1d"), [layout.n_mixed(), layout.n_taps as i32], layout.conv_bias)?;
        let d = mx::reshape(&number("D")?, &[n_heads, 1])?;
        let core = Core { layout, conv, a, dt_bias: number("dt_bias")?, d };
        let norm = layout.norm.map(|norm| -> LoadResult<_> {
            let sizes = [norm.n_parts as i32, n_inner / norm.n_parts as i32];
            Ok((PartsNorm::load(&at.at("norm"), sizes, norm.eps)?, norm.order))
        });
        let out = Shape { name: "out_proj", n_out: n_hidden, n_in: n_inner, bias: layout.out_bias };
        let core = Recurrent::new(Rc::new(core), cache_idx);
        Ok(Self { layout, in_proj, core, norm: norm.transpose()?, out_proj: Linear::load(at, out)? })
    }

    /// `[T, hidden]` to `[T, hidden]`.
    pub fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let (n_inner, n_mixed) = (self.layout.n_inner(), self.layout.n_mixed());
        let all = self.in_proj.forward(x)?;
        let part = |start, stop| mx::slice(&all, &[Cut { axis: 1, start, stop }]);
        let gate = part(0, n_inner)?;
        let inputs = [part(n_inner, n_inner + n_mixed)?, part(n_inner + n_mixed, all.dim(1))?];
        let y = self.core.forward(&inputs, pass)?;
        self.out_proj.forward(&self.gated(&y, &gate)?)
    }

    fn gated(&self, y: &Array, gate: &Array) -> Result<Array> {
        let gate = Activation::Silu.apply(gate)?;
        match &self.norm {
            None => mx::multiply(y, &gate),
            Some((norm, GateOrder::GateFirst)) => norm.forward(&mx::multiply(y, &gate)?),
            Some((norm, GateOrder::NormFirst)) => mx::multiply(&norm.forward(y)?, &gate),
        }
    }
}

impl Recurrence for Core {
    fn start(&self, inputs: &[Array]) -> Result<Vec<Array>> {
        let mixed = inputs.iter().take(1).map(|mixed| self.conv.start(mixed));
        mixed.chain([self.layout.scan().start()]).collect()
    }

    fn advance(&self, inputs: &[Array], states: &[Array]) -> Result<(Array, Vec<Array>)> {
        let ([mixed, dt], [inner, state]) = (inputs, states) else { unreachable!("two inputs and two states") };
        let dtype = mixed.dtype();
        let (mixed, inner) = self.conv.forward(mixed, inner)?;
        let mixed = Activation::Silu.apply(&mixed)?;
        let (n_inner, n_vectors) = (self.layout.n_inner(), (self.layout.n_groups * self.layout.n_state) as i32);
        let part = |start, stop| mx::slice(&mixed, &[Cut { axis: 2, start, stop }]);
        let x = part(0, n_inner)?;
        let b = part(n_inner, n_inner + n_vectors)?;
        let c = part(n_inner + n_vectors, n_inner + 2 * n_vectors)?;
        let tokens = Tokens { x, b, c, dt: self.times(dt)? };
        let (y, state) = self.layout.scan().advance(&tokens, &self.a, state)?;
        let y = mx::add(&y, &self.passed(&tokens.x)?)?;
        Ok((mx::cast(&y, dtype)?, vec![inner, state]))
    }
}

impl Core {
    /// How long each token lasts: `softplus(dt + bias)` within the bounds, in f32.
    fn times(&self, dt: &Array) -> Result<Array> {
        let dt = mx::add(&mx::cast(dt, Dtype::Float32)?, &self.dt_bias)?;
        let [low, high] = self.layout.time_limit;
        let mut dt = mx::logaddexp(&dt, &mx::scalar(0.0))?;
        if low > 0.0 {
            dt = mx::maximum(&dt, &mx::scalar(low))?;
        }
        if high < f32::MAX { mx::minimum(&dt, &mx::scalar(high)) } else { Ok(dt) }
    }

    /// `[R, L, H P]` times each head's factor.
    fn passed(&self, x: &Array) -> Result<Array> {
        let heads = mx::reshape(x, &[x.dim(0), x.dim(1), self.layout.n_heads as i32, self.layout.head_dim as i32])?;
        mx::reshape(&mx::multiply(&heads, &self.d)?, x.shape())
    }
}
