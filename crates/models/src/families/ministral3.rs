//! Ministral 3 and Devstral Small 2 (Mistral AI 2025): Llama with yarn and queries that grow with their position.

use serde::Deserialize;

use super::Model;
use super::block::Recipe;
use super::decoder::{Dims, sanitize, windows};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::self_attention::Growth;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    tie_word_embeddings: Option<bool>,
    layer_types: Option<Vec<String>>,
    sliding_window: Option<usize>,
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    sanitize(weights, config.tie_word_embeddings);
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let windows = windows(&config.dims, config.layer_types.as_deref(), config.sliding_window, |_| false);
    let number = |name: &str| config.dims.rope.rope_parameters.as_ref()?.get(name)?.as_f64();
    let beta = number("llama_4_scaling_beta").unwrap_or(0.0) as f32;
    let n_original = number("original_max_position_embeddings").unwrap_or(0.0) as usize;
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.attention.growth = (beta != 0.0 && n_original > 0).then_some(Growth { beta, n_original, first: 0 });
    recipe.load(weights)
}
