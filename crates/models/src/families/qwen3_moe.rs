//! Qwen 3 with experts (Yang et al. 2025): Qwen3-30B-A3B, 235B-A22B, Qwen3-Coder.

use serde::Deserialize;

use super::Model;
use super::block::Recipe;
use super::decoder::{Dims, sanitize, windows};
use super::experts::{Experts, Fused, switch, unfuse};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::linear::Bias;
use crate::layers::mlp::Activation;
use crate::layers::moe::Scoring;
use crate::layers::self_attention::QkNorm;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    hidden_act: Activation,
    tie_word_embeddings: Option<bool>,
    num_experts: usize,
    num_experts_per_tok: usize,
    moe_intermediate_size: usize,
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
    let experts =
        Experts { n: config.num_experts, top_k: config.num_experts_per_tok, n_inner: config.moe_intermediate_size };
    let mut moe = experts.layout(file, Scoring::Softmax)?;
    moe.router.is_normalised = config.norm_topk_prob;
    sanitize(weights, config.tie_word_embeddings);
    // As Qwen3-VL is published.
    unfuse(weights, "switch_mlp", Fused::InOut)?;
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let windows = windows(&config.dims, None, None, |_| false);
    let bias = Bias::from(config.attention_bias);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.attention.qkv_bias = bias;
    recipe.attention.o_bias = bias;
    recipe.attention.qk_norm = Some(QkNorm::per_head(recipe.dims.rms_norm_eps));
    recipe.mlp.activation = config.hidden_act;
    recipe.moe = Some(moe);
    let (step, dense) = (config.decoder_sparse_step.max(1), config.mlp_only_layers);
    switch(&mut recipe.layers, |layer_idx| !dense.contains(&layer_idx) && (layer_idx + 1).is_multiple_of(step));
    recipe.load(weights)
}
