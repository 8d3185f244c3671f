//! Seed-OSS (ByteDance Seed 2025): a pre-norm decoder whose biases are configured one by one.

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
    attention_bias: bool,
    #[serde(default)]
    attention_out_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    hidden_act: Activation,
    tie_word_embeddings: Option<bool>,
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    sanitize(weights, config.tie_word_embeddings);
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.attention.qkv_bias = Bias::from(config.attention_bias);
    recipe.attention.o_bias = Bias::from(config.attention_out_bias);
    recipe.mlp.bias = Bias::from(config.mlp_bias);
    recipe.mlp.activation = config.hidden_act;
    recipe.load(weights)
}
