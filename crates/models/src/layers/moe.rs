//! Mixture of experts (Shazeer et al. 2017): a router picks a few feed-forward parts for each token.

use crate::LoadResult;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::mlp::{Activation, GatedMlp, MlpLayout};
use crate::mx::{self, Array, Result};
use crate::weights::At;

mod experts;
mod router;

use experts::Experts;
pub use router::{Groups, RouterLayout, Scoring};
use router::{Picked, Router};

/// What differs between families.
#[derive(Clone, Copy, Debug)]
pub struct MoeLayout {
    /// Where it sits in a block.
    pub name: &'static str,
    /// How experts are picked and weighed.
    pub router: RouterLayout,
    /// How many there are.
    pub n_experts: usize,
    /// Inner size of each.
    pub n_inner: usize,
    /// Names of the gate, up and down projections where each expert has its own tensors.
    pub names: [&'static str; 3],
    /// Of the experts' projections.
    pub bias: Bias,
    /// From gate and up to one.
    pub glu: Glu,
    /// What an expert's weight multiplies.
    pub weighed: Weighed,
    /// Name of what holds all experts' projections.
    pub stacked: &'static str,
    /// The part that every token takes; `None` = there is none.
    pub shared: Option<Shared>,
    /// What experts take instead of the residual stream; `None` = that.
    pub latent: Option<Latent>,
}

/// A smaller vector that experts work on.
#[derive(Clone, Copy, Debug)]
pub struct Latent {
    /// Its size.
    pub n: usize,
    /// Names of the projections to it and back.
    pub names: [&'static str; 2],
    /// Of both.
    pub bias: Bias,
}

/// What an expert's weight multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighed {
    /// What it made.
    Output,
    /// What it is given; a token takes one expert (Meta 2025).
    Input,
}

/// How an expert's gate and up projections become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Glu {
    /// `act(gate) * up`.
    Gated(Activation),
    /// `gate * sigmoid(alpha * gate) * (up + 1)` with both bounded by `limit` (OpenAI 2025).
    Clamped {
        /// Steepness.
        alpha: f32,
        /// Largest gate, and largest magnitude of up.
        limit: f32,
    },
    /// `act(up)`, without a gate.
    Ungated(Activation),
}

/// The part that every token takes.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Module name.
    pub name: &'static str,
    /// Inner size.
    pub n_inner: usize,
    /// Name of a projection to one number whose sigmoid weighs it; `None` = taken whole.
    pub gate: Option<&'static str>,
}

/// A router, its experts and what all tokens share.
pub struct Moe {
    router: Router,
    experts: Experts,
    weighed: Weighed,
    shared: Option<(GatedMlp, Option<Linear>)>,
    latent: Option<[Linear; 2]>,
}

impl Moe {
    /// Takes the part of the block at `at`.
    pub fn load(at: &At<'_, '_>, n_hidden: i32, layout: &MoeLayout) -> LoadResult<Self> {
        let at = at.at(layout.name);
        let shared = layout.shared.map(|shared| -> LoadResult<_> {
            let activation = layout.glu.activation();
            let sizes = [n_hidden, shared.n_inner as i32];
            let mlp = GatedMlp::load(&at.at(shared.name), sizes, MlpLayout { activation, ..MlpLayout::default() })?;
            let one = |name| Linear::load(&at, Shape { name, n_out: 1, n_in: n_hidden, bias: Bias::Absent });
            Ok((mlp, shared.gate.map(one).transpose()?))
        });
        let latent = layout.latent.map(|Latent { n, names: [inward, outward], bias }| -> LoadResult<_> {
            let inward = Linear::load(&at, Shape { name: inward, n_out: n as i32, n_in: n_hidden, bias })?;
            Ok([inward, Linear::load(&at, Shape { name: outward, n_out: n_hidden, n_in: n as i32, bias })?])
        });
        let n_taken = layout.latent.map_or(n_hidden, |latent| latent.n as i32);
        Ok(Self {
            router: Router::load(&at, [n_hidden, layout.n_experts as i32], layout.router)?,
            experts: Experts::load(&at, n_taken, layout)?,
            weighed: layout.weighed,
            shared: shared.transpose()?,
            latent: latent.transpose()?,
        })
    }

    /// `[T, hidden]` to `[T, hidden]`.
    pub fn forward(&self, x: &Array) -> Result<Array> {
        self.forward_by(x, x)
    }

    /// The same with experts picked by `by`, `[T, hidden]`.
    pub fn forward_by(&self, by: &Array, x: &Array) -> Result<Array> {
        let picked = self.router.pick(by)?;
        let y = match &self.latent {
            None => self.mixed(x, &picked)?,
            Some([inward, outward]) => outward.forward(&self.mixed(&inward.forward(x)?, &picked)?)?,
        };
        match &self.shared {
            None => Ok(y),
            Some((mlp, None)) => mx::add(&y, &mlp.forward(x)?),
            Some((mlp, Some(gate))) => mx::add(&y, &mx::multiply(&mx::sigmoid(&gate.forward(x)?)?, &mlp.forward(x)?)?),
        }
    }
}

impl Moe {
    /// What the picked experts make of `[T, n]`, weighed and added.
    fn mixed(&self, x: &Array, picked: &Picked) -> Result<Array> {
        let weights = mx::cast(&picked.weights, x.dtype())?;
        let y = match self.weighed {
            Weighed::Input => self.experts.forward(&mx::multiply(x, &weights)?, &picked.experts)?,
            Weighed::Output => {
                let y = self.experts.forward(x, &picked.experts)?; // [T, K, n]
                mx::sum(&mx::multiply(&y, &mx::expand_dims(&weights, -1)?)?, 1)?
            }
        };
        mx::reshape(&y, x.shape())
    }
}

impl Glu {
    fn activation(self) -> Activation {
        match self {
            Self::Gated(activation) | Self::Ungated(activation) => activation,
            Self::Clamped { .. } => Activation::Silu,
        }
    }

    /// Elementwise.
    fn apply(self, gate: &Array, up: &Array) -> Result<Array> {
        match self {
            Self::Gated(activation) => activation.times(gate, up),
            Self::Ungated(activation) => activation.apply(up),
            Self::Clamped { alpha, limit } => {
                let number = |value: f32| mx::cast(&mx::scalar(value), gate.dtype());
                let gate = mx::minimum(gate, &number(limit)?)?;
                let up = mx::maximum(&mx::minimum(up, &number(limit)?)?, &number(-limit)?)?;
                let glu = mx::gated(&gate, &mx::multiply(&gate, &number(alpha)?)?)?;
                mx::multiply(&glu, &mx::add(&up, &number(1.0)?)?)
            }
        }
    }
}
