//! Gemma 3, text only (Gemma Team 2025): norms before and after each part, five local layers to a global one, each kind with
//! its own rotation.

use serde::Deserialize;
use serde_json::Value;

use super::decoder::{Dims, Ends, sanitize, windows};
use super::{Model, Sizes};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::attention::{AttentionShape, Sdpa};
use crate::layers::linear::Bias;
use crate::layers::mlp::{Activation, GatedMlp};
use crate::layers::norm::{Centre, RmsNorm};
use crate::layers::rope::{Rope, RopeConfig};
use crate::layers::self_attention::{Layout, SelfAttention};
use crate::mx::{self, Array, Result};
use crate::pass::Pass;
use crate::weights::{At, Kernels, Weights};

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

    fn layout(&self) -> Layout {
        let (n_hidden, eps) = (self.dims.hidden_size as i32, self.dims.rms_norm_eps);
        Layout { n_hidden, qkv_bias: Bias::Absent, o_bias: Bias::Absent, qk_norm: Some((Centre::One, eps)) }
    }

    /// The rotation of global layers, and that of local ones.
    fn ropes(&self, file: &ConfigFile, kernels: Kernels) -> LoadResult<[Rope; 2]> {
        let all = &self.dims.rope;
        // transformers 5 gives each kind of layer its own object.
        let nested = |kind: &str| all.rope_parameters.as_ref().and_then(|parameters| parameters.get(kind)).cloned();
        let global = RopeConfig {
            rope_theta: all.rope_theta.or(Some(1_000_000.0)),
            rope_parameters: nested("full_attention").or_else(|| all.rope_parameters.clone()),
            ..all.clone()
        };
        let local = RopeConfig {
            rope_theta: self.rope_local_base_freq.or(Some(10_000.0)),
            rope_scaling: None,
            rope_parameters: nested("sliding_attention").filter(Value::is_object),
            ..all.clone()
        };
        let scale = self.attention(None).scale;
        Ok([self.dims.rope_of(file, &global, kernels, scale)?, self.dims.rope_of(file, &local, kernels, scale)?])
    }
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    if config.query_pre_attn_scalar <= 0.0 || config.sliding_window_pattern == 0 {
        return Err(file.error("query_pre_attn_scalar and sliding_window_pattern must be positive"));
    }
    // Checkpoints are tied unless they carry a projection; none says so in its configuration.
    sanitize(weights, config.tie_word_embeddings.filter(|_| !weights.contains("lm_head.weight")));
    let [global, local] = config.ropes(file, weights.root().kernels())?;
    let is_sliding = |layer_idx: usize| !(layer_idx + 1).is_multiple_of(config.sliding_window_pattern);
    let windows = windows(&config.dims, config.layer_types.as_deref(), Some(config.sliding_window), is_sliding);
    let layers = weights.root().at("model.layers");
    let blocks = windows.iter().enumerate().map(|(layer_idx, window)| {
        let at = layers.at(layer_idx);
        let sdpa = Sdpa::new(config.attention(*window), layer_idx, at.kernels());
        Block::load(&at, &config, sdpa, if window.is_some() { &local } else { &global })
    });
    let blocks = blocks.collect::<LoadResult<_>>()?;
    let ends = Ends::load(weights, &config.dims, Centre::One)?;
    // The embedding's factor sqrt(hidden) is rounded to bfloat16, which the checkpoints were trained with.
    let embed_scale = mx::cast(&mx::scalar((config.dims.hidden_size as f32).sqrt()), mx::Dtype::Bfloat16)?;
    Ok(Box::new(Gemma3 { ends, embed_scale, blocks, sizes: config.dims.sizes(windows) }))
}

struct Block {
    input_layernorm: RmsNorm,
    self_attn: SelfAttention,
    post_attention_layernorm: RmsNorm,
    pre_feedforward_layernorm: RmsNorm,
    mlp: GatedMlp,
    post_feedforward_layernorm: RmsNorm,
}

impl Block {
    fn load(at: &At<'_, '_>, config: &Config, sdpa: Sdpa, rope: &Rope) -> LoadResult<Self> {
        let dims = &config.dims;
        let norm = |name: &str| dims.norm(&at.at(name), Centre::One);
        Ok(Self {
            input_layernorm: norm("input_layernorm")?,
            self_attn: SelfAttention::load(&at.at("self_attn"), config.layout(), sdpa, rope)?,
            post_attention_layernorm: norm("post_attention_layernorm")?,
            pre_feedforward_layernorm: norm("pre_feedforward_layernorm")?,
            mlp: GatedMlp::load(&at.at("mlp"), dims.mlp(), Bias::Absent, config.hidden_activation)?,
            post_feedforward_layernorm: norm("post_feedforward_layernorm")?,
        })
    }

    fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let r = self.self_attn.forward(&self.input_layernorm.forward(x)?, pass)?;
        let h = add_clipped(x, &self.post_attention_layernorm.forward(&r)?)?;
        let r = self.mlp.forward(&self.pre_feedforward_layernorm.forward(&h)?)?;
        add_clipped(&h, &self.post_feedforward_layernorm.forward(&r)?)
    }
}

/// `x + y`, kept inside what f16 holds: the residual stream outgrows it.
fn add_clipped(x: &Array, y: &Array) -> Result<Array> {
    if x.dtype() != mx::Dtype::Float16 {
        return mx::add(x, y);
    }
    let bound = 65_504.0;
    let sum = mx::add(&mx::cast(x, mx::Dtype::Float32)?, &mx::cast(y, mx::Dtype::Float32)?)?;
    let clipped = mx::maximum(&mx::minimum(&sum, &mx::scalar(bound))?, &mx::scalar(-bound))?;
    mx::cast(&clipped, mx::Dtype::Float16)
}

struct Gemma3 {
    ends: Ends,
    /// bfloat16.
    embed_scale: Array,
    blocks: Vec<Block>,
    sizes: Sizes,
}

impl Model for Gemma3 {
    fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    fn hidden(&self, tokens: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let embedded = self.ends.embed(tokens)?;
        let mut h = mx::multiply(&embedded, &mx::cast(&self.embed_scale, embedded.dtype())?)?;
        for block in &self.blocks {
            h = block.forward(&h, pass)?;
        }
        Ok(h)
    }

    fn logits(&self, hidden: &Array) -> Result<Array> {
        self.ends.logits(hidden)
    }
}
