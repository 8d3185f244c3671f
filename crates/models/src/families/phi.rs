//! Phi-1, 1.5 and 2 (Gunasekar et al. 2023, Microsoft 2023): layer norms, biases everywhere, attention and an ungated
//! feed-forward part side by side, part of each head rotated.

use serde::Deserialize;
use serde_json::json;

use super::Model;
use super::block::{Norms, Order, Recipe};
use super::decoder::{Dims, sanitize, windows};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::linear::Bias;
use crate::layers::mlp::{Activation, Inward};
use crate::layers::norm::NormKind;
use crate::weights::Weights;

/// Names of modules, and what the decoder calls them.
const NAMES: &[(&str, &str)] = &[
    (".mlp.fc1.", ".mlp.up_proj."),
    (".mlp.fc2.", ".mlp.down_proj."),
    (".self_attn.dense.", ".self_attn.o_proj."),
    ("model.final_layernorm.", "model.norm."),
];

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default = "default_activation")]
    hidden_act: Activation,
    #[serde(default)]
    qk_layernorm: bool,
    tie_word_embeddings: Option<bool>,
}

fn default_activation() -> Activation {
    Activation::GeluTanh
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let file = &file.with_defaults(&[("partial_rotary_factor", json!(0.5)), ("layer_norm_eps", json!(1e-5))]);
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    if config.qk_layernorm {
        return Err(
            file.error("layer norms on queries and keys (qk_layernorm) are not supported; no published Phi has them")
        );
    }
    sanitize(weights, config.tie_word_embeddings);
    weights.rename(|name| {
        let renamed = NAMES.iter().fold(name.to_owned(), |name, (theirs, ours)| name.replace(theirs, ours));
        Some(renamed)
    });
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.norms =
        Norms { kind: NormKind::Layer(Bias::Present), before_mlp: None, order: Order::Parallel, ..Norms::PRE };
    recipe.attention.qkv_bias = Bias::Present;
    recipe.attention.o_bias = Bias::Present;
    recipe.mlp.bias = Bias::Present;
    recipe.mlp.activation = config.hidden_act;
    recipe.mlp.inward = Inward::Ungated;
    recipe.load(weights)
}
