//! Llama 4, text only (Meta 2025), and MobileLLM-R1, which is dense: attention inside chunks except in layers that do not rotate,
//! whose queries grow with their position; one expert a token beside one for all.

use serde::Deserialize;
use serde_json::Value;

use super::Model;
use super::block::{Local, Recipe};
use super::decoder::{Dims, sanitize};
use super::experts::{Experts, Fused, switch, unfuse};
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::linear::Bias;
use crate::layers::moe::{MoeLayout, Scoring, Shared, Weighed};
use crate::layers::norm::Centre;
use crate::layers::self_attention::{Growth, QkNorm};
use crate::mx::Pairs;
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    attention_bias: bool,
    tie_word_embeddings: Option<bool>,
    /// Of layers without experts.
    intermediate_size_mlp: usize,
    #[serde(default)]
    num_local_experts: usize,
    #[serde(default = "one")]
    num_experts_per_tok: usize,
    moe_layers: Option<Vec<usize>>,
    #[serde(default = "one")]
    interleave_moe_layer_step: usize,
    #[serde(default = "yes")]
    use_qk_norm: bool,
    /// 1 = rotates.
    no_rope_layers: Option<Vec<u8>>,
    #[serde(default = "four")]
    no_rope_layer_interval: usize,
    layer_types: Option<Vec<String>>,
    #[serde(default = "default_chunk")]
    attention_chunk_size: Option<usize>,
    /// A truth value, or a number.
    attn_temperature_tuning: Option<Value>,
    #[serde(default = "default_floor")]
    floor_scale: usize,
    #[serde(default = "default_scale")]
    attn_scale: f32,
}

fn one() -> usize {
    1
}

fn yes() -> bool {
    true
}

fn four() -> usize {
    4
}

fn default_chunk() -> Option<usize> {
    Some(8192)
}

fn default_floor() -> usize {
    8192
}

fn default_scale() -> f32 {
    0.1
}

impl Config {
    fn check(&self, file: &ConfigFile) -> LoadResult<()> {
        self.dims.check(file)?;
        file.check(&[
            Limit::positive("intermediate_size_mlp", self.intermediate_size_mlp, 1 << 20),
            Limit::positive("attention_chunk_size", self.attention_chunk_size.unwrap_or(1), 1 << 30),
            Limit::positive("floor_scale", self.floor_scale, 1 << 30),
            Limit::positive("num_experts_per_tok", self.num_experts_per_tok, 1),
        ])
    }

    fn rotates(&self, layer_idx: usize) -> bool {
        match self.no_rope_layers.as_ref().filter(|layers| !layers.is_empty()) {
            Some(layers) => layers.get(layer_idx).is_none_or(|rotates| *rotates != 0),
            None => !(layer_idx + 1).is_multiple_of(self.no_rope_layer_interval.max(1)),
        }
    }

    fn is_chunked(&self, layer_idx: usize) -> bool {
        match self.layer_types.as_ref().and_then(|types| types.get(layer_idx)) {
            Some(kind) => kind == "chunked_attention",
            None => self.rotates(layer_idx),
        }
    }

    fn is_sparse(&self, layer_idx: usize) -> bool {
        let step = self.interleave_moe_layer_step;
        match &self.moe_layers {
            _ if self.num_local_experts == 0 => false,
            Some(layers) => layers.contains(&layer_idx),
            None => step > 0 && (layer_idx + 1).is_multiple_of(step),
        }
    }

    /// Of queries in layers that do not rotate.
    fn growth(&self) -> Option<Growth> {
        let is_on = match &self.attn_temperature_tuning {
            Some(Value::Bool(is_on)) => *is_on,
            Some(Value::Number(number)) => number.as_f64() != Some(0.0),
            _ => true,
        };
        is_on.then_some(Growth { beta: self.attn_scale, n_original: self.floor_scale, first: 1 })
    }

    fn moe(&self, file: &ConfigFile) -> LoadResult<Option<MoeLayout>> {
        if self.num_local_experts == 0 {
            return Ok(None);
        }
        let n_inner = self.dims.intermediate_size;
        let mut moe = Experts { n: self.num_local_experts, top_k: 1, n_inner }.layout(file, Scoring::Sigmoid)?;
        moe.router.name = "router";
        moe.stacked = "experts";
        moe.weighed = Weighed::Input;
        moe.shared = Some(Shared { name: "shared_expert", n_inner, gate: None });
        Ok(Some(moe))
    }
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let mut config: Config = file.parse()?;
    config.check(file)?;
    let moe = config.moe(file)?;
    sanitize(weights, config.tie_word_embeddings);
    weights.rename(|name| Some(name.replace(".feed_forward.", ".mlp.")));
    unfuse(weights, "experts", Fused::InOut)?;
    config.dims.rope.pairs = Pairs::Neighbours;
    let kernels = weights.root().kernels();
    let (rope, none) = (config.dims.rope(file, kernels)?, config.dims.no_rope(kernels));
    let chunk = config.attention_chunk_size;
    let windows = (0..config.dims.num_hidden_layers).map(|layer_idx| chunk.filter(|_| config.is_chunked(layer_idx)));
    let dims = Dims { intermediate_size: config.intermediate_size_mlp, ..config.dims.clone() };
    let mut recipe = Recipe::new(dims, windows.collect(), &rope);
    recipe.local = Local::Chunked;
    recipe.attention.qkv_bias = Bias::from(config.attention_bias);
    recipe.attention.o_bias = Bias::from(config.attention_bias);
    let eps = config.dims.rms_norm_eps;
    for (layer_idx, layer) in recipe.layers.iter_mut().enumerate() {
        let mut attention = recipe.attention;
        if config.rotates(layer_idx) {
            // A norm without a weight gives the same before and after a rotation.
            let norm = QkNorm { centre: Centre::Unweighted, ..QkNorm::per_head(eps) };
            attention.qk_norm = config.use_qk_norm.then_some(norm);
        } else {
            attention.growth = config.growth();
            layer.rope = none.clone();
        }
        layer.attention = Some(attention);
    }
    recipe.moe = moe;
    switch(&mut recipe.layers, |layer_idx| config.is_sparse(layer_idx));
    recipe.load(weights)
}
