//! Jamba (Lieber et al. 2024): Mamba with attention in some layers, experts in some.

use serde::Deserialize;
use serde_json::Value;

use super::Model;
use super::decoder::{Dims, sanitize};
use super::experts::Experts;
use super::stack::{Factors, Part, RMS, Stack};
use crate::LoadResult;
use crate::cache::CacheKind;
use crate::config::{ConfigFile, Limit};
use crate::layers::attention::Sdpa;
use crate::layers::linear::Bias;
use crate::layers::mlp::{GatedMlp, MlpLayout};
use crate::layers::moe::{Moe, MoeLayout, Scoring};
use crate::layers::selective::{Selective, SelectiveLayout};
use crate::layers::self_attention::{Layout, SelfAttention};
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    tie_word_embeddings: bool,
    layers_block_type: Option<Vec<String>>,
    #[serde(default)]
    attn_layer_offset: usize,
    #[serde(default)]
    attn_layer_period: usize,
    #[serde(default)]
    expert_layer_offset: usize,
    #[serde(default)]
    expert_layer_period: usize,
    #[serde(default)]
    num_experts: usize,
    #[serde(default)]
    num_experts_per_tok: usize,
    mamba_d_conv: usize,
    mamba_d_state: usize,
    mamba_expand: usize,
    mamba_dt_rank: Option<Value>,
    #[serde(default)]
    mamba_proj_bias: bool,
    mamba_conv_bias: Option<bool>,
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    let dims = &config.dims;
    dims.check(file)?;
    let selective = config.selective(file)?;
    let moe = config.moe(file)?;
    sanitize(weights, Some(config.tie_word_embeddings));
    weights.rename(|name| Some(name.replace("model.final_layernorm.", "model.norm.")));
    let n_hidden = dims.hidden_size as i32;
    let (mut parts, mut caches): (Vec<(_, Box<dyn Part>)>, _) = (Vec::new(), Vec::new());
    for layer_idx in 0..dims.num_hidden_layers {
        let at = weights.root().at("model.layers").at(layer_idx);
        let mixer: Box<dyn Part> = if config.attends(file, layer_idx)? {
            caches.push(CacheKind::Full);
            let sdpa = Sdpa::new(dims.attention(None), layer_idx, at.kernels());
            let rope = dims.no_rope(at.kernels());
            Box::new(SelfAttention::load(&at.at("self_attn"), Layout::plain(n_hidden), sdpa, &rope)?)
        } else {
            caches.push(CacheKind::State);
            Box::new(Selective::load(&at.at("mamba"), selective, layer_idx)?)
        };
        parts.push((dims.norm(&at.at("input_layernorm"), RMS)?, mixer));
        let feed_forward: Box<dyn Part> = match &moe {
            Some(moe) if is_nth(layer_idx, config.expert_layer_period, config.expert_layer_offset) => {
                Box::new(Moe::load(&at, n_hidden, moe)?)
            }
            _ => Box::new(GatedMlp::load(&at.at("feed_forward"), dims.mlp(), MlpLayout::default())?),
        };
        parts.push((dims.norm(&at.at("pre_ff_layernorm"), RMS)?, feed_forward));
    }
    Ok(Box::new(Stack::new(weights, dims, parts, caches, Factors::default())?))
}

/// Whether a layer is one of those `period` apart from `offset` on.
fn is_nth(layer_idx: usize, period: usize, offset: usize) -> bool {
    period > 0 && layer_idx % period == offset % period
}

impl Config {
    fn selective(&self, file: &ConfigFile) -> LoadResult<SelectiveLayout> {
        file.check(&[Limit::positive("mamba_expand", self.mamba_expand, 64)])?;
        let n_hidden = self.dims.hidden_size;
        let n_time = match &self.mamba_dt_rank {
            Some(Value::Number(n)) => n.as_u64().unwrap_or(0) as usize,
            _ => n_hidden.div_ceil(16),
        };
        let layout = SelectiveLayout {
            n_hidden,
            n_inner: n_hidden * self.mamba_expand,
            n_state: self.mamba_d_state,
            n_time,
            n_taps: self.mamba_d_conv,
            conv_bias: Bias::from(self.mamba_conv_bias.unwrap_or(true)),
            bias: Bias::from(self.mamba_proj_bias),
            eps: self.dims.rms_norm_eps,
        };
        layout.check(file)?;
        Ok(layout)
    }

    fn moe(&self, file: &ConfigFile) -> LoadResult<Option<MoeLayout>> {
        if self.num_experts <= 1 {
            return Ok(None);
        }
        let (n, top_k) = (self.num_experts, self.num_experts_per_tok);
        // As its authors have it: the picked experts' weights do not sum to 1.
        let experts = Experts { n, top_k, n_inner: self.dims.intermediate_size };
        let mut moe = experts.layout(file, Scoring::Softmax)?;
        moe.name = "feed_forward";
        moe.router.name = "router";
        Ok(Some(moe))
    }

    fn attends(&self, file: &ConfigFile, layer_idx: usize) -> LoadResult<bool> {
        let Some(kinds) = &self.layers_block_type else {
            return Ok(is_nth(layer_idx, self.attn_layer_period, self.attn_layer_offset));
        };
        match kinds.get(layer_idx).map(String::as_str) {
            Some("attention") => Ok(true),
            Some("mamba") => Ok(false),
            other => Err(file.error(&format!("layer {layer_idx} is {other:.40?}, which is not supported"))),
        }
    }
}
