//! Ling and Ring 3 (Inclusion AI 2026), which call themselves `bailing_hybrid` too: Kimi Delta Attention with bounded decay, then
//! latent attention whose heads are gated.

use serde::Deserialize;

use super::Model;
use super::bailing_hybrid::closes_group;
use super::bailing_moe::rename;
use super::block::{Mixer, Recipe};
use super::decoder::{Dims, drop_layers_from, sanitize, windows};
use super::experts::{Experts, groups, switch};
use super::latent::Latent;
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::kimi_delta::{Gates, KimiDelta, KimiDeltaLayout};
use crate::layers::moe::{MoeLayout, Scoring, Shared};
use crate::layers::rope::Rope;
use crate::mx::Pairs;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(flatten)]
    latent: Latent,
    tie_word_embeddings: Option<bool>,
    layer_group_size: usize,
    short_conv_kernel_size: Option<usize>,
    kda_lower_bound: Option<f32>,
    no_kda_lora: Option<bool>,
    kda_safe_gate: Option<bool>,
    rope_interleave: Option<bool>,
    num_experts: usize,
    num_experts_per_tok: usize,
    moe_intermediate_size: usize,
    moe_shared_expert_intermediate_size: usize,
    num_shared_experts: Option<usize>,
    n_group: usize,
    topk_group: usize,
    routed_scaling_factor: f32,
    first_k_dense_replace: Option<usize>,
}

impl Config {
    fn kimi_delta(&self, file: &ConfigFile) -> LoadResult<KimiDeltaLayout> {
        let (n_taps, bound) = (self.short_conv_kernel_size.unwrap_or(4), self.kda_lower_bound.unwrap_or(-5.0));
        file.check(&[
            Limit::positive("layer_group_size", self.layer_group_size, 1024),
            Limit { name: "short_conv_kernel_size", value: n_taps, low: 2, high: 64 },
        ])?;
        if !(bound.is_finite() && bound < 0.0) {
            return Err(file.error(&format!("kda_lower_bound is {bound}, but must be below 0")));
        }
        let known = [self.no_kda_lora, self.kda_safe_gate, self.rope_interleave].map(|set| set.unwrap_or(true));
        if known != [true; 3] {
            let detail =
                "no_kda_lora, kda_safe_gate and rope_interleave must be true; the family is known with them only";
            return Err(file.error(detail));
        }
        Ok(KimiDeltaLayout {
            n_hidden: self.dims.hidden_size as i32,
            n_heads: self.dims.num_attention_heads as i32,
            head_dim: self.dims.head_dim() as i32,
            n_taps: n_taps as i32,
            eps: self.dims.rms_norm_eps,
            gates: Gates::Direct,
            bound: Some(bound),
        })
    }

    fn moe(&self, file: &ConfigFile) -> LoadResult<MoeLayout> {
        let (n, top_k, n_inner) = (self.num_experts, self.num_experts_per_tok, self.moe_intermediate_size);
        let mut moe = Experts { n, top_k, n_inner }.layout(file, Scoring::Sigmoid)?;
        moe.router.correction = Some("gate.expert_bias");
        moe.router.groups = groups(file, n, [self.n_group, self.topk_group, 2])?;
        moe.router.is_normalised = true;
        moe.router.factor = self.routed_scaling_factor;
        let n_inner =
            self.moe_shared_expert_intermediate_size.min(1 << 20) * self.num_shared_experts.unwrap_or(1).min(64);
        file.check(&[Limit::positive("moe_shared_expert_intermediate_size", n_inner, 1 << 26)])?;
        moe.shared = Some(Shared { name: "shared_experts", n_inner, gate: None });
        Ok(moe)
    }
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let mut config: Config = file.parse()?;
    config.dims.num_key_value_heads = None;
    config.dims.check(file)?;
    let (kimi_delta, moe) = (config.kimi_delta(file)?, config.moe(file)?);
    let mla = config.latent.layout(file, &config.dims)?;
    sanitize(weights, config.tie_word_embeddings);
    rename(weights);
    drop_layers_from(weights, config.dims.num_hidden_layers);
    config.dims.rope.n_context = config.dims.max_position_embeddings;
    config.dims.rope.partial_rotary_factor = None;
    config.dims.rope.pairs = Pairs::Neighbours;
    let rope = Rope::new(&config.dims.rope, config.latent.qk_rope_head_dim, weights.root().kernels(), 1.0);
    let rope = rope.map_err(|detail| file.error(&detail))?;
    let (n_group, n_layers) = (config.layer_group_size, config.dims.num_hidden_layers);
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.mla = Some((mla, rope));
    recipe.moe = Some(moe);
    let first = config.first_k_dense_replace.unwrap_or(1);
    switch(&mut recipe.layers, |layer_idx| layer_idx >= first);
    recipe.recurrent = Some(Box::new(move |at, layer_idx| {
        let load = || -> LoadResult<Box<dyn Mixer>> {
            Ok(Box::new(KimiDelta::load(&at.at("self_attn"), kimi_delta, layer_idx)?))
        };
        (!closes_group(layer_idx, n_group, n_layers)).then(load).transpose()
    }));
    recipe.load(weights)
}
