//! ERNIE 4.5 with experts (Baidu 2025): routing corrected for picking, dense layers before and between.

use serde::Deserialize;

use super::Model;
use super::block::Recipe;
use super::decoder::{Dims, sanitize, windows};
use super::experts::{Experts, switch};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::linear::Bias;
use crate::layers::moe::{Scoring, Shared};
use crate::mx::Pairs;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    use_bias: bool,
    tie_word_embeddings: Option<bool>,
    moe_num_experts: usize,
    moe_k: usize,
    moe_intermediate_size: usize,
    #[serde(default)]
    moe_num_shared_experts: usize,
    #[serde(default)]
    moe_layer_start_index: usize,
    moe_layer_end_index: Option<usize>,
    #[serde(default = "default_interval")]
    moe_layer_interval: usize,
}

fn default_interval() -> usize {
    1
}

const CORRECTION: &str = "e_score_correction_bias";

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let mut config: Config = file.parse()?;
    config.dims.check(file)?;
    let (n, n_inner) = (config.moe_num_experts, config.moe_intermediate_size);
    let mut moe = Experts { n, top_k: config.moe_k, n_inner }.layout(file, Scoring::Softmax)?;
    moe.router.is_normalised = true;
    moe.bias = Bias::from(config.use_bias);
    let n_shared = config.moe_num_shared_experts.min(64);
    moe.shared = (n_shared > 0).then(|| Shared { name: "shared_experts", n_inner: n_inner * n_shared, gate: None });
    sanitize(weights, config.tie_word_embeddings);
    let mut has_correction = false;
    weights.rename(|name| {
        (!name.contains(".mtp_")).then(|| name.replace("moe_statics.e_score_correction_bias", CORRECTION))
    });
    for layer_idx in 0..config.dims.num_hidden_layers {
        has_correction |= weights.contains(&format!("model.layers.{layer_idx}.mlp.{CORRECTION}"));
    }
    moe.router.correction = has_correction.then_some(CORRECTION);
    config.dims.rope.pairs = Pairs::Neighbours;
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.attention.qkv_bias = Bias::from(config.use_bias);
    recipe.attention.o_bias = Bias::from(config.use_bias);
    recipe.mlp.bias = Bias::from(config.use_bias);
    recipe.moe = Some(moe);
    let last = config.moe_layer_end_index.unwrap_or(usize::MAX);
    let (range, interval) = (config.moe_layer_start_index..=last, config.moe_layer_interval.max(1));
    switch(&mut recipe.layers, |idx| range.contains(&idx) && (idx + 1).is_multiple_of(interval));
    recipe.load(weights)
}
