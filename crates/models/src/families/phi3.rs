//! Phi-3, 3.5 and Phi-4-mini (Abdin et al. 2024): joined projections, longrope, part of each head rotated.

use serde::Deserialize;

use super::Model;
use super::block::Recipe;
use super::decoder::{Dims, sanitize, windows};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::mlp::{Activation, Inward};
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    hidden_act: Activation,
    tie_word_embeddings: Option<bool>,
    sliding_window: Option<usize>,
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    sanitize(weights, config.tie_word_embeddings);
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let window = config.sliding_window.filter(|window| *window < config.dims.max_position_embeddings);
    let windows = windows(&config.dims, None, window, |_| true);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.attention.inward = Inward::Joined;
    recipe.mlp.activation = config.hidden_act;
    recipe.mlp.inward = Inward::Joined;
    recipe.load(weights)
}
