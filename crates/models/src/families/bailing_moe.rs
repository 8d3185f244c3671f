//! Ling and Ring (Inclusion AI 2025): joined projections under names of their own, routing in groups.

use serde::Deserialize;

use super::Model;
use super::block::Recipe;
use super::decoder::{Dims, drop_layers_from, sanitize, windows};
use super::experts::{Experts, groups, switch};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::linear::Bias;
use crate::layers::mlp::Inward;
use crate::layers::moe::{Scoring, Shared};
use crate::layers::self_attention::QkNorm;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    use_bias: bool,
    #[serde(default)]
    use_qkv_bias: bool,
    #[serde(default)]
    use_qk_norm: bool,
    #[serde(default)]
    norm_head: bool,
    tie_word_embeddings: Option<bool>,
    rotary_dim: Option<usize>,
    num_experts: usize,
    num_experts_per_tok: usize,
    moe_intermediate_size: usize,
    #[serde(default)]
    num_shared_experts: usize,
    moe_shared_expert_intermediate_size: Option<usize>,
    #[serde(default)]
    norm_topk_prob: bool,
    #[serde(default)]
    moe_router_enable_expert_bias: bool,
    routed_scaling_factor: Option<f32>,
    score_function: Option<String>,
    #[serde(default)]
    n_group: usize,
    #[serde(default)]
    topk_group: usize,
    #[serde(default)]
    first_k_dense_replace: usize,
}

/// The checkpoint's names, and ours.
const NAMES: &[(&str, &str)] = &[
    (".attention.query_key_value.", ".self_attn.qkv_proj."),
    (".attention.dense.", ".self_attn.o_proj."),
    (".attention.query_layernorm.", ".self_attn.q_norm."),
    (".attention.key_layernorm.", ".self_attn.k_norm."),
    (".attention.", ".self_attn."),
    (".word_embeddings.", ".embed_tokens."),
    (".mlp.gate.gate_proj.", ".mlp.gate."),
];

/// Gives tensors our names.
pub(super) fn rename(weights: &Weights<'_>) {
    weights.rename(|name| {
        let known = NAMES.iter().find(|(theirs, _)| name.contains(theirs));
        Some(known.map_or_else(|| name.to_owned(), |(theirs, ours)| name.replace(theirs, ours)))
    });
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    recipe(file, weights)?.load(weights)
}

/// What the network is built from.
pub(super) fn recipe(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Recipe> {
    let mut config: Config = file.parse()?;
    config.dims.check(file)?;
    if config.norm_head {
        return Err(file.error("norm_head is not supported; use an MLX conversion, which has it applied"));
    }
    let scoring = match config.score_function.as_deref() {
        None | Some("softmax") => Scoring::Softmax,
        Some("sigmoid") => Scoring::Sigmoid,
        Some(other) => return Err(file.error(&format!("score_function {other:.40?} is not supported"))),
    };
    let (n, n_inner) = (config.num_experts, config.moe_intermediate_size);
    let mut moe = Experts { n, top_k: config.num_experts_per_tok, n_inner }.layout(file, scoring)?;
    moe.router.correction = config.moe_router_enable_expert_bias.then_some("gate.expert_bias");
    moe.router.groups = groups(file, n, [config.n_group, config.topk_group, 2])?;
    moe.router.is_normalised = config.norm_topk_prob && config.num_experts_per_tok > 1;
    moe.router.factor = config.routed_scaling_factor.unwrap_or(1.0);
    moe.bias = Bias::from(config.use_bias);
    let n_shared = config.moe_shared_expert_intermediate_size.unwrap_or(n_inner).min(1 << 20);
    let n_shared = n_shared * config.num_shared_experts.min(64);
    moe.shared = (n_shared > 0).then_some(Shared { name: "shared_experts", n_inner: n_shared, gate: None });
    sanitize(weights, config.tie_word_embeddings);
    rename(weights);
    drop_layers_from(weights, config.dims.num_hidden_layers);
    if let Some(n_rotated) = config.rotary_dim {
        config.dims.rope.partial_rotary_factor = Some(n_rotated as f64 / config.dims.head_dim() as f64);
    }
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.attention.inward = Inward::Joined;
    recipe.attention.qkv_bias = Bias::from(config.use_qkv_bias);
    recipe.attention.o_bias = Bias::from(config.use_bias);
    recipe.attention.qk_norm = config.use_qk_norm.then(|| QkNorm::per_head(recipe.dims.rms_norm_eps));
    recipe.mlp.bias = Bias::from(config.use_bias);
    recipe.moe = Some(moe);
    switch(&mut recipe.layers, |layer_idx| layer_idx >= config.first_k_dense_replace);
    Ok(recipe)
}
