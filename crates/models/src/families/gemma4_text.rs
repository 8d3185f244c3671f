//! Gemma 4, text only (Gemma Team 2026): global layers with larger heads, of which a quarter turns, whose keys may be their
//! values too; late layers that read earlier ones' keys and values; a vector of each token for each layer; experts beside
//! the dense feed-forward part.

use serde::Deserialize;
use serde_json::{Value, json};

use super::block::capped;
use super::decoder::{Dims, Ends, sanitize, windows};
use super::experts::{Experts, Fused, unfuse};
use super::per_layer::PerLayer;
use super::shared_kv::Owners;
use super::{Model, Sizes};
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::attention::AttentionShape;
use crate::layers::linear::Bias;
use crate::layers::mlp::Activation;
use crate::layers::moe::{Glu, MoeLayout, Scoring};
use crate::layers::norm::{Centre, NormKind};
use crate::layers::rope::{Rope, RopeConfig};
use crate::layers::self_attention::{Layout, QkNorm, Source};
use crate::mx::{self, Array, Result};
use crate::pass::Pass;
use crate::weights::{Kernels, Weights};

mod block;

use block::{Block, Loader};

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    global_head_dim: Option<usize>,
    num_global_key_value_heads: Option<usize>,
    #[serde(default)]
    attention_k_eq_v: bool,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    num_kv_shared_layers: usize,
    sliding_window: usize,
    layer_types: Option<Vec<String>>,
    hidden_activation: Activation,
    vocab_size_per_layer_input: usize,
    hidden_size_per_layer_input: Option<usize>,
    #[serde(default)]
    use_double_wide_mlp: bool,
    #[serde(default)]
    enable_moe_block: bool,
    num_experts: Option<usize>,
    top_k_experts: Option<usize>,
    moe_intermediate_size: Option<usize>,
    final_logit_softcapping: Option<f32>,
    tie_word_embeddings: Option<bool>,
}

impl Config {
    /// Sizes of the heads of a layer that sees everything, or of one that does not.
    fn dims(&self, window: Option<usize>) -> Dims {
        let mut dims = self.dims.clone();
        if window.is_none() {
            dims.head_dim = self.global_head_dim.or(dims.head_dim);
            let n_kv_heads = self.num_global_key_value_heads.filter(|_| self.attention_k_eq_v);
            dims.num_key_value_heads = n_kv_heads.or(dims.num_key_value_heads);
        }
        dims
    }

    /// Queries and keys are normed, which leaves nothing to scale.
    fn shape(&self, window: Option<usize>) -> AttentionShape {
        AttentionShape { scale: 1.0, ..self.dims(window).attention(window) }
    }

