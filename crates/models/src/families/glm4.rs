//! GLM-4-0414 (Zhipu AI 2025): norms around each part, half of each head rotated in neighbouring pairs.

use serde::Deserialize;

use super::Model;
use super::block::{Norms, Order, Recipe};
use super::decoder::{Dims, sanitize, windows};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::linear::Bias;
use crate::layers::mlp::{Activation, Inward};
use crate::layers::norm::{Centre, NormKind};
use crate::mx::Pairs;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    hidden_act: Activation,
    #[serde(default = "default_traditional")]
    rope_traditional: bool,
    tie_word_embeddings: Option<bool>,
}

fn default_traditional() -> bool {
    true
}

const NORMS: Norms = Norms {
    kind: NormKind::Rms(Centre::Zero),
    before_attention: Some("input_layernorm"),
    after_attention: Some("post_self_attn_layernorm"),
    before_mlp: Some("post_attention_layernorm"),
    after_mlp: Some("post_mlp_layernorm"),
    order: Order::Sequential,
};

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let mut config: Config = file.parse()?;
    config.dims.check(file)?;
    if config.rope_traditional {
        config.dims.rope.pairs = Pairs::Neighbours;
    }
    sanitize(weights, config.tie_word_embeddings);
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.norms = NORMS;
    recipe.attention.qkv_bias = Bias::from(config.attention_bias);
    recipe.mlp.activation = config.hidden_act;
    recipe.mlp.inward = Inward::Joined;
    recipe.load(weights)
}
