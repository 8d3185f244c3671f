//! What the families with experts share: bounds on config.json, and which layers have them.

use super::block::{Layer, MlpKind};
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::linear::Bias;
use crate::layers::mlp::Activation;
use crate::layers::moe::{Glu, Groups, MoeLayout, RouterLayout, Scoring};

/// Sizes of a layer's experts.
pub struct Experts {
    /// How many there are.
    pub n: usize,
    /// How many a token takes.
    pub top_k: usize,
    /// Inner size of each.
    pub n_inner: usize,
}

impl Experts {
    /// Checks every number and gives the layout that a family changes some of.
    pub fn layout(&self, file: &ConfigFile, scoring: Scoring) -> LoadResult<MoeLayout> {
        let Self { n, top_k, n_inner } = *self;
        file.check(&[
            Limit::positive("the number of experts", n, 1 << 14),
            Limit::positive("num_experts_per_tok", top_k, n),
            Limit::positive("the experts' intermediate size", n_inner, 1 << 20),
        ])?;
        let router = RouterLayout {
            name: "gate",
            bias: Bias::Absent,
            scoring,
            correction: None,
            top_k,
            groups: None,
            is_normalised: false,
            factor: 1.0,
        };
        Ok(MoeLayout {
            name: "mlp",
            router,
            n_experts: n,
            n_inner,
            names: ["gate_proj", "up_proj", "down_proj"],
            bias: Bias::Absent,
            glu: Glu::Gated(Activation::Silu),
            stacked: "switch_mlp",
            shared: None,
            latent: None,
        })
    }
}

/// Groups of `n_experts`, from their number, how many are picked and how many experts stand for one.
pub fn groups(file: &ConfigFile, n_experts: usize, sizes: [usize; 3]) -> LoadResult<Option<Groups>> {
    let [n, top, n_best] = sizes;
    if n <= 1 {
        return Ok(None);
    }
    file.check(&[Limit::positive("n_group", n, n_experts), Limit::positive("topk_group", top, n)])?;
    if !n_experts.is_multiple_of(n) || n_experts / n < n_best {
        return Err(file.error(&format!("{n_experts} experts do not make {n} groups of at least {n_best}")));
    }
    Ok(Some(Groups { n, top, n_best }))
}

/// Gives experts to the layers that `is_sparse` says.
pub fn switch(layers: &mut [Layer], is_sparse: impl Fn(usize) -> bool) {
    for (layer_idx, layer) in layers.iter_mut().enumerate() {
        layer.mlp = if is_sparse(layer_idx) { MlpKind::Sparse } else { MlpKind::Dense };
    }
}
