//! Granite 4 (IBM 2025): state-space layers with attention in some, each before experts or a dense feed-forward part.

use serde::Deserialize;

use super::Model;
use super::decoder::{Dims, sanitize};
use super::experts::Experts;
use super::stack::{Factors, Part, RMS, Stack, Sum};
use crate::LoadResult;
use crate::cache::CacheKind;
use crate::config::{ConfigFile, Limit};
use crate::layers::attention::{AttentionShape, Sdpa};
use crate::layers::linear::Bias;
use crate::layers::mlp::{GatedMlp, Inward, MlpLayout};
use crate::layers::moe::{Moe, MoeLayout, Scoring};
use crate::layers::rope::Rope;
use crate::layers::self_attention::{Layout, SelfAttention};
use crate::layers::ssm::{GateNorm, GateOrder, Ssm, SsmLayout};
use crate::mx::{self, Array, Cut};
use crate::weights::{At, Weights};

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    layer_types: Vec<String>,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default = "one")]
    attention_multiplier: f32,
    #[serde(default = "one")]
    embedding_multiplier: f32,
    #[serde(default = "one")]
    residual_multiplier: f32,
    #[serde(default = "one")]
    logits_scaling: f32,
    position_embedding_type: Option<String>,
    tie_word_embeddings: Option<bool>,
    num_local_experts: Option<usize>,
    num_experts_per_tok: Option<usize>,
    shared_intermediate_size: Option<usize>,
}

#[derive(Deserialize)]
struct SsmConfig {
    mamba_n_heads: usize,
    mamba_d_head: usize,
    mamba_d_state: usize,
    mamba_d_conv: usize,
    mamba_n_groups: usize,
    #[serde(default)]
    mamba_proj_bias: bool,
    mamba_conv_bias: Option<bool>,
    time_step_limit: Option<[f64; 2]>,
}

fn one() -> f32 {
    1.0
}

/// The checkpoint's names, and ours. Without experts, the shared part is the only one.
const NAMES: &[(&str, &str)] = &[
    (".shared_mlp.input_linear.", ".shared_mlp.gate_up_proj."),
    (".shared_mlp.output_linear.", ".shared_mlp.down_proj."),
];

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    let dims = &config.dims;
    dims.check(file)?;
    sanitize(weights, config.tie_word_embeddings.or(Some(true)));
    let moe = config.moe(file)?;
    weights.rename(|name| {
        let known = NAMES.iter().find(|(theirs, _)| name.contains(theirs));
        let name = known.map_or_else(|| name.to_owned(), |(theirs, ours)| name.replace(theirs, ours));
        Some(if moe.is_some() { name } else { name.replace(".shared_mlp.", ".mlp.") })
    });
    weights.remake(split_experts)?;
    let ssm = config.layer_types.iter().any(|kind| kind == "mamba").then(|| ssm(file, dims)).transpose()?;
    let rope = config.rope(file, weights)?;
    let (mut parts, mut caches): (Vec<(_, Box<dyn Part>)>, _) = (Vec::new(), Vec::new());
    for layer_idx in 0..dims.num_hidden_layers {
        let at = weights.root().at("model.layers").at(layer_idx);
        let mixer: Box<dyn Part> = match (config.layer_types.get(layer_idx).map(String::as_str), ssm) {
            (Some("mamba"), Some(ssm)) => {
                caches.push(CacheKind::State);
                Box::new(Ssm::load(&at.at("mamba"), ssm, layer_idx)?)
            }
            (Some("attention" | "full_attention"), _) => {
                caches.push(CacheKind::Full);
                Box::new(config.attention(&at.at("self_attn"), layer_idx, &rope)?)
            }
            (other, _) => return Err(file.error(&format!("layer {layer_idx} is {other:.40?}, which is not supported"))),
        };
        parts.push((dims.norm(&at.at("input_layernorm"), RMS)?, mixer));
        parts.push((dims.norm(&at.at("post_attention_layernorm"), RMS)?, config.feed_forward(&at, moe.as_ref())?));
    }
    let factors = Factors {
        embedding: config.embedding_multiplier,
        residual: config.residual_multiplier,
        logits: 1.0 / config.logits_scaling,
    };
    Ok(Box::new(Stack::new(weights, dims, parts, caches, factors)?))
}

