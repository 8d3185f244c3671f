//! ERNIE 4.5 dense (Baidu 2025): Llama rotated in neighbouring pairs.

use serde::Deserialize;

use super::Model;
use super::block::Recipe;
use super::decoder::{Dims, sanitize, windows};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::linear::Bias;
use crate::mx::Pairs;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    use_bias: bool,
    tie_word_embeddings: Option<bool>,
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let mut config: Config = file.parse()?;
    config.dims.check(file)?;
    sanitize(weights, config.tie_word_embeddings);
    config.dims.rope.pairs = Pairs::Neighbours;
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.attention.qkv_bias = Bias::from(config.use_bias);
    recipe.attention.o_bias = Bias::from(config.use_bias);
    recipe.mlp.bias = Bias::from(config.use_bias);
    recipe.load(weights)
}
