//! DeepSeek V2, V3, R1 and V3.1 (DeepSeek-AI 2024), Kimi K2 (Moonshot AI 2025), GLM-4.7-Flash (Zhipu AI 2026) and Mistral 4
//! (Mistral AI 2026): latent attention, experts in groups, some dense layers first. They differ in how experts are picked.
//! DeepSeek V3.2 (DeepSeek-AI 2025) and GLM-5 (Zhipu AI 2026) also pick the positions that a query reads.

use serde::Deserialize;
use serde_json::Value;

use super::block::Recipe;
use super::decoder::{Dims, sanitize, windows};
use super::experts::{Experts, Fused, groups, switch, unfuse};
use super::{Model, next_layer};
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::linear::Bias;
use crate::layers::mla::{IndexLayout, MlaLayout};
use crate::layers::moe::{MoeLayout, Scoring, Shared};
use crate::layers::rope::{Rope, RopeConfig};
use crate::layers::self_attention::Growth;
use crate::mx::Pairs;
use crate::weights::{Kernels, Weights};

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
    rope_interleave: Option<bool>,
    index_head_dim: Option<usize>,
    index_n_heads: Option<usize>,
    index_topk: Option<usize>,
    indexer_rope_interleave: Option<bool>,
    /// Which layers pick positions themselves, and which read those of a layer before.
    indexer_types: Option<Vec<String>>,
    index_topk_pattern: Option<Value>,
    #[serde(default)]
    index_topk_freq: usize,
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
            growth: self.growth(),
            index: self.index(file)?,
        })
    }

    /// What picks positions.
    fn index(&self, file: &ConfigFile) -> LoadResult<Option<IndexLayout>> {
        if !matches!(self.model_type.as_str(), "deepseek_v32" | "glm_moe_dsa") {
            return Ok(None);
        }
        let is_listed = self.indexer_types.iter().flatten().any(|kind| kind == "shared");
        if is_listed || self.index_topk_pattern.is_some() || self.index_topk_freq > 1 {
            let detail =
                "layers that read what another layer's indexer picked are not supported; pick another checkpoint";
            return Err(file.error(detail));
        }
        if self.q_lora_rank.is_none() {
            return Err(file.error("an indexer needs q_lora_rank"));
        }
        let [n_heads, head_dim, top_k] =
            [self.index_n_heads, self.index_head_dim, self.index_topk].map(Option::unwrap_or_default);
        file.check(&[
            Limit::positive("index_n_heads", n_heads, 1024),
            Limit::positive("index_topk", top_k, 1 << 30),
            Limit { name: "index_head_dim", value: head_dim, low: self.qk_rope_head_dim, high: 4096 },
        ])?;
        Ok(Some(IndexLayout {
            n_heads: n_heads as i32,
            head_dim: head_dim as i32,
            n_rotated: self.qk_rope_head_dim as i32,
            top_k,
        }))
    }

    fn growth(&self) -> Option<Growth> {
        let number = |name: &str| self.dims.rope.rope_parameters.as_ref()?.get(name)?.as_f64();
        let beta = number("llama_4_scaling_beta").filter(|beta| *beta != 0.0)? as f32;
        let n_original = number("original_max_position_embeddings").filter(|n| *n >= 1.0)? as usize;
        Some(Growth { beta, n_original, first: 0 })
    }

    /// Of a part of each head, and that part whole.
    fn rope(&self, file: &ConfigFile, pairs: Pairs, kernels: Kernels) -> LoadResult<Rope> {
        let n_context = self.dims.max_position_embeddings;
        let mut rope = RopeConfig { pairs, n_context, partial_rotary_factor: None, ..self.dims.rope.clone() };
        if let Some(parameters) = rope.rope_parameters.as_mut().and_then(Value::as_object_mut) {
            parameters.remove("partial_rotary_factor");
        }
        Rope::new(&rope, self.qk_rope_head_dim, kernels, 1.0).map_err(|detail| file.error(&detail))
    }

    fn moe(&self, file: &ConfigFile, n: usize) -> LoadResult<MoeLayout> {
        let (top_k, n_inner) = (self.num_experts_per_tok.unwrap_or(1), self.moe_intermediate_size.unwrap_or(0));
        let (is_v2, is_mistral) = (self.model_type == "deepseek_v2", self.model_type == "mistral4");
        let scoring = if is_v2 || is_mistral { Scoring::Softmax } else { Scoring::Sigmoid };
        let mut moe = Experts { n, top_k, n_inner }.layout(file, scoring)?;
        if scoring == Scoring::Sigmoid {
            moe.router.correction = Some("gate.e_score_correction_bias");
        }
        if !is_v2 || self.topk_method.as_deref() == Some("group_limited_greedy") {
            let n_best = if is_v2 { 1 } else { 2 };
            let sizes = [self.n_group.unwrap_or(1), self.topk_group.unwrap_or(1), n_best];
            moe.router.groups = groups(file, n, sizes)?;
        }
        moe.router.is_normalised = self.norm_topk_prob && (is_mistral || top_k > 1);
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
    unfuse(weights, "switch_mlp", Fused::OutIn)?;
    let kernels = weights.root().kernels();
    let rope = config.rope(file, config.rope_interleave.unwrap_or(true).into(), kernels)?;
    let head = next_layer::head(weights, config.dims.num_hidden_layers, &rope);
    let index_pairs = config.indexer_rope_interleave.unwrap_or(config.model_type == "glm_moe_dsa").into();
    let index_rope = config.rope(file, index_pairs, kernels)?;
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.mla = Some((mla, index_rope));
    recipe.moe = moe;
    recipe.head = head;
    let (first, freq) = (config.first_k_dense_replace, config.moe_layer_freq.unwrap_or(1).max(1));
    switch(&mut recipe.layers, |layer_idx| layer_idx >= first && layer_idx.is_multiple_of(freq));
    recipe.load(weights)
}