    fn rope(&self, file: &ConfigFile, window: Option<usize>, kernels: Kernels) -> LoadResult<Rope> {
        let (kind, default) = match window {
            None => (
                "full_attention",
                json!({"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1_000_000.0}),
            ),
            Some(_) => ("sliding_attention", json!({"rope_type": "default", "rope_theta": 10_000.0})),
        };
        let given = self.dims.rope.rope_parameters.as_ref().and_then(|parameters| parameters.get(kind));
        let parameters = given.filter(|given| Value::is_object(given)).cloned().unwrap_or(default);
        let config = RopeConfig { rope_parameters: Some(parameters), ..RopeConfig::default() };
        self.dims(window).rope_of(file, &config, kernels, 1.0)
    }

    fn layout(&self, source: Source) -> Layout {
        let bias = Bias::from(self.attention_bias);
        let eps = self.dims.rms_norm_eps;
        Layout {
            qkv_bias: bias,
            o_bias: bias,
            qk_norm: Some(QkNorm::per_head(eps)),
            source,
            value_norm: Some(eps),
            ..Layout::plain(self.dims.hidden_size as i32)
        }
    }

    fn moe(&self, file: &ConfigFile) -> LoadResult<Option<MoeLayout>> {
        let [n, top_k, n_inner] =
            [self.num_experts, self.top_k_experts, self.moe_intermediate_size].map(Option::unwrap_or_default);
        if !self.enable_moe_block {
            return Ok(None);
        }
        let mut moe = Experts { n, top_k, n_inner }.layout(file, Scoring::SoftmaxOfPicked)?;
        moe.name = "moe";
        moe.router.name = "router.proj";
        moe.router.scales = Some("router.per_expert_scale");
        moe.glu = Glu::Gated(self.hidden_activation);
        moe.stacked = "experts.switch_glu";
        Ok(Some(moe))
    }
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let file = &file.with_defaults(&[
        ("head_dim", json!(256)),
        ("rms_norm_eps", json!(1e-6)),
        ("sliding_window", json!(512)),
        ("hidden_activation", json!("gelu_pytorch_tanh")),
        ("vocab_size", json!(262_144)),
        ("vocab_size_per_layer_input", json!(262_144)),
        ("max_position_embeddings", json!(131_072)),
    ]);
    let config: Config = file.parse()?;
    if config.final_logit_softcapping.is_some_and(|cap| cap <= 0.0) {
        return Err(file.error("final_logit_softcapping must be positive"));
    }
    for window in [None, Some(config.sliding_window)] {
        config.dims(window).check(file)?;
    }
    file.check(&[Limit::positive("sliding_window", config.sliding_window, 1 << 30)])?;
    let is_sliding = |layer_idx: usize| !(layer_idx + 1).is_multiple_of(6);
    let windows = windows(&config.dims, config.layer_types.as_deref(), Some(config.sliding_window), is_sliding);
    let owners = Owners::new(file, &windows, config.num_kv_shared_layers)?;
    prepare(&config, &owners, weights)?;
    let (model, kernels) = (weights.root().at("model"), weights.root().kernels());
    let ropes = [config.rope(file, None, kernels)?, config.rope(file, Some(config.sliding_window), kernels)?];
    let loader = Loader { config: &config, windows: &windows, owners: &owners, ropes, moe: config.moe(file)? };
    let layers = model.at("layers");
    let blocks = (0..windows.len()).map(|layer_idx| loader.block(&layers.at(layer_idx), layer_idx));
    let blocks = blocks.collect::<LoadResult<_>>()?;
    let n_inner = config.hidden_size_per_layer_input.filter(|n| *n > 0);
    let sizes = n_inner.map(|n_inner| [config.vocab_size_per_layer_input, n_inner]);
    let per_layer = sizes.map(|sizes| PerLayer::load(file, &model, &config.dims, sizes)).transpose()?;
    Ok(Box::new(Gemma4 {
        ends: Ends::load(weights, &config.dims, NormKind::Rms(Centre::Zero))?,
        per_layer,
        blocks,
        sizes: owners.sizes(&windows, &config.dims(None)),
        embedding: (config.dims.hidden_size as f32).sqrt(),
        cap: config.final_logit_softcapping,
    }))
}

/// Names as the blocks take them; drops what none uses.
fn prepare(config: &Config, owners: &Owners, weights: &Weights<'_>) -> LoadResult<()> {
    sanitize(weights, config.tie_word_embeddings.or(Some(true)));
    owners.drop_unused(weights);
    unfuse(weights, "experts.switch_glu", Fused::OutIn)?;
    weights.rename(|name| {
        // Ranges of activations, for integer arithmetic that nothing here does.
        let is_range = ["input_max", "input_min", "output_max", "output_min"].iter().any(|end| name.ends_with(end));
        let name = name.replace(".router.", ".moe.router.").replace(".experts.", ".moe.experts.");
        (!is_range).then_some(name)
    });
    Ok(())
}

struct Gemma4 {
    ends: Ends,
    per_layer: Option<PerLayer>,
    blocks: Vec<Block>,
    sizes: Sizes,
    /// Multiplies the embedding.
    embedding: f32,
    /// Bounds the logits.
    cap: Option<f32>,
}

impl Model for Gemma4 {
    fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    fn hidden(&self, tokens: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let mut h = mx::scale(&self.ends.embed(tokens)?, self.embedding)?;
        let vectors = self.per_layer.as_ref().map(|per_layer| per_layer.forward(tokens, &h)).transpose()?;
        for (layer_idx, block) in self.blocks.iter().enumerate() {
            let vector = vectors.as_ref().and_then(|vectors| vectors.get(layer_idx));
            h = block.forward(&h, vector, pass)?;
        }
        Ok(h)
    }

    fn logits(&self, hidden: &Array) -> Result<Array> {
        let logits = self.ends.logits(hidden)?;
        self.cap.map_or_else(|| Ok(logits.clone()), |cap| capped(&logits, cap))
    }
}
