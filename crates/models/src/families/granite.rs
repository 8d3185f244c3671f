//! Granite 3 and 4 dense (IBM 2024): Llama with factors on embedding, attention, residual stream and logits.

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
    mlp_bias: bool,
    #[serde(default)]
    hidden_act: Activation,
    tie_word_embeddings: Option<bool>,
    logits_scaling: f32,
    attention_multiplier: f32,
    embedding_multiplier: f32,
    residual_multiplier: f32,
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    let scale = config.attention_multiplier;
    if !(scale > 0.0 && scale.is_finite() && config.logits_scaling > 0.0) {
        return Err(file.error("attention_multiplier and logits_scaling must be positive"));
    }
    sanitize(weights, config.tie_word_embeddings.or(Some(true)));
    let rope = config.dims.rope_of(file, &config.dims.rope, weights.root().kernels(), scale)?;
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.scale = scale;
    recipe.attention.qkv_bias = Bias::from(config.attention_bias);
    recipe.attention.o_bias = Bias::from(config.attention_bias);
    recipe.mlp.bias = Bias::from(config.mlp_bias);
    recipe.mlp.activation = config.hidden_act;
    recipe.scaling.embedding = Some(config.embedding_multiplier);
    recipe.scaling.residual = Some(config.residual_multiplier);
    recipe.scaling.logits = Some(config.logits_scaling);
    recipe.load(weights)
}
