//! Gemma 3n, text only (Gemma Team 2025): several residual streams of which one is computed on and corrects the others, a low-rank
//! path beside attention, gates of which few pass, a vector of each token for each layer, late layers that read earlier
//! ones' keys and values.

use serde::Deserialize;
use serde_json::json;

use super::block::capped;
use super::decoder::{Dims, Ends, sanitize, windows};
use super::gemma3_text::ropes;
use super::per_layer::PerLayer;
use super::shared_kv::Owners;
use super::{Model, Sizes};
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::mlp::Activation;
use crate::layers::norm::{Centre, NormKind};
use crate::mx::{self, Array, Cut, Result};
use crate::pass::Pass;
use crate::weights::{At, Weights};

mod altup;
mod block;

use block::{Block, Loader};

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    sliding_window: usize,
    layer_types: Option<Vec<String>>,
    rope_local_base_freq: Option<f64>,
    hidden_activation: Activation,
    num_kv_shared_layers: usize,
    vocab_size_per_layer_input: usize,
    hidden_size_per_layer_input: usize,
    altup_num_inputs: usize,
    altup_active_idx: usize,
    #[serde(default)]
    altup_correct_scale: bool,
    laurel_rank: usize,
    activation_sparsity_pattern: Option<Vec<f32>>,
    final_logit_softcapping: Option<f32>,
    tie_word_embeddings: Option<bool>,
}

