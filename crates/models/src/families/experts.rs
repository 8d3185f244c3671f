//! What the families with experts share: bounds on config.json, and which layers have them.

use super::block::{Layer, MlpKind};
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::linear::Bias;
use crate::layers::mlp::Activation;
use crate::layers::moe::{Glu, Groups, MoeLayout, RouterLayout, Scoring, Weighed};
use crate::mx::{self, Cut};
use crate::weights::Weights;

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
            scales: None,
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
            weighed: Weighed::Output,
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

/// What the name of a projection's factors ends with, where it is one tensor for all experts.
pub const FACTORS: &str = "_scale_inv";

/// How a checkpoint keeps the projections of all experts in one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fused {
    /// `[E, out, in]`.
    OutIn,
    /// `[E, in, out]`.
    InOut,
}

/// Takes `experts.gate_up_proj`, gates before ups, and `experts.down_proj` apart into what MLX conversions keep below
/// `stacked`.
pub fn unfuse(weights: &Weights<'_>, stacked: &str, fused: Fused) -> LoadResult<()> {
    weights.remake(|name, array| {
        let Some((at, projection)) = name.rsplit_once(".experts.").filter(|_| array.ndim() == 3) else {
            return Ok(None);
        };
        // Factors of 8-bit floats lie beside them.
        let (projection, leaf) = match projection.strip_suffix(FACTORS) {
            Some(projection) => (projection, "weight_scale_inv"),
            None => (projection, "weight"),
        };
        let axis = if fused == Fused::OutIn { 1 } else { 2 };
        let n = array.dim(axis as i32);
        let part = |start, stop| mx::slice(array, &[Cut { axis, start, stop }]);
        let parts = match projection {
            "down_proj" => vec![("down_proj", array.clone())],
            // One factor an expert.
            "gate_up_proj" if n == 1 => vec![("gate_proj", array.clone()), ("up_proj", array.clone())],
            "gate_up_proj" => vec![("gate_proj", part(0, n / 2)?), ("up_proj", part(n / 2, n)?)],
            _ => return Ok(None),
        };
        let named = parts.into_iter().map(|(projection, array)| {
            let array = if fused == Fused::InOut { mx::transpose_axes(&array, &[0, 2, 1])? } else { array };
            Ok((format!("{at}.{stacked}.{projection}.{leaf}"), mx::contiguous(&array)?))
        });
        named.collect::<mx::Result<_>>().map(Some)
    })
}

/// Gives experts to the layers that `is_sparse` says.
pub fn switch(layers: &mut [Layer], is_sparse: impl Fn(usize) -> bool) {
    for (layer_idx, layer) in layers.iter_mut().enumerate() {
        layer.mlp = if is_sparse(layer_idx) { MlpKind::Sparse } else { MlpKind::Dense };
    }
}
