//! Qwen 2 and 2.5 (Yang et al. 2024): biases on queries, keys and values.

use serde::Deserialize;

use super::Model;
use super::block::Recipe;
use super::decoder::{Dims, sanitize, windows};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::linear::Bias;
use crate::layers::mlp::Activation;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    hidden_act: Activation,
    tie_word_embeddings: Option<bool>,
    #[serde(default)]
    use_sliding_window: bool,
    sliding_window: Option<usize>,
    max_window_layers: Option<usize>,
    layer_types: Option<Vec<String>>,
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    sanitize(weights, config.tie_word_embeddings);
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let window = config.sliding_window.filter(|_| config.use_sliding_window);
    let is_sliding = |layer_idx| layer_idx >= config.max_window_layers.unwrap_or(0);
    let windows = windows(&config.dims, config.layer_types.as_deref(), window, is_sliding);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.attention.qkv_bias = Bias::Present;
    recipe.mlp.activation = config.hidden_act;
    recipe.load(weights)
}
