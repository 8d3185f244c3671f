//! Ling and Ring 2.5 (Inclusion AI 2026): groups of layers with lightning attention, each closed by one of latent attention.

use serde::Deserialize;

use super::bailing_moe::rename;
use super::block::{Mixer, Recipe};
use super::decoder::{Dims, drop_layers_from, sanitize, windows};
use super::experts::{Experts, groups, switch};
use super::latent::Latent;
use super::{Model, bailing_moe_v3};
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::lightning::{Lightning, LightningLayout};
use crate::layers::linear::Bias;
use crate::layers::mla::MlaLayout;
use crate::layers::moe::{MoeLayout, Scoring, Shared};
use crate::layers::rope::Rope;
use crate::mx::{Array, Pairs, Result};
use crate::pass::Pass;
use crate::weights::Weights;

#[derive(Deserialize)]
struct About {
    #[serde(default)]
    architectures: Vec<String>,
}

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    tie_word_embeddings: Option<bool>,
    #[serde(default)]
    use_bias: bool,
    #[serde(default)]
    use_qkv_bias: bool,
    use_qk_norm: Option<bool>,
    layer_group_size: usize,
    group_norm_size: usize,
    #[serde(flatten)]
    latent: Latent,
    rope_interleave: Option<bool>,
    num_experts: usize,
    num_experts_per_tok: usize,
    moe_intermediate_size: usize,
    #[serde(default)]
    num_shared_experts: usize,
    moe_shared_expert_intermediate_size: Option<usize>,
    score_function: Option<String>,
    norm_topk_prob: Option<bool>,
    moe_router_enable_expert_bias: Option<bool>,
    routed_scaling_factor: Option<f32>,
    #[serde(default)]
    n_group: usize,
    #[serde(default)]
    topk_group: usize,
    #[serde(default)]
    first_k_dense_replace: usize,
}

impl Config {
    fn lightning(&self, file: &ConfigFile) -> LoadResult<LightningLayout> {
        let (n_heads, head_dim) = (self.dims.num_attention_heads, self.dims.head_dim());
        file.check(&[
            Limit::positive("layer_group_size", self.layer_group_size, 1024),
            Limit::positive("group_norm_size", self.group_norm_size, n_heads * head_dim),
        ])?;
        if !(n_heads * head_dim).is_multiple_of(self.group_norm_size) {
            return Err(file.error(&format!("group_norm_size {} does not divide the heads", self.group_norm_size)));
        }
        Ok(LightningLayout {
            n_hidden: self.dims.hidden_size as i32,
            n_heads: n_heads as i32,
            head_dim: head_dim as i32,
            n_norm_groups: self.group_norm_size as i32,
            eps: self.dims.rms_norm_eps,
            qkv_bias: Bias::from(self.use_qkv_bias),
            o_bias: Bias::from(self.use_bias),
            qk_norm: self.use_qk_norm.unwrap_or(true),
            rate: 1.0,
        })
    }

    fn moe(&self, file: &ConfigFile) -> LoadResult<MoeLayout> {
        let scoring = match self.score_function.as_deref() {
            None | Some("sigmoid") => Scoring::Sigmoid,
            Some("softmax") => Scoring::Softmax,
            Some(other) => return Err(file.error(&format!("score_function {other:.40?} is not supported"))),
        };
        let (n, top_k, n_inner) = (self.num_experts, self.num_experts_per_tok, self.moe_intermediate_size);
        let mut moe = Experts { n, top_k, n_inner }.layout(file, scoring)?;
        moe.bias = Bias::from(self.use_bias);
        moe.router.correction = self.moe_router_enable_expert_bias.unwrap_or(true).then_some("gate.expert_bias");
        moe.router.groups = groups(file, n, [self.n_group, self.topk_group, 2])?;
        moe.router.is_normalised = self.norm_topk_prob.unwrap_or(true) && top_k > 1;
        moe.router.factor = self.routed_scaling_factor.unwrap_or(1.0);
        let n_shared = n_inner * self.num_shared_experts.min(64);
        let n_inner = self.moe_shared_expert_intermediate_size.filter(|n| *n > 0).unwrap_or(n_shared).min(1 << 20);
        let shared = Shared { name: "shared_experts", n_inner, gate: None };
        moe.shared = (self.num_shared_experts > 0).then_some(shared);
        Ok(moe)
    }
}

impl Mixer for Lightning {
    fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        Self::forward(self, x, pass)
    }

    fn can_take_back(&self) -> bool {
        true
    }
}

/// Whether a layer attends: the last of each group, and those after the last group.
pub(super) fn closes_group(layer_idx: usize, n_group: usize, n_layers: usize) -> bool {
    (layer_idx + 1).is_multiple_of(n_group) || layer_idx >= n_layers / n_group * n_group
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let about: About = file.parse()?;
    if about.architectures.iter().any(|name| name == "BailingMoeV3ForCausalLM") {
        return bailing_moe_v3::load(file, weights);
    }
    let mut config: Config = file.parse()?;
    config.dims.num_key_value_heads = None;
    config.dims.check(file)?;
    let (lightning, moe) = (config.lightning(file)?, config.moe(file)?);
    let mla = MlaLayout { bias: Bias::from(config.use_qkv_bias), ..config.latent.layout(file, &config.dims)? };
    sanitize(weights, config.tie_word_embeddings);
    rename(weights);
    drop_layers_from(weights, config.dims.num_hidden_layers);
    let kernels = weights.root().kernels();
    config.dims.rope.n_context = config.dims.max_position_embeddings;
    config.dims.rope.partial_rotary_factor.get_or_insert(0.5);
    let linear_rope = Rope::new(&config.dims.rope, config.dims.head_dim(), kernels, 1.0);
    let linear_rope = linear_rope.map_err(|detail| file.error(&detail))?;
    // A part of each head of latent attention is rotated, and that part whole.
    config.dims.rope.partial_rotary_factor = None;
    config.dims.rope.pairs = if config.rope_interleave.unwrap_or(true) { Pairs::Neighbours } else { Pairs::Halves };
    let rope = Rope::new(&config.dims.rope, config.latent.qk_rope_head_dim, kernels, 1.0);
    let rope = rope.map_err(|detail| file.error(&detail))?;
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims.clone(), windows, &rope);
    recipe.mla = Some((mla, rope));
    recipe.mlp.bias = Bias::from(config.use_bias);
    recipe.moe = Some(moe);
    switch(&mut recipe.layers, |layer_idx| layer_idx >= config.first_k_dense_replace);
    recipe.recurrent = Some(Box::new(move |at, layer_idx| {
        let n_last = (config.dims.num_hidden_layers - 1).max(1) as f32;
        let layout = LightningLayout { rate: 1.0 - layer_idx as f32 / n_last + 1e-5, ..lightning };
        let load = || -> LoadResult<Box<dyn Mixer>> {
            Ok(Box::new(Lightning::load(&at.at("self_attn"), layout, layer_idx, &linear_rope)?))
        };
        (!closes_group(layer_idx, config.layer_group_size, config.dims.num_hidden_layers)).then(load).transpose()
    }));
    recipe.load(weights)
}
