//! Gemma 2 (Gemma Team 2024): bounded scores and logits, norms around each part, a window in every other layer.

use serde::Deserialize;

use super::Model;
use super::block::{Norms, Recipe};
use super::decoder::{Dims, sanitize, windows};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::mlp::Activation;
use crate::layers::norm::{Centre, NormKind};
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default = "default_scalar")]
    query_pre_attn_scalar: f32,
    attn_logit_softcapping: Option<f32>,
    final_logit_softcapping: Option<f32>,
    sliding_window: Option<usize>,
    layer_types: Option<Vec<String>>,
    tie_word_embeddings: Option<bool>,
}

fn default_scalar() -> f32 {
    256.0
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    let caps = [config.attn_logit_softcapping, config.final_logit_softcapping];
    if config.query_pre_attn_scalar <= 0.0 || caps.iter().flatten().any(|cap| *cap <= 0.0) {
        return Err(file.error("query_pre_attn_scalar and the softcappings must be positive"));
    }
    sanitize(weights, config.tie_word_embeddings.or(Some(true)));
    let scale = config.query_pre_attn_scalar.powf(-0.5);
    let rope = config.dims.rope_of(file, &config.dims.rope, weights.root().kernels(), scale)?;
    let is_sliding = |layer_idx: usize| layer_idx.is_multiple_of(2);
    let windows = windows(&config.dims, config.layer_types.as_deref(), config.sliding_window, is_sliding);
    let embedding = (config.dims.hidden_size as f32).sqrt();
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.scale = scale;
    recipe.cap = config.attn_logit_softcapping;
    recipe.norms = Norms { kind: NormKind::Rms(Centre::One), ..Norms::BOTH };
    recipe.mlp.activation = Activation::GeluTanh;
    recipe.scaling.embedding = Some(embedding);
    recipe.scaling.logits_cap = config.final_logit_softcapping;
    recipe.load(weights)
}