/// What config.json gives as one number or one for each layer.
#[derive(Deserialize)]
struct Inner {
    intermediate_size: OneOrEach,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrEach {
    One(usize),
    Each(Vec<usize>),
}

impl OneOrEach {
    fn of(&self, layer_idx: usize) -> usize {
        match self {
            Self::One(size) => *size,
            Self::Each(sizes) => sizes.get(layer_idx).copied().unwrap_or(0),
        }
    }
}

impl Config {
    fn check(&self, file: &ConfigFile, inner: &OneOrEach) -> LoadResult<()> {
        self.dims.check(file)?;
        for layer_idx in 0..self.dims.num_hidden_layers {
            file.check(&[Limit::positive("intermediate_size of a layer", inner.of(layer_idx), 1 << 20)])?;
        }
        let active = self.altup_active_idx + 1;
        file.check(&[
            Limit::positive("altup_num_inputs", self.altup_num_inputs, 64),
            Limit::positive("altup_active_idx + 1", active, self.altup_num_inputs),
            Limit::positive("laurel_rank", self.laurel_rank, 1 << 15),
            Limit::positive("sliding_window", self.sliding_window, 1 << 30),
        ])?;
        let parts = self.activation_sparsity_pattern.iter().flatten();
        if parts.clone().any(|part| !(0.0..1.0).contains(part))
            || self.final_logit_softcapping.is_some_and(|cap| cap <= 0.0)
        {
            return Err(
                file.error("activation_sparsity_pattern must be from 0 to 1, and final_logit_softcapping positive")
            );
        }
        Ok(())
    }
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let file = &file.with_defaults(&[
        ("num_attention_heads", json!(8)),
        ("num_key_value_heads", json!(2)),
        ("head_dim", json!(256)),
        ("rms_norm_eps", json!(1e-6)),
        ("hidden_activation", json!("gelu_pytorch_tanh")),
        ("vocab_size", json!(262_400)),
        ("altup_active_idx", json!(0)),
    ]);
    let Inner { intermediate_size: inner } = file.parse()?;
    let config: Config = file.with("intermediate_size", json!(inner.of(0))).parse()?;
    config.check(file, &inner)?;
    let is_sliding = |layer_idx: usize| !(layer_idx + 1).is_multiple_of(5);
    let windows = windows(&config.dims, config.layer_types.as_deref(), Some(config.sliding_window), is_sliding);
    let owners = Owners::new(file, &windows, config.num_kv_shared_layers)?;
    sanitize(weights, config.tie_word_embeddings.or(Some(true)));
    owners.drop_unused(weights);
    let (model, layers) = (weights.root().at("model"), weights.root().at("model.layers"));
    let ropes = ropes(file, &config.dims, config.rope_local_base_freq, weights.root().kernels(), 1.0)?;
    let loader = Loader { config: &config, windows: &windows, owners: &owners, ropes };
    let block = |layer_idx: usize| loader.block(&layers.at(layer_idx), layer_idx, inner.of(layer_idx));
    let sizes = [config.vocab_size_per_layer_input, config.hidden_size_per_layer_input];
    Ok(Box::new(Gemma3n {
        ends: Ends::load(weights, &config.dims, NormKind::Rms(Centre::Zero))?,
        per_layer: PerLayer::load(file, &model, &config.dims, sizes)?,
        inward: projections(&model.at("altup_projections"), &config)?,
        blocks: (0..windows.len()).map(block).collect::<LoadResult<_>>()?,
        outward: projections(&model.at("altup_unembed_projections"), &config)?,
        sizes: owners.sizes(&windows, &config.dims),
        embedding: (config.dims.hidden_size as f32).sqrt(),
        cap: config.final_logit_softcapping,
    }))
}

/// One for each stream after the first.
fn projections(at: &At<'_, '_>, config: &Config) -> LoadResult<Vec<Linear>> {
    let n = config.dims.hidden_size as i32;
    let load = |idx: usize| Linear::load(at, Shape { name: &idx.to_string(), n_out: n, n_in: n, bias: Bias::Absent });
    (0..config.altup_num_inputs - 1).map(load).collect()
}

struct Gemma3n {
    ends: Ends,
    per_layer: PerLayer,
    inward: Vec<Linear>,
    blocks: Vec<Block>,
    outward: Vec<Linear>,
    sizes: Sizes,
    /// Multiplies the embedding.
    embedding: f32,
    /// Bounds the logits.
    cap: Option<f32>,
}

impl Model for Gemma3n {
    fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    fn hidden(&self, tokens: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let embedded = mx::scale(&self.ends.embed(tokens)?, self.embedding)?;
        let vectors = self.per_layer.forward(tokens, &embedded)?;
        let size = magnitude(&embedded)?;
        let mut streams = vec![mx::expand_dims(&embedded, 1)?];
        for projection in &self.inward {
            streams.push(mx::expand_dims(&resized(&projection.forward(&embedded)?, &size)?, 1)?);
        }
        let mut streams = mx::concatenate(&streams.iter().collect::<Vec<_>>(), 1)?; // [T, A, hidden]
        for (block, vector) in self.blocks.iter().zip(&vectors) {
            streams = block.forward(&streams, vector, pass)?;
        }
        let first = stream(&streams, 0)?;
        let size = magnitude(&first)?;
        let mut sum = first;
        for (idx, projection) in self.outward.iter().enumerate() {
            sum = mx::add(&sum, &resized(&projection.forward(&stream(&streams, idx as i32 + 1)?)?, &size)?)?;
        }
        mx::scale(&sum, 1.0 / (self.outward.len() + 1) as f32)
    }

    fn logits(&self, hidden: &Array) -> Result<Array> {
        let logits = self.ends.logits(hidden)?;
        self.cap.map_or_else(|| Ok(logits.clone()), |cap| capped(&logits, cap))
    }
}

/// One of `[T, A, hidden]`.
fn stream(streams: &Array, idx: i32) -> Result<Array> {
    let part = mx::slice(streams, &[Cut { axis: 1, start: idx, stop: idx + 1 }])?;
    mx::reshape(&part, &[streams.dim(0), streams.dim(2)])
}

/// Root mean square of `[T, hidden]`, `[T, 1]`.
fn magnitude(x: &Array) -> Result<Array> {
    let mean = mx::scale(&mx::sum(&mx::square(x)?, -1)?, 1.0 / x.dim(-1) as f32)?;
    mx::sqrt(&mx::maximum(&mean, &mx::cast(&mx::scalar(1e-5), x.dtype())?)?)
}

/// `x` with the magnitude `size`.
fn resized(x: &Array, size: &Array) -> Result<Array> {
    mx::multiply(x, &mx::divide(size, &magnitude(x)?)?)
}
