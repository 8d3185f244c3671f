//! Command R7B and Command A (Cohere 2024): layer norms, attention and feed-forward side by side, global layers that do not
//! rotate.

use serde::Deserialize;

use super::Model;
use super::block::{Norms, Order, Recipe};
use super::decoder::{Dims, sanitize, windows};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::linear::Bias;
use crate::layers::mlp::Activation;
use crate::layers::norm::NormKind;
use crate::mx::Pairs;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    layer_norm_bias: bool,
    #[serde(default)]
    hidden_act: Activation,
    #[serde(default = "default_logit_scale")]
    logit_scale: f32,
    sliding_window: usize,
    #[serde(default = "default_pattern")]
    sliding_window_pattern: usize,
    layer_types: Option<Vec<String>>,
}

fn default_logit_scale() -> f32 {
    0.0625
}

fn default_pattern() -> usize {
    4
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let mut config: Config = file.parse()?;
    config.dims.check(file)?;
    if !(config.logit_scale > 0.0 && config.logit_scale.is_finite()) {
        return Err(file.error(&format!("logit_scale is {}, but must be positive", config.logit_scale)));
    }
    sanitize(weights, Some(true));
    config.dims.rope.pairs = Pairs::Neighbours;
    let kernels = weights.root().kernels();
    let (rope, none) = (config.dims.rope(file, kernels)?, config.dims.no_rope(kernels));
    let pattern = config.sliding_window_pattern.max(1);
    let is_sliding = |layer_idx: usize| !(layer_idx + 1).is_multiple_of(pattern);
    let windows = windows(&config.dims, config.layer_types.as_deref(), Some(config.sliding_window), is_sliding);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    for layer in recipe.layers.iter_mut().filter(|layer| layer.window.is_none()) {
        layer.rope = none.clone();
    }
    let kind = NormKind::Layer(Bias::from(config.layer_norm_bias));
    recipe.norms = Norms { kind, before_mlp: None, order: Order::Parallel, ..Norms::PRE };
    recipe.attention.qkv_bias = Bias::from(config.attention_bias);
    recipe.attention.o_bias = Bias::from(config.attention_bias);
    recipe.mlp.activation = config.hidden_act;
    recipe.scaling.logits = Some(1.0 / config.logit_scale);
    recipe.load(weights)
}
