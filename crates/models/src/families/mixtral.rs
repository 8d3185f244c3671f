//! Mixtral (Jiang et al. 2024): Mistral with experts in every layer.

use serde::Deserialize;

use super::Model;
use super::block::Recipe;
use super::decoder::{Dims, sanitize, windows};
use super::experts::{Experts, switch};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::moe::Scoring;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    tie_word_embeddings: Option<bool>,
    num_local_experts: usize,
    num_experts_per_tok: usize,
    sliding_window: Option<usize>,
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    let experts = Experts {
        n: config.num_local_experts,
        top_k: config.num_experts_per_tok,
        n_inner: config.dims.intermediate_size,
    };
    let mut moe = experts.layout(file, Scoring::SoftmaxOfPicked)?;
    moe.name = "block_sparse_moe";
    moe.names = ["w1", "w3", "w2"];
    sanitize(weights, config.tie_word_embeddings);
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let windows = windows(&config.dims, None, config.sliding_window, |_| true);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.moe = Some(moe);
    switch(&mut recipe.layers, |_| true);
    recipe.load(weights)
}
