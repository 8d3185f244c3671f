//! LFM2 (Liquid AI 2025): gated short convolutions with attention in some layers; dense, or with experts after a few layers.

use serde::Deserialize;

use super::Model;
use super::decoder::{Dims, sanitize};
use super::experts::Experts;
use super::stack::{Factors, Part, RMS, Stack};
use crate::LoadResult;
use crate::cache::CacheKind;
use crate::config::{ConfigFile, Limit};
use crate::layers::attention::Sdpa;
use crate::layers::gated_conv::GatedConv;
use crate::layers::linear::Bias;
use crate::layers::mlp::{GatedMlp, MlpLayout};
use crate::layers::moe::{Moe, MoeLayout, Scoring};
use crate::layers::self_attention::{Layout, QkNorm, SelfAttention};
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    model_type: String,
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    conv_bias: bool,
    #[serde(rename = "conv_L_cache")]
    conv_l_cache: usize,
    full_attn_idxs: Option<Vec<usize>>,
    layer_types: Option<Vec<String>>,
    #[serde(default)]
    block_auto_adjust_ff_dim: bool,
    block_ffn_dim_multiplier: Option<f64>,
    #[serde(default = "default_multiple")]
    block_multiple_of: usize,
    #[serde(default)]
    num_dense_layers: usize,
}

#[derive(Deserialize)]
struct MoeConfig {
    num_experts: usize,
    num_experts_per_tok: usize,
    moe_intermediate_size: usize,
    #[serde(default)]
    norm_topk_prob: bool,
    #[serde(default)]
    use_expert_bias: bool,
    routed_scaling_factor: Option<f32>,
}

fn default_multiple() -> usize {
    256
}

/// The checkpoint's names, and ours.
const NAMES: &[(&str, &str)] = &[
    ("model.embedding_norm.", "model.norm."),
    (".self_attn.out_proj.", ".self_attn.o_proj."),
    (".self_attn.q_layernorm.", ".self_attn.q_norm."),
    (".self_attn.k_layernorm.", ".self_attn.k_norm."),
    (".w1.", ".gate_proj."),
    (".w3.", ".up_proj."),
    (".w2.", ".down_proj."),
];

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config = Config::read(file)?;
    let dims = &config.dims;
    let moe = (config.model_type == "lfm2_moe").then(|| moe(file)).transpose()?;
    sanitize(weights, Some(true));
    weights.rename(|name| {
        let known = NAMES.iter().find(|(theirs, _)| name.contains(theirs));
        Some(known.map_or_else(|| name.to_owned(), |(theirs, ours)| name.replace(theirs, ours)))
    });
    let rope = dims.rope(file, weights.root().kernels())?;
    let n_hidden = dims.hidden_size as i32;
    let attention = Layout { qk_norm: Some(QkNorm::per_head(dims.rms_norm_eps)), ..Layout::plain(n_hidden) };
    let bias = Bias::from(config.conv_bias);
    let conv = [n_hidden, config.conv_l_cache as i32];
    let (mut parts, mut caches) = (Vec::new(), Vec::new());
    for layer_idx in 0..dims.num_hidden_layers {
        let at = weights.root().at("model.layers").at(layer_idx);
        let mixer: Box<dyn Part> = if config.attends(layer_idx) {
            caches.push(CacheKind::Full);
            let sdpa = Sdpa::new(dims.attention(None), layer_idx, at.kernels());
            Box::new(SelfAttention::load(&at.at("self_attn"), attention, sdpa, &rope)?)
        } else {
            caches.push(CacheKind::State);
            Box::new(GatedConv::load(&at.at("conv"), conv, bias, layer_idx)?)
        };
        parts.push((dims.norm(&at.at("operator_norm"), RMS)?, mixer));
        let mlp: Box<dyn Part> = match &moe {
            Some(moe) if layer_idx >= config.num_dense_layers => Box::new(Moe::load(&at, n_hidden, moe)?),
            _ => Box::new(GatedMlp::load(&at.at("feed_forward"), dims.mlp(), MlpLayout::default())?),
        };
        parts.push((dims.norm(&at.at("ffn_norm"), RMS)?, mlp));
    }
    Ok(Box::new(Stack::new(weights, dims, parts, caches, Factors::default())?))
}

impl Config {
    fn read(file: &ConfigFile) -> LoadResult<Self> {
        #[derive(Deserialize)]
        struct Inner {
            block_ff_dim: Option<usize>,
        }
        let mut defaults = vec![("rope_theta", 1e6.into())];
        let inner = file.parse::<Inner>()?.block_ff_dim;
        defaults.extend(inner.map(|inner| ("intermediate_size", inner.into())));
        let mut config: Self = file.with_defaults(&defaults).parse()?;
        config.dims.check(file)?;
        file.check(&[
            Limit { name: "conv_L_cache", value: config.conv_l_cache, low: 2, high: 64 },
            Limit::positive("block_multiple_of", config.block_multiple_of, 1 << 16),
        ])?;
        if let Some(inner) = inner {
            config.dims.intermediate_size = inner;
        }
        if config.block_auto_adjust_ff_dim {
            config.adjust();
            config.dims.check(file)?;
        }
        Ok(config)
    }

    /// Two thirds of the inner size, times a factor, rounded up.
    fn adjust(&mut self) {
        let mut inner = 2 * self.dims.intermediate_size / 3;
        if let Some(factor) = self.block_ffn_dim_multiplier {
            inner = (factor * inner as f64) as usize;
        }
        self.dims.intermediate_size = inner.min(1 << 20).next_multiple_of(self.block_multiple_of);
    }

    fn attends(&self, layer_idx: usize) -> bool {
        match (&self.full_attn_idxs, &self.layer_types) {
            (Some(layers), _) => layers.contains(&layer_idx),
            (None, Some(types)) => types.get(layer_idx).is_some_and(|kind| kind == "full_attention"),
            (None, None) => false,
        }
    }
}

fn moe(file: &ConfigFile) -> LoadResult<MoeLayout> {
    let config: MoeConfig = file.parse()?;
    let (n, top_k, n_inner) = (config.num_experts, config.num_experts_per_tok, config.moe_intermediate_size);
    let mut moe = Experts { n, top_k, n_inner }.layout(file, Scoring::Sigmoid)?;
    moe.name = "feed_forward";
    moe.router.correction = config.use_expert_bias.then_some("expert_bias");
    moe.router.is_normalised = config.norm_topk_prob;
    moe.router.factor = config.routed_scaling_factor.unwrap_or(1.0);
    Ok(moe)
}
