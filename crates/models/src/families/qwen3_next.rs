//! Qwen3-Next (Qwen Team 2025) and Qwen3.5 with or without experts: three layers of linear attention for one of gated softmax
//! attention that rotates a quarter of each head.

use serde::Deserialize;

use super::Model;
use super::block::{Chained, HeadLayout, Layer, Mixer, MlpKind, Recipe};
use super::decoder::{Dims, sanitize, windows};
use super::experts::{Experts, switch};
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::delta_net::{DeltaNet, DeltaNetLayout, Kept};
use crate::layers::delta_rule::Beta;
use crate::layers::gated_delta::HeadShape;
use crate::layers::linear::Bias;
use crate::layers::mlp::Activation;
use crate::layers::moe::{MoeLayout, Scoring, Shared};
use crate::layers::norm::{Centre, NormKind};
use crate::layers::self_attention::{Gate, QkNorm};
use crate::mx::{self, Array, Cut, Result};
use crate::pass::Pass;
use crate::weights::{Split, Weights};

#[derive(Deserialize)]
struct Config {
    model_type: String,
    #[serde(flatten)]
    dims: Dims,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    hidden_act: Activation,
    tie_word_embeddings: Option<bool>,
    linear_num_key_heads: usize,
    linear_num_value_heads: usize,
    linear_key_head_dim: usize,
    linear_value_head_dim: usize,
    linear_conv_kernel_dim: usize,
    full_attention_interval: Option<usize>,
    layer_types: Option<Vec<String>>,
    num_experts: Option<usize>,
    num_experts_per_tok: Option<usize>,
    moe_intermediate_size: Option<usize>,
    shared_expert_intermediate_size: Option<usize>,
    norm_topk_prob: Option<bool>,
    decoder_sparse_step: Option<usize>,
    #[serde(default)]
    mlp_only_layers: Vec<usize>,
}

impl Config {
    fn is_next(&self) -> bool {
        self.model_type == "qwen3_next"
    }

    fn is_linear(&self, layer_idx: usize) -> bool {
        match self.layer_types.as_ref().and_then(|types| types.get(layer_idx)) {
            Some(kind) => kind == "linear_attention",
            None => !(layer_idx + 1).is_multiple_of(self.full_attention_interval.unwrap_or(4).max(1)),
        }
    }

    fn delta_net(&self, file: &ConfigFile) -> LoadResult<DeltaNetLayout> {
        let (n_k_heads, n_v_heads) = (self.linear_num_key_heads, self.linear_num_value_heads);
        file.check(&[
            Limit::positive("linear_num_key_heads", n_k_heads, 1024),
            Limit::positive("linear_num_value_heads", n_v_heads, 1024),
            Limit::positive("linear_key_head_dim", self.linear_key_head_dim, 1024),
            Limit::positive("linear_value_head_dim", self.linear_value_head_dim, 1024),
            Limit { name: "linear_conv_kernel_dim", value: self.linear_conv_kernel_dim, low: 2, high: 64 },
        ])?;
        if !n_v_heads.is_multiple_of(n_k_heads) {
            return Err(file.error(&format!("{n_v_heads} value heads do not share {n_k_heads} key heads evenly")));
        }
        Ok(DeltaNetLayout {
            n_hidden: self.dims.hidden_size as i32,
            heads: HeadShape {
                n_k_heads: n_k_heads as i32,
                n_v_heads: n_v_heads as i32,
                k_dim: self.linear_key_head_dim as i32,
                v_dim: self.linear_value_head_dim as i32,
            },
            n_taps: self.linear_conv_kernel_dim as i32,
            eps: self.dims.rms_norm_eps,
            kept: Kept::Joined,
            beta: Beta::ToOne,
        })
    }

    fn moe(&self, file: &ConfigFile, n: usize) -> LoadResult<MoeLayout> {
        let n_shared = self.shared_expert_intermediate_size.unwrap_or(0);
        file.check(&[Limit::positive("shared_expert_intermediate_size", n_shared, 1 << 20)])?;
        let (top_k, n_inner) = (self.num_experts_per_tok.unwrap_or(0), self.moe_intermediate_size.unwrap_or(0));
        let mut moe = Experts { n, top_k, n_inner }.layout(file, Scoring::Softmax)?;
        moe.router.is_normalised = self.norm_topk_prob.unwrap_or(!self.is_next());
        moe.shared = Some(Shared { name: "shared_expert", n_inner: n_shared, gate: Some("shared_expert_gate") });
        Ok(moe)
    }
}