/// Gate and up of all experts, which the checkpoint keeps joined, apart.
fn split_experts(name: &str, array: &Array) -> mx::Result<Option<Vec<(String, Array)>>> {
    let Some((at, joined)) = name.split_once(".block_sparse_moe.") else { return Ok(None) };
    let at = format!("{at}.block_sparse_moe.switch_mlp");
    match joined {
        "input_linear.weight" if array.ndim() == 3 => {
            let n = array.dim(1) / 2;
            let half = |start| mx::slice(array, &[Cut { axis: 1, start, stop: start + n }]);
            Ok(Some(vec![(format!("{at}.gate_proj.weight"), half(0)?), (format!("{at}.up_proj.weight"), half(n)?)]))
        }
        "output_linear.weight" => Ok(Some(vec![(format!("{at}.down_proj.weight"), array.clone())])),
        _ => Ok(None),
    }
}

fn ssm(file: &ConfigFile, dims: &Dims) -> LoadResult<SsmLayout> {
    let config: SsmConfig = file.parse()?;
    let bias = Bias::from(config.mamba_proj_bias);
    let layout = SsmLayout {
        n_hidden: dims.hidden_size,
        n_heads: config.mamba_n_heads,
        head_dim: config.mamba_d_head,
        n_groups: config.mamba_n_groups,
        n_state: config.mamba_d_state,
        n_taps: config.mamba_d_conv,
        conv_bias: Bias::from(config.mamba_conv_bias.unwrap_or(true)),
        in_bias: bias,
        out_bias: bias,
        time_limit: config.time_step_limit.unwrap_or([0.0, f64::INFINITY]).map(|limit| limit as f32),
        norm: Some(GateNorm { n_parts: 1, eps: dims.rms_norm_eps, order: GateOrder::GateFirst }),
    };
    layout.check(file)?;
    Ok(layout)
}

impl Config {
    fn moe(&self, file: &ConfigFile) -> LoadResult<Option<MoeLayout>> {
        let n = self.num_local_experts.unwrap_or(0);
        if n == 0 {
            return Ok(None);
        }
        if let Some(n) = self.shared_intermediate_size {
            file.check(&[Limit { name: "shared_intermediate_size", value: n, low: 0, high: 1 << 20 }])?;
        }
        let (top_k, n_inner) = (self.num_experts_per_tok.unwrap_or(0), self.dims.intermediate_size);
        let mut moe = Experts { n, top_k, n_inner }.layout(file, Scoring::SoftmaxOfPicked)?;
        moe.name = "block_sparse_moe";
        moe.router.name = "router.layer";
        Ok(Some(moe))
    }

    fn shape(&self) -> AttentionShape {
        AttentionShape { scale: self.attention_multiplier, ..self.dims.attention(None) }
    }

    fn rope(&self, file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Rope> {
        let (kernels, scale) = (weights.root().kernels(), self.attention_multiplier);
        match self.position_embedding_type.as_deref() {
            Some("rope") => self.dims.rope_of(file, &self.dims.rope, kernels, scale),
            _ => Ok(Rope::none(self.dims.head_dim(), kernels, scale.sqrt())),
        }
    }

    fn attention(&self, at: &At<'_, '_>, cache_idx: usize, rope: &Rope) -> LoadResult<SelfAttention> {
        let bias = Bias::from(self.attention_bias);
        let layout = Layout { qkv_bias: bias, o_bias: bias, ..Layout::plain(self.dims.hidden_size as i32) };
        SelfAttention::load(at, layout, Sdpa::new(self.shape(), cache_idx, at.kernels()), rope)
    }

    fn feed_forward(&self, at: &At<'_, '_>, moe: Option<&MoeLayout>) -> LoadResult<Box<dyn Part>> {
        let [n_hidden, n_inner] = self.dims.mlp();
        let joined = MlpLayout { inward: Inward::Joined, ..MlpLayout::default() };
        let Some(moe) = moe else {
            let is_joined = at.has("mlp.gate_up_proj.weight");
            let layout = MlpLayout { bias: Bias::from(self.mlp_bias), ..MlpLayout::default() };
            let layout = if is_joined { joined } else { layout };
            return Ok(Box::new(GatedMlp::load(&at.at("mlp"), [n_hidden, n_inner], layout)?));
        };
        let experts = Moe::load(at, n_hidden, moe)?;
        match self.shared_intermediate_size.unwrap_or(0) {
            0 => Ok(Box::new(experts)),
            n => {
                let shared = GatedMlp::load(&at.at("shared_mlp"), [n_hidden, n as i32], joined)?;
                Ok(Box::new(Sum(vec![Box::new(experts), Box::new(shared)])))
            }
        }
    }
}
