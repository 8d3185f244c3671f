//! Gemma 3, text only (Gemma Team 2025): norms before and after each part, five local layers to a global one, each kind with
//! its own rotation.

use half::bf16;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Model;
use super::block::{Norms, Recipe};
use super::decoder::{Dims, sanitize, windows};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::attention::AttentionShape;
use crate::layers::mlp::Activation;
use crate::layers::norm::{Centre, NormKind};
use crate::layers::rope::{Rope, RopeConfig};
use crate::layers::self_attention::QkNorm;
use crate::weights::{Kernels, Weights};

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default = "default_scalar")]
    query_pre_attn_scalar: f32,
    #[serde(default = "default_window")]
    sliding_window: usize,
    #[serde(default = "default_pattern")]
    sliding_window_pattern: usize,
    layer_types: Option<Vec<String>>,
    rope_local_base_freq: Option<f64>,
    #[serde(default = "default_activation")]
    hidden_activation: Activation,
    tie_word_embeddings: Option<bool>,
}

fn default_scalar() -> f32 {
    256.0
}

fn default_window() -> usize {
    512
}

fn default_pattern() -> usize {
    6
}

fn default_activation() -> Activation {
    Activation::GeluTanh
}

impl Config {
    fn attention(&self, window: Option<usize>) -> AttentionShape {
        AttentionShape { scale: self.query_pre_attn_scalar.powf(-0.5), ..self.dims.attention(window) }
    }
}

/// The rotation of global layers, and that of local ones, whose base is `local_base` where nothing else says; both carry the
/// attention `scale` on the plain path.
pub(super) fn ropes(
    file: &ConfigFile,
    dims: &Dims,
    local_base: Option<f64>,
    kernels: Kernels,
    scale: f32,
) -> LoadResult<[Rope; 2]> {
    let all = &dims.rope;
    // transformers 5 gives each kind of layer its own object.
    let nested = |kind: &str| all.rope_parameters.as_ref().and_then(|parameters| parameters.get(kind)).cloned();
    let global = RopeConfig {
        rope_theta: all.rope_theta.or(Some(1_000_000.0)),
        rope_parameters: nested("full_attention").or_else(|| all.rope_parameters.clone()),
        ..all.clone()
    };
    let local = RopeConfig {
        rope_theta: local_base.or(Some(10_000.0)),
        rope_scaling: None,
        rope_parameters: nested("sliding_attention").filter(Value::is_object),
        ..all.clone()
    };
    Ok([dims.rope_of(file, &global, kernels, scale)?, dims.rope_of(file, &local, kernels, scale)?])
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let file = &file.with_defaults(&[
        ("num_attention_heads", json!(8)),
        ("num_key_value_heads", json!(4)),
        ("head_dim", json!(256)),
        ("rms_norm_eps", json!(1e-6)),
        ("vocab_size", json!(262_208)),
        ("max_position_embeddings", json!(131_072)),
    ]);
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    if config.query_pre_attn_scalar <= 0.0 || config.sliding_window_pattern == 0 {
        return Err(file.error("query_pre_attn_scalar and sliding_window_pattern must be positive"));
    }
    // Checkpoints are tied unless they carry a projection; none says so in its configuration.
    sanitize(weights, config.tie_word_embeddings.filter(|_| !weights.contains("lm_head.weight")));
    let scale = config.attention(None).scale;
    let [global, local] = ropes(file, &config.dims, config.rope_local_base_freq, weights.root().kernels(), scale)?;
    let is_sliding = |layer_idx: usize| !(layer_idx + 1).is_multiple_of(config.sliding_window_pattern);
    let windows = windows(&config.dims, config.layer_types.as_deref(), Some(config.sliding_window), is_sliding);
    // The embedding's factor is rounded to bfloat16, which the checkpoints were trained with.
    let embedding = bf16::from_f32((config.dims.hidden_size as f32).sqrt()).to_f32();
    let qk_norm = QkNorm { centre: Centre::One, ..QkNorm::per_head(config.dims.rms_norm_eps) };
    let mut recipe = Recipe::new(config.dims, windows, &global);
    for layer in recipe.layers.iter_mut().filter(|layer| layer.window.is_some()) {
        layer.rope = local.clone();
    }
    recipe.scale = scale;
    recipe.norms = Norms { kind: NormKind::Rms(Centre::One), ..Norms::BOTH };
    recipe.attention.qk_norm = Some(qk_norm);
    recipe.mlp.activation = config.hidden_activation;
    recipe.scaling.embedding = Some(embedding);
    recipe.load(weights)
}
