//! SmolLM3 (Hugging Face 2025): Llama with some layers that do not rotate.

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
    #[serde(default = "default_interval")]
    no_rope_layer_interval: usize,
    /// 0 where a layer does not rotate.
    no_rope_layers: Option<Vec<u8>>,
}

fn default_interval() -> usize {
    4
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    let n_layers = config.dims.num_hidden_layers;
    let rotates = match &config.no_rope_layers {
        Some(rotates) if rotates.len() == n_layers => rotates.iter().map(|rotates| *rotates != 0).collect(),
        Some(rotates) => {
            let n = rotates.len();
            return Err(file.error(&format!("no_rope_layers has {n} entries, but there are {n_layers} layers")));
        }
        None => every(config.no_rope_layer_interval, n_layers),
    };
    sanitize(weights, config.tie_word_embeddings.or(Some(true)));
    let kernels = weights.root().kernels();
    let (rope, none) = (config.dims.rope(file, kernels)?, config.dims.no_rope(kernels));
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    for (layer, rotates) in recipe.layers.iter_mut().zip(rotates) {
        layer.rope = if rotates { rope.clone() } else { none.clone() };
    }
    recipe.attention.qkv_bias = Bias::from(config.attention_bias);
    recipe.attention.o_bias = Bias::from(config.attention_bias);
    recipe.mlp.bias = Bias::from(config.mlp_bias);
    recipe.mlp.activation = config.hidden_act;
    recipe.load(weights)
}

/// All but each `interval`-th of `n` layers rotate.
fn every(interval: usize, n: usize) -> Vec<bool> {
    (1..=n).map(|layer| interval == 0 || !layer.is_multiple_of(interval)).collect()
}
