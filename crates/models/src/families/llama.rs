//! Llama 2 and 3 (Touvron et al. 2023, Grattafiori et al. 2024), and what shares their network: Mistral, SmolLM2, Hermes.

use serde::Deserialize;

use super::Model;
use super::decoder::{Dims, sanitize, windows};
use super::pre_norm::PreNorm;
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::linear::Bias;
use crate::layers::mlp::Activation;
use crate::layers::self_attention::Layout;
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
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    if config.rope_traditional {
        return Err(file.error("rope_traditional is not supported; use a checkpoint with half-split rotary weights"));
    }
    sanitize(weights, config.tie_word_embeddings);
    let rope = config.dims.rope(file, weights.root().kernels())?;
    // Mistral has its window in every layer; Llama says which layers have one.
    let is_sliding = |_| config.model_type == "mistral";
    let bias = Bias::from(config.attention_bias);
    let family = PreNorm {
        windows: windows(&config.dims, config.layer_types.as_deref(), config.sliding_window, is_sliding),
        layout: Layout { n_hidden: config.dims.hidden_size as i32, qkv_bias: bias, o_bias: bias, qk_norm: None },
        dims: config.dims,
        mlp_bias: Bias::from(config.mlp_bias),
        hidden_act: config.hidden_act,
    };
    family.load(weights, &rope)
}
