//! Ling-linear and Ring-linear 2 (Inclusion AI 2025): Ling and Ring with groups of layers of lightning attention, each closed by
//! one of softmax attention.

use serde::Deserialize;

use super::bailing_hybrid::closes_group;
use super::block::Mixer;
use super::decoder::Dims;
use super::{Model, bailing_moe};
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::lightning::{Lightning, LightningLayout};
use crate::layers::linear::Bias;
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
    layer_group_size: usize,
    group_norm_size: usize,
}

impl Config {
    fn lightning(&self, file: &ConfigFile) -> LoadResult<LightningLayout> {
        let Self { dims, layer_group_size, group_norm_size, .. } = self;
        let n = dims.num_attention_heads * dims.head_dim();
        file.check(&[
            Limit::positive("layer_group_size", *layer_group_size, 1024),
            Limit::positive("group_norm_size", *group_norm_size, n),
        ])?;
        if !n.is_multiple_of(*group_norm_size) {
            return Err(file.error(&format!("group_norm_size {group_norm_size} does not divide the heads")));
        }
        Ok(LightningLayout {
            n_hidden: dims.hidden_size as i32,
            n_heads: dims.num_attention_heads as i32,
            head_dim: dims.head_dim() as i32,
            n_norm_groups: *group_norm_size as i32,
            eps: dims.rms_norm_eps,
            qkv_bias: Bias::from(self.use_qkv_bias),
            o_bias: Bias::from(self.use_bias),
            qk_norm: self.use_qk_norm,
            rate: 1.0,
        })
    }
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    let mut recipe = bailing_moe::recipe(file, weights)?;
    let lightning = config.lightning(file)?;
    // It rotates as attention does, but nothing of the scores' scale belongs in it.
    let rope = config.dims.rope_of(file, &config.dims.rope, weights.root().kernels(), 1.0)?;
    let n_layers = config.dims.num_hidden_layers;
    recipe.recurrent = Some(Box::new(move |at, layer_idx| {
        let at_part = layer_idx.saturating_sub(1) as f32 / (n_layers - 1).max(1) as f32;
        let layout = LightningLayout { rate: 1.0 - at_part + 1e-5, ..lightning };
        let load = || -> LoadResult<Box<dyn Mixer>> {
            Ok(Box::new(Lightning::load(&at.at("self_attn"), layout, layer_idx, &rope)?))
        };
        (!closes_group(layer_idx, config.layer_group_size, n_layers)).then(load).transpose()
    }));
    recipe.load(weights)
}
