//! Olmo Hybrid (OLMo Team 2026): three layers of linear attention, normed before their parts, for one of softmax attention,
//! normed after them.

use serde::Deserialize;

use super::Model;
use super::block::{Mixer, Norms, Recipe};
use super::decoder::{Dims, sanitize, windows};
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::delta_net::{DeltaNet, DeltaNetLayout, Kept};
use crate::layers::delta_rule::Beta;
use crate::layers::gated_delta::HeadShape;
use crate::layers::linear::Bias;
use crate::layers::mlp::Activation;
use crate::layers::self_attention::QkNorm;
use crate::weights::Weights;

/// Of the norm of what linear attention reads, whatever the others have.
const EPS: f32 = 1e-5;

#[derive(Deserialize)]
struct Config {
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
    linear_allow_neg_eigval: Option<bool>,
    layer_types: Option<Vec<String>>,
}

impl Config {
    fn is_linear(&self, layer_idx: usize) -> bool {
        match self.layer_types.as_ref().and_then(|types| types.get(layer_idx)) {
            Some(kind) => kind == "linear_attention",
            None => !(layer_idx + 1).is_multiple_of(4),
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
            eps: EPS,
            kept: Kept::Apart,
            beta: if self.linear_allow_neg_eigval.unwrap_or(true) { Beta::ToTwo } else { Beta::ToOne },
        })
    }
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    // Some say both; the other's default is what is fixed here.
    let file = &file.with_one_name(&["rms_norm_eps", "layer_norm_epsilon"]);
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    let delta_net = config.delta_net(file)?;
    sanitize(weights, config.tie_word_embeddings);
    let kernels = weights.root().kernels();
    // Those that name no base do not rotate.
    let is_rotated = config.dims.rope.theta().is_some();
    let rope = if is_rotated { config.dims.rope(file, kernels)? } else { config.dims.no_rope(kernels) };
    let windows = windows(&config.dims, None, None, |_| false);
    let mut recipe = Recipe::new(config.dims.clone(), windows, &rope);
    recipe.norms = Norms::POST;
    recipe.attention.qkv_bias = Bias::from(config.attention_bias);
    recipe.attention.o_bias = Bias::from(config.attention_bias);
    recipe.attention.qk_norm = Some(QkNorm::all_heads(recipe.dims.rms_norm_eps));
    recipe.mlp.activation = config.hidden_act;
    for (layer_idx, layer) in recipe.layers.iter_mut().enumerate() {
        layer.norms = config.is_linear(layer_idx).then_some(Norms::PRE);
    }
    recipe.recurrent = Some(Box::new(move |at, layer_idx| {
        let load = || -> LoadResult<Box<dyn Mixer>> {
            Ok(Box::new(DeltaNet::load(&at.at("linear_attn"), delta_net, layer_idx)?))
        };
        config.is_linear(layer_idx).then(load).transpose()
    }));
    recipe.load(weights)
}
