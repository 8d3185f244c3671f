//! Qwen 1.5 and 2 with experts (Yang et al. 2024): one more expert, gated, that every token takes.

use serde::Deserialize;

use super::Model;
use super::block::Recipe;
use super::decoder::{Dims, sanitize, windows};
use super::experts::{Experts, switch};
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::linear::Bias;
use crate::layers::mlp::Activation;
use crate::layers::moe::{Scoring, Shared};
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    hidden_act: Activation,
    tie_word_embeddings: Option<bool>,
    num_experts: usize,
    num_experts_per_tok: usize,
    moe_intermediate_size: usize,
    shared_expert_intermediate_size: usize,
    #[serde(default)]
    norm_topk_prob: bool,
    #[serde(default = "default_step")]
    decoder_sparse_step: usize,
    #[serde(default)]
    mlp_only_layers: Vec<usize>,
}

fn default_step() -> usize {
    1
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    let n_inner = config.shared_expert_intermediate_size;
    file.check(&[Limit::positive("shared_expert_intermediate_size", n_inner, 1 << 20)])?;
    let experts =
        Experts { n: config.num_experts, top_k: config.num_experts_per_tok, n_inner: config.moe_intermediate_size };
    let mut moe = experts.layout(file, Scoring::Softmax)?;
    moe.router.is_normalised = config.norm_topk_prob;
    moe.shared = Some(Shared { name: "shared_expert", n_inner, gate: Some("shared_expert_gate") });
    sanitize(weights, config.tie_word_embeddings);
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.attention.qkv_bias = Bias::Present;
    recipe.mlp.activation = config.hidden_act;
    recipe.moe = Some(moe);
    let (step, dense) = (config.decoder_sparse_step.max(1), config.mlp_only_layers);
    switch(&mut recipe.layers, |layer_idx| !dense.contains(&layer_idx) && (layer_idx + 1).is_multiple_of(step));
    recipe.load(weights)
}
