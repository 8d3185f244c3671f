//! Kimi Linear (Kimi Team 2025): three layers of Kimi Delta Attention for one of latent attention that does not rotate.

use serde::Deserialize;

use super::Model;
use super::block::{Mixer, Recipe};
use super::decoder::{Dims, sanitize, windows};
use super::experts::{Experts, groups, switch};
use super::latent::Latent;
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::kimi_delta::{Gates, KimiDelta, KimiDeltaLayout};
use crate::layers::moe::{MoeLayout, Scoring, Shared};
use crate::layers::rope::{Rope, RopeConfig};
use crate::mx::{Array, Result};
use crate::pass::Pass;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    tie_word_embeddings: Option<bool>,
    model_max_length: Option<usize>,
    linear_attn_config: LinearConfig,
    #[serde(flatten)]
    latent: Latent,
    #[serde(default)]
    mla_use_nope: bool,
    num_experts: Option<usize>,
    num_experts_per_token: Option<usize>,
    moe_intermediate_size: Option<usize>,
    #[serde(default)]
    num_shared_experts: usize,
    moe_router_activation_func: Option<String>,
    moe_renormalize: Option<bool>,
    routed_scaling_factor: Option<f32>,
    num_expert_group: Option<usize>,
    topk_group: Option<usize>,
    #[serde(default)]
    first_k_dense_replace: usize,
    moe_layer_freq: Option<usize>,
}

#[derive(Deserialize)]
struct LinearConfig {
    /// Counted from 1.
    kda_layers: Vec<usize>,
    num_heads: usize,
    head_dim: usize,
    short_conv_kernel_size: Option<usize>,
}

impl Config {
    fn kimi_delta(&self, file: &ConfigFile) -> LoadResult<KimiDeltaLayout> {
        let LinearConfig { num_heads, head_dim, short_conv_kernel_size, .. } = &self.linear_attn_config;
        let n_taps = short_conv_kernel_size.unwrap_or(4);
        file.check(&[
            Limit::positive("linear_attn_config.num_heads", *num_heads, 1024),
            Limit::positive("linear_attn_config.head_dim", *head_dim, 1024),
            Limit { name: "linear_attn_config.short_conv_kernel_size", value: n_taps, low: 2, high: 64 },
        ])?;
        Ok(KimiDeltaLayout {
            n_hidden: self.dims.hidden_size as i32,
            n_heads: *num_heads as i32,
            head_dim: *head_dim as i32,
            n_taps: n_taps as i32,
            eps: self.dims.rms_norm_eps,
            gates: Gates::Latent,
            bound: None,
        })
    }

    fn moe(&self, file: &ConfigFile, n: usize) -> LoadResult<MoeLayout> {
        let scoring = match self.moe_router_activation_func.as_deref() {
            None | Some("sigmoid") => Scoring::Sigmoid,
            Some("softmax") => Scoring::Softmax,
            Some(other) => {
                return Err(file.error(&format!("moe_router_activation_func {other:.40?} is not supported")));
            }
        };
        let (top_k, n_inner) = (self.num_experts_per_token.unwrap_or(1), self.moe_intermediate_size.unwrap_or(0));
        let mut moe = Experts { n, top_k, n_inner }.layout(file, scoring)?;
        moe.names = ["w1", "w3", "w2"];
        moe.router.correction = Some("e_score_correction_bias");
        moe.router.groups = groups(file, n, [self.num_expert_group.unwrap_or(1), self.topk_group.unwrap_or(1), 2])?;
        moe.router.is_normalised = self.moe_renormalize.unwrap_or(true) && top_k > 1;
        moe.router.factor = self.routed_scaling_factor.unwrap_or(1.0);
        let n_shared = self.num_shared_experts.min(64);
        moe.shared = (n_shared > 0).then(|| Shared { name: "shared_experts", n_inner: n_inner * n_shared, gate: None });
        Ok(moe)
    }
}

impl Mixer for KimiDelta {
    fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        Self::forward(self, x, pass)
    }

    fn can_take_back(&self) -> bool {
        true
    }
}

/// The checkpoint's names, as published or as MLX conversions have them, and ours.
const NAMES: &[(&str, &str)] = &[
    (".block_sparse_moe.gate.e_score_correction_bias", ".mlp.e_score_correction_bias"),
    (".block_sparse_moe.", ".mlp."),
    (".q_conv.conv.", ".q_conv1d."),
    (".k_conv.conv.", ".k_conv1d."),
    (".v_conv.conv.", ".v_conv1d."),
];

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let mut config: Config = file.parse()?;
    // Every head has its own keys and values, made from the one vector that is kept.
    config.dims.num_key_value_heads = None;
    config.dims.max_position_embeddings = config.model_max_length.unwrap_or(config.dims.max_position_embeddings);
    config.dims.check(file)?;
    if !config.mla_use_nope {
        return Err(
            file.error("mla_use_nope is not true; latent attention of this family is known without rotation only")
        );
    }
    // No rotation, and none to be stretched.
    config.dims.rope = RopeConfig::default();
    let (kimi_delta, mla) = (config.kimi_delta(file)?, config.latent.layout(file, &config.dims)?);
    let moe = config.num_experts.filter(|n| *n > 0).map(|n| config.moe(file, n)).transpose()?;
    sanitize(weights, config.tie_word_embeddings);
    weights.rename(|name| {
        let known = NAMES.iter().find(|(theirs, _)| name.contains(theirs));
        let renamed = known.map_or_else(|| name.to_owned(), |(theirs, ours)| name.replace(theirs, ours));
        (!name.starts_with("model.mtp")).then_some(renamed)
    });
    let rope = Rope::none(mla.qk_rope_head_dim as usize, weights.root().kernels(), 1.0);
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.mla = Some((mla, rope));
    recipe.moe = moe;
    let (first, freq) = (config.first_k_dense_replace, config.moe_layer_freq.unwrap_or(1).max(1));
    let has_experts = recipe.moe.is_some();
    switch(&mut recipe.layers, |layer_idx| has_experts && layer_idx >= first && layer_idx.is_multiple_of(freq));
    let kda_layers = config.linear_attn_config.kda_layers;
    recipe.recurrent = Some(Box::new(move |at, layer_idx| {
        let load = || -> LoadResult<Box<dyn Mixer>> {
            Ok(Box::new(KimiDelta::load(&at.at("self_attn"), kimi_delta, layer_idx)?))
        };
        kda_layers.contains(&(layer_idx + 1)).then(load).transpose()
    }));
    recipe.load(weights)
}
