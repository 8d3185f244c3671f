//! OLMo 3 (OLMo Team 2025): OLMo 2 with a window in three of four layers, whose rotation is not stretched.

use serde::Deserialize;

use super::Model;
use super::block::{Norms, Recipe};
use super::decoder::{Dims, sanitize, windows};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::linear::Bias;
use crate::layers::mlp::Activation;
use crate::layers::rope::RopeConfig;
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
    layer_types: Option<Vec<String>>,
    sliding_window: usize,
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    sanitize(weights, config.tie_word_embeddings);
    let dims = &config.dims;
    let (kernels, scale) = (weights.root().kernels(), dims.attention(None).scale);
    let rope = dims.rope(file, kernels)?;
    let local = RopeConfig { rope_theta: dims.rope.theta(), ..RopeConfig::default() };
    let local = dims.rope_of(file, &local, kernels, scale)?;
    let is_sliding = |layer_idx: usize| !(layer_idx + 1).is_multiple_of(4);
    let windows = windows(dims, config.layer_types.as_deref(), Some(config.sliding_window), is_sliding);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.norms = Norms::POST;
    recipe.attention.qkv_bias = Bias::from(config.attention_bias);
    recipe.attention.o_bias = Bias::from(config.attention_bias);
    recipe.attention.qk_norm = Some(QkNorm::all_heads(recipe.dims.rms_norm_eps));
    recipe.mlp.activation = config.hidden_act;
    for layer in recipe.layers.iter_mut().filter(|layer| layer.window.is_some()) {
        layer.rope = local.clone();
    }
    recipe.load(weights)
}
