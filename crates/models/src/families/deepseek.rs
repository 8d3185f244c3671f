//! DeepSeek V2, V3, R1 and V3.1 (DeepSeek-AI 2024), Kimi K2 (Moonshot AI 2025) and GLM-4.7-Flash (Zhipu AI 2026): latent
//! attention, experts in groups, some dense layers first. They differ in how experts are picked.

use serde::Deserialize;

use super::Model;
use super::block::Recipe;
use super::decoder::{Dims, drop_layers_from, sanitize, windows};
use super::experts::{Experts, groups, switch};
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::linear::Bias;
use crate::layers::mla::MlaLayout;
use crate::layers::moe::{MoeLayout, Scoring, Shared};
use crate::layers::rope::Rope;
use crate::mx::Pairs;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    model_type: String,
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    attention_bias: bool,
    tie_word_embeddings: Option<bool>,
    q_lora_rank: Option<usize>,
    kv_lora_rank: usize,
    qk_nope_head_dim: usize,
    qk_rope_head_dim: usize,
    v_head_dim: usize,
    n_routed_experts: Option<usize>,
    num_experts_per_tok: Option<usize>,
    moe_intermediate_size: Option<usize>,
    n_shared_experts: Option<usize>,
    n_group: Option<usize>,
    topk_group: Option<usize>,
    topk_method: Option<String>,
    #[serde(default)]
    norm_topk_prob: bool,
    routed_scaling_factor: Option<f32>,
    #[serde(default)]
    first_k_dense_replace: usize,
    moe_layer_freq: Option<usize>,
}

impl Config {
    fn mla(&self, file: &ConfigFile) -> LoadResult<MlaLayout> {
        let (q, kv) = (self.q_lora_rank.unwrap_or(1), self.kv_lora_rank);
        file.check(&[
            Limit::positive("q_lora_rank", q, 1 << 17),
            Limit::positive("kv_lora_rank", kv, 1 << 15),
            Limit::positive("qk_nope_head_dim", self.qk_nope_head_dim, 4096),
            Limit::positive("qk_rope_head_dim", self.qk_rope_head_dim, 4096),
            Limit::positive("v_head_dim", self.v_head_dim, 4096),
        ])?;
        Ok(MlaLayout {
            n_hidden: self.dims.hidden_size as i32,
            n_heads: self.dims.num_attention_heads as i32,
            q_lora_rank: self.q_lora_rank.map(|rank| rank as i32),
            kv_lora_rank: kv as i32,
            qk_nope_head_dim: self.qk_nope_head_dim as i32,
            qk_rope_head_dim: self.qk_rope_head_dim as i32,
            v_head_dim: self.v_head_dim as i32,
            bias: Bias::from(self.attention_bias),
            eps: if self.model_type == "glm4_moe_lite" { self.dims.rms_norm_eps } else { 1e-6 },
            scale: ((self.qk_nope_head_dim + self.qk_rope_head_dim) as f32).powf(-0.5) * self.dims.rope.stretch(),
        })
    }

    fn moe(&self, file: &ConfigFile, n: usize) -> LoadResult<MoeLayout> {
        let (top_k, n_inner) = (self.num_experts_per_tok.unwrap_or(1), self.moe_intermediate_size.unwrap_or(0));
        let is_v2 = self.model_type == "deepseek_v2";
        let scoring = if is_v2 { Scoring::Softmax } else { Scoring::Sigmoid };
        let mut moe = Experts { n, top_k, n_inner }.layout(file, scoring)?;
        if !is_v2 {
            moe.router.correction = Some("gate.e_score_correction_bias");
        }
        if !is_v2 || self.topk_method.as_deref() == Some("group_limited_greedy") {
            let n_best = if is_v2 { 1 } else { 2 };
            let sizes = [self.n_group.unwrap_or(1), self.topk_group.unwrap_or(1), n_best];
            moe.router.groups = groups(file, n, sizes)?;
        }
        moe.router.is_normalised = self.norm_topk_prob && top_k > 1;
        moe.router.factor = self.routed_scaling_factor.unwrap_or(1.0);
        let n_shared = self.n_shared_experts.unwrap_or(0).min(64);
        moe.shared = (n_shared > 0).then(|| Shared { name: "shared_experts", n_inner: n_inner * n_shared, gate: None });
        Ok(moe)
    }
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    // Every head has its own keys and values, made from the one vector that is kept.
    let mut config: Config = file.parse()?;
    config.dims.num_key_value_heads = None;
    config.dims.check(file)?;
    let mla = config.mla(file)?;
    let moe = config.n_routed_experts.map(|n| config.moe(file, n)).transpose()?;
    sanitize(weights, config.tie_word_embeddings);
    drop_layers_from(weights, config.dims.num_hidden_layers);
    config.dims.rope.pairs = Pairs::Neighbours;
    config.dims.rope.n_context = config.dims.max_position_embeddings;
    // A part of each head is rotated, and that part whole.
    config.dims.rope.partial_rotary_factor = None;
    let rope = Rope::new(&config.dims.rope, config.qk_rope_head_dim, weights.root().kernels(), 1.0);
    let rope = rope.map_err(|detail| file.error(&detail))?;
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.mla = Some(mla);
    recipe.moe = moe;
    let (first, freq) = (config.first_k_dense_replace, config.moe_layer_freq.unwrap_or(1).max(1));
    switch(&mut recipe.layers, |layer_idx| layer_idx >= first && layer_idx.is_multiple_of(freq));
    recipe.load(weights)
}
