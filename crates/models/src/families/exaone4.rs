//! EXAONE 4 (LG AI Research 2025): norms after each part and on each head; global layers do not rotate where others have a
//! window.

use serde::Deserialize;

use super::Model;
use super::block::{Norms, Recipe};
use super::decoder::{Dims, sanitize, windows};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::mlp::Activation;
use crate::layers::self_attention::QkNorm;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    hidden_act: Activation,
    tie_word_embeddings: Option<bool>,
    sliding_window: Option<usize>,
    /// Such as `LLLG`, repeated over the layers.
    sliding_window_pattern: Option<String>,
    layer_types: Option<Vec<String>>,
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    sanitize(weights, config.tie_word_embeddings);
    let dims = &config.dims;
    let kernels = weights.root().kernels();
    let (rope, none) = (dims.rope(file, kernels)?, dims.no_rope(kernels));
    let pattern = config.sliding_window_pattern.as_deref().unwrap_or_default().as_bytes();
    let is_sliding = |layer_idx: usize| !pattern.is_empty() && pattern[layer_idx % pattern.len()] == b'L';
    let windows = windows(dims, config.layer_types.as_deref(), config.sliding_window, is_sliding);
    let has_windows = windows.iter().any(Option::is_some);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    for layer in recipe.layers.iter_mut().filter(|layer| has_windows && layer.window.is_none()) {
        layer.rope = none.clone();
    }
    recipe.norms = Norms::POST;
    recipe.attention.qk_norm = Some(QkNorm::per_head(recipe.dims.rms_norm_eps));
    recipe.mlp.activation = config.hidden_act;
    recipe.load(weights)
}
