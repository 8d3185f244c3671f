//! Which experts a token takes, and how much of each.

use crate::LoadResult;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::mx::{self, Array, Cut, Dtype, Result};
use crate::weights::At;

/// How experts are picked and weighed.
#[derive(Clone, Copy, Debug)]
pub struct RouterLayout {
    /// Name of the projection to one logit an expert.
    pub name: &'static str,
    /// Whether that projection has a bias.
    pub bias: Bias,
    /// From logits to weights.
    pub scoring: Scoring,
    /// Name of a tensor of one number an expert that is added to the scores for picking only (Wang et al. 2024).
    pub correction: Option<&'static str>,
    /// Name of a tensor of one factor an expert, which the weights of those picked are multiplied by.
    pub scales: Option<&'static str>,
    /// Experts a token takes.
    pub top_k: usize,
    /// Experts in groups, of which a few are picked first; `None` = all are one group.
    pub groups: Option<Groups>,
    /// Whether the weights of a token's experts are made to sum to 1.
    pub is_normalised: bool,
    /// Multiplies the weights.
    pub factor: f32,
}

/// From logits to weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scoring {
    /// Softmax over all experts.
    Softmax,
    /// Softmax over the picked ones.
    SoftmaxOfPicked,
    /// Each by itself.
    Sigmoid,
    /// Each by itself: `sqrt(log(1 + e^x))` (DeepSeek-AI 2026).
    RootOfSoftplus,
}

/// Group-limited picking (DeepSeek-AI 2024): a group counts as much as its best, or its two best, experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// How many.
    pub n: usize,
    /// How many are picked.
    pub top: usize,
    /// Experts that stand for their group.
    pub n_best: usize,
}

/// The experts of each token.
pub struct Picked {
    /// `[T, K]`, `u32`.
    pub experts: Array,
    /// `[T, K]`, f32.
    pub weights: Array,
}

/// See the module.
pub struct Router {
    gate: Linear,
    correction: Option<Array>,
    scales: Option<Array>,
    layout: RouterLayout,
}

impl Router {
    /// Takes the projection, and the correction where there is one; `sizes` are the hidden size and the experts.
    pub fn load(at: &At<'_, '_>, sizes: [i32; 2], layout: RouterLayout) -> LoadResult<Self> {
        let [n_in, n_out] = sizes;
        let gate = Linear::load(at, Shape { name: layout.name, n_out, n_in, bias: layout.bias })?;
        let correction = layout.correction.map(|name| at.vector(name, n_out)).transpose()?;
        let scales = layout.scales.map(|name| at.vector(name, n_out)).transpose()?;
        Ok(Self { gate, correction, scales, layout })
    }

    /// For `[T, hidden]`.
    pub fn pick(&self, x: &Array) -> Result<Picked> {
        let layout = &self.layout;
        let scores = self.scores(x)?;
        let mut ranks = match &self.correction {
            Some(correction) => mx::add(&scores, &mx::cast(correction, Dtype::Float32)?)?,
            None => scores.clone(),
        };
        if let Some(groups) = layout.groups.filter(|groups| groups.top < groups.n) {
            ranks = groups.limit(&ranks)?;
        }
        self.weighed(&scores, top(&ranks, layout.top_k)?)
    }

    /// For `[T, hidden]`, experts `[T, K]` that something else picked.
    pub fn weigh(&self, x: &Array, experts: &Array) -> Result<Picked> {
        self.weighed(&self.scores(x)?, experts.clone())
    }

    /// `[T, E]`.
    fn scores(&self, x: &Array) -> Result<Array> {
        let logits = mx::cast(&self.gate.forward(x)?, Dtype::Float32)?;
        match self.layout.scoring {
            Scoring::Softmax => mx::softmax(&logits, -1),
            Scoring::SoftmaxOfPicked => Ok(logits),
            Scoring::Sigmoid => mx::sigmoid(&logits),
            Scoring::RootOfSoftplus => mx::sqrt(&mx::logaddexp(&logits, &mx::scalar(0.0))?),
        }
    }

    fn weighed(&self, scores: &Array, experts: Array) -> Result<Picked> {
        let layout = &self.layout;
        let mut weights = mx::take_along(scores, &experts, -1)?;
        if layout.scoring == Scoring::SoftmaxOfPicked {
            weights = mx::softmax(&weights, -1)?;
        }
        if layout.is_normalised {
            weights = mx::divide(&weights, &mx::add(&mx::sum(&weights, -1)?, &mx::scalar(1e-20))?)?;
        }
        if layout.factor != 1.0 {
            weights = mx::multiply(&weights, &mx::scalar(layout.factor))?;
        }
        if let Some(scales) = &self.scales {
            weights = mx::multiply(&weights, &mx::cast(&mx::take(scales, &experts, 0)?, Dtype::Float32)?)?;
        }
        Ok(Picked { experts, weights })
    }
}

impl Groups {
    /// `[T, E]` ranks, those of groups that were not picked made the lowest.
    fn limit(self, ranks: &Array) -> Result<Array> {
        let (t, e, n) = (ranks.dim(0), ranks.dim(1), self.n as i32);
        let grouped = mx::reshape(ranks, &[t, n, e / n])?;
        let best = match self.n_best {
            1 => mx::max(&grouped, -1)?,
            n_best => {
                let sorted = mx::sort(&grouped, -1)?;
                let size = e / n;
                mx::sum(&mx::slice(&sorted, &[Cut { axis: 2, start: size - n_best as i32, stop: size }])?, -1)?
            }
        };
        let best = mx::reshape(&best, &[t, n])?;
        let sorted = mx::sort(&best, -1)?;
        let at = n - self.top as i32;
        let least = mx::slice(&sorted, &[Cut { axis: 1, start: at, stop: at + 1 }])?;
        let is_picked = mx::expand_dims(&mx::greater_equal(&best, &least)?, -1)?;
        mx::reshape(&mx::select(&is_picked, &grouped, &mx::scalar(f32::NEG_INFINITY))?, &[t, e])
    }
}

/// Indexes of the `k` largest of each row.
fn top(ranks: &Array, k: usize) -> Result<Array> {
    let (e, k) = (ranks.dim(1), k as i32);
    let order = mx::argpartition(ranks, e - k)?;
    mx::slice(&order, &[Cut { axis: 1, start: e - k, stop: e }])
}
