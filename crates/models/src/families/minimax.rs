//! MiniMax M2 and M2.5 (MiniMax 2025): sigmoid routing with a correction, norms over all heads, part of each rotated.

use serde::Deserialize;

use super::Model;
use super::block::Recipe;
use super::decoder::{Dims, sanitize, windows};
use super::experts::{Experts, switch};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::moe::Scoring;
use crate::layers::self_attention::QkNorm;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    tie_word_embeddings: Option<bool>,
    num_local_experts: usize,
    num_experts_per_tok: usize,
    rotary_dim: usize,
    #[serde(default = "default_qk_norm")]
    use_qk_norm: bool,
}

fn default_qk_norm() -> bool {
    true
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let mut config: Config = file.parse()?;
    config.dims.check(file)?;
    let experts = Experts {
        n: config.num_local_experts,
        top_k: config.num_experts_per_tok,
        n_inner: config.dims.intermediate_size,
    };
    let mut moe = experts.layout(file, Scoring::Sigmoid)?;
    moe.name = "block_sparse_moe";
    moe.names = ["w1", "w3", "w2"];
    moe.router.correction = Some("e_score_correction_bias");
    moe.router.is_normalised = true;
    sanitize(weights, config.tie_word_embeddings);
    config.dims.rope.partial_rotary_factor = Some(config.rotary_dim as f64 / config.dims.head_dim() as f64);
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.attention.qk_norm = config.use_qk_norm.then(|| QkNorm::all_heads(recipe.dims.rms_norm_eps));
    recipe.moe = Some(moe);
    switch(&mut recipe.layers, |_| true);
    recipe.load(weights)
}