impl Mixer for DeltaNet {
    fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        Self::forward(self, x, pass)
    }

    fn can_take_back(&self) -> bool {
        true
    }
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    // Networks of experts alone say nothing of a dense part.
    let file = &file.with_defaults(&[("intermediate_size", 1.into())]);
    let mut config: Config = file.parse()?;
    config.dims.check(file)?;
    let delta_net = config.delta_net(file)?;
    let moe = config.num_experts.filter(|n| *n > 0).map(|n| config.moe(file, n)).transpose()?;
    sanitize(weights, config.tie_word_embeddings);
    let centre = centre(&config, weights);
    take_apart(&config, weights)?;
    config.dims.rope.partial_rotary_factor.get_or_insert(0.25);
    if !config.is_next() {
        config.dims.rope.rope_theta.get_or_insert(100_000.0);
    }
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims.clone(), windows, &rope);
    let bias = Bias::from(config.attention_bias);
    recipe.attention.qkv_bias = bias;
    recipe.attention.o_bias = bias;
    recipe.attention.qk_norm = Some(QkNorm { centre, ..QkNorm::per_head(recipe.dims.rms_norm_eps) });
    recipe.attention.gate = Gate::Present;
    recipe.mlp.activation = config.hidden_act;
    recipe.norms.kind = NormKind::Rms(centre);
    recipe.moe = moe;
    let (step, dense) = (config.decoder_sparse_step.unwrap_or(1).max(1), &config.mlp_only_layers);
    let is_sparse = |layer_idx| !dense.contains(&layer_idx) && (layer_idx + 1).is_multiple_of(step);
    let has_experts = recipe.moe.is_some();
    switch(&mut recipe.layers, |layer_idx| has_experts && is_sparse(layer_idx));
    let mlp = if has_experts { MlpKind::Sparse } else { MlpKind::Dense };
    let layer = Layer { window: None, rope, attention: None, mlp, norms: None };
    recipe.head = weights.contains("mtp.fc.weight").then_some(HeadLayout { layer, chained: Chained::Normed });
    recipe.recurrent = Some(Box::new(move |at, layer_idx| {
        let load = || -> LoadResult<Box<dyn Mixer>> {
            Ok(Box::new(DeltaNet::load(&at.at("linear_attn"), delta_net, layer_idx)?))
        };
        config.is_linear(layer_idx).then(load).transpose()
    }));
    recipe.load(weights)
}

/// As published, weights of norms are stored less one; MLX conversions add it. The filters' shapes tell them apart.
fn centre(config: &Config, weights: &Weights<'_>) -> Centre {
    let first = (0..config.dims.num_hidden_layers).find(|layer_idx| config.is_linear(*layer_idx));
    let shape = first.and_then(|first| weights.shape(&format!("model.layers.{first}.linear_attn.conv1d.weight")));
    let is_converted = shape.is_none_or(|shape| shape.last() == Some(&1));
    if is_converted { Centre::Zero } else { Centre::One }
}

/// Drops all but the first block of the head that predicts, and takes joined projections apart.
fn take_apart(config: &Config, weights: &Weights<'_>) -> LoadResult<()> {
    weights.rename(|name| {
        let is_later = name.starts_with("mtp.layers.") && !name.starts_with("mtp.layers.0.");
        (!is_later).then(|| name.to_owned())
    });
    let head_dim = config.dims.head_dim();
    weights.split(&Split {
        name: "self_attn.q_proj",
        n_groups: config.dims.num_attention_heads,
        sections: &[head_dim, head_dim],
        parts: &[("self_attn.q_proj", &[0]), ("self_attn.gate_proj", &[1])],
    })?;
    let (n_groups, n_keys) = (config.linear_num_key_heads, config.linear_key_head_dim);
    let n_each = config.linear_num_value_heads / n_groups;
    let n_values = n_each * config.linear_value_head_dim;
    weights.split(&Split {
        name: "linear_attn.in_proj_qkvz",
        n_groups,
        sections: &[n_keys, n_keys, n_values, n_values],
        parts: &[("linear_attn.in_proj_qkv", &[0, 1, 2]), ("linear_attn.in_proj_z", &[3])],
    })?;
    weights.split(&Split {
        name: "linear_attn.in_proj_ba",
        n_groups,
        sections: &[n_each, n_each],
        parts: &[("linear_attn.in_proj_b", &[0]), ("linear_attn.in_proj_a", &[1])],
    })?;
    weights.remake(|name, array| {
        if let Some(path) = name.strip_suffix(".experts.gate_up_proj") {
            let n = array.shape().get(1).map_or(0, |n| n / 2);
            let part = |start, stop| mx::slice(array, &[Cut { axis: 1, start, stop }]);
            let named = |part: &str| format!("{path}.switch_mlp.{part}.weight");
            return Ok(Some(vec![(named("gate_proj"), part(0, n)?), (named("up_proj"), part(n, 2 * n)?)]));
        }
        let down = name.strip_suffix(".experts.down_proj").map(|path| format!("{path}.switch_mlp.down_proj.weight"));
        Ok(down.map(|name| vec![(name, array.clone())]))
    })
}
