//! GLM-4.5, 4.5-Air, 4.6 and 4.7 (Zhipu AI 2025): sigmoid routing in groups, some dense layers first.

use serde::Deserialize;

use super::block::Recipe;
use super::decoder::{Dims, sanitize, windows};
use super::experts::{Experts, groups, switch};
use super::{Model, next_layer};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::linear::Bias;
use crate::layers::moe::{Scoring, Shared};
use crate::layers::self_attention::QkNorm;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    attention_bias: bool,
    tie_word_embeddings: Option<bool>,
    n_routed_experts: usize,
    num_experts_per_tok: usize,
    moe_intermediate_size: usize,
    n_shared_experts: usize,
    n_group: usize,
    topk_group: usize,
    #[serde(default)]
    norm_topk_prob: bool,
    routed_scaling_factor: f32,
    first_k_dense_replace: usize,
    #[serde(default)]
    use_qk_norm: bool,
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    let (n, n_inner) = (config.n_routed_experts, config.moe_intermediate_size);
    let mut moe = Experts { n, top_k: config.num_experts_per_tok, n_inner }.layout(file, Scoring::Sigmoid)?;
    moe.router.correction = Some("gate.e_score_correction_bias");
    moe.router.groups = groups(file, n, [config.n_group, config.topk_group, 2])?;
    moe.router.is_normalised = config.norm_topk_prob;
    moe.router.factor = config.routed_scaling_factor;
    let n_shared = config.n_shared_experts.min(64);
    moe.shared = (n_shared > 0).then(|| Shared { name: "shared_experts", n_inner: n_inner * n_shared, gate: None });
    sanitize(weights, config.tie_word_embeddings);
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let head = next_layer::head(weights, config.dims.num_hidden_layers, &rope);
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.attention.qkv_bias = Bias::from(config.attention_bias);
    recipe.attention.qk_norm = config.use_qk_norm.then(|| QkNorm::per_head(recipe.dims.rms_norm_eps));
    recipe.moe = Some(moe);
    recipe.head = head;
    switch(&mut recipe.layers, |layer_idx| layer_idx >= config.first_k_dense_replace);
    recipe.load(weights)
}
