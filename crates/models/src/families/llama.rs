//! Llama 2 and 3 (Touvron et al. 2023, Grattafiori et al. 2024), and what shares their network: Mistral, SmolLM2, Hermes.

use serde::Deserialize;

use super::Model;
use super::block::Recipe;
use super::decoder::{Dims, sanitize, windows};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::linear::Bias;
use crate::layers::mlp::Activation;
use crate::mx::Pairs;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    model_type: String,
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    hidden_act: Activation,
    #[serde(default)]
    rope_traditional: bool,
    tie_word_embeddings: Option<bool>,
    layer_types: Option<Vec<String>>,
    sliding_window: Option<usize>,
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let mut config: Config = file.parse()?;
    config.dims.check(file)?;
    if config.rope_traditional {
        config.dims.rope.pairs = Pairs::Neighbours;
    }
    sanitize(weights, config.tie_word_embeddings);
    let rope = config.dims.rope(file, weights.root().kernels())?;
    // Mistral has its window in every layer; Llama says which layers have one.
    let is_sliding = |_| config.model_type == "mistral";
    let windows = windows(&config.dims, config.layer_types.as_deref(), config.sliding_window, is_sliding);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.attention.qkv_bias = Bias::from(config.attention_bias);
    recipe.attention.o_bias = Bias::from(config.attention_bias);
    recipe.mlp.bias = Bias::from(config.mlp_bias);
    recipe.mlp.activation = config.hidden_act;
    recipe.load(weights)
}
