//! Falcon H1 (Technology Innovation Institute 2025): state space and attention side by side in every layer, with a factor
//! almost everywhere. MLX conversions have most factors in their weights already.

use serde::Deserialize;

use super::Model;
use super::decoder::{Dims, sanitize};
use super::stack::{Factors, Part, RMS, Stack, Sum};
use crate::LoadResult;
use crate::cache::CacheKind;
use crate::config::ConfigFile;
use crate::layers::attention::Sdpa;
use crate::layers::linear::Bias;
use crate::layers::mlp::{GatedMlp, MlpLayout};
use crate::layers::self_attention::{Layout, SelfAttention};
use crate::layers::ssm::{GateNorm, GateOrder, Ssm, SsmLayout};
use crate::mx::{self, Array, Dtype};
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    #[serde(flatten)]
    multipliers: Multipliers,
    #[serde(default = "yes")]
    tie_word_embeddings: bool,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    projectors_bias: bool,
    mamba_d_ssm: Option<usize>,
    mamba_n_heads: usize,
    mamba_d_head: usize,
    mamba_d_state: usize,
    mamba_d_conv: usize,
    mamba_n_groups: usize,
    #[serde(default)]
    mamba_proj_bias: bool,
    #[serde(default = "yes")]
    mamba_conv_bias: bool,
    #[serde(default)]
    mamba_rms_norm: bool,
    #[serde(default)]
    mamba_norm_before_gate: bool,
    time_step_limit: Option<[f64; 2]>,
}

fn yes() -> bool {
    true
}

/// Factors of what goes into and comes out of the parts.
#[derive(Clone, Copy, Deserialize)]
struct Multipliers {
    #[serde(default = "one")]
    embedding_multiplier: f32,
    #[serde(default = "one")]
    lm_head_multiplier: f32,
    #[serde(default = "one")]
    attention_in_multiplier: f32,
    #[serde(default = "one")]
    attention_out_multiplier: f32,
    #[serde(default = "one")]
    key_multiplier: f32,
    #[serde(default = "ones")]
    mlp_multipliers: [f32; 2],
    #[serde(default = "one")]
    ssm_in_multiplier: f32,
    #[serde(default = "one")]
    ssm_out_multiplier: f32,
    /// Of gate, input, inward and outward vectors, and time.
    #[serde(default = "ones")]
    ssm_multipliers: [f32; 5],
}

fn one() -> f32 {
    1.0
}

fn ones<const N: usize>() -> [f32; N] {
    [1.0; N]
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.with_defaults(&[("rope_theta", 1e11.into())]).parse()?;
    let dims = &config.dims;
    dims.check(file)?;
    let ssm = config.ssm();
    ssm.check(file)?;
    if config.mamba_d_ssm.is_some_and(|n| n != ssm.n_heads * ssm.head_dim) {
        return Err(file.error("mamba_d_ssm is not mamba_n_heads * mamba_d_head"));
    }
    sanitize(weights, Some(config.tie_word_embeddings));
    weights.rename(|name| Some(name.replace("model.final_layernorm.", "model.norm.")));
    let filter = weights.shape("model.layers.0.mamba.conv1d.weight").unwrap_or_default();
    let is_folded = matches!(filter.as_slice(), [_, taps, last] if last <= taps);
    if !is_folded {
        weights.remake(|name, array| config.folded(name, array))?;
    }
    let rope = dims.rope(file, weights.root().kernels())?;
    let n_layers = dims.num_hidden_layers;
    let bias = Bias::from(config.attention_bias);
    let layout = Layout { qkv_bias: bias, o_bias: bias, ..Layout::plain(dims.hidden_size as i32) };
    let mlp = MlpLayout { bias: Bias::from(config.mlp_bias), ..MlpLayout::default() };
    let mut parts: Vec<(_, Box<dyn Part>)> = Vec::new();
    for layer_idx in 0..n_layers {
        let at = weights.root().at("model.layers").at(layer_idx);
        let sdpa = Sdpa::new(dims.attention(None), layer_idx, at.kernels());
        let attention = SelfAttention::load(&at.at("self_attn"), layout, sdpa, &rope)?;
        let mixer = Sum(vec![Box::new(Ssm::load(&at.at("mamba"), ssm, n_layers + layer_idx)?), Box::new(attention)]);
        parts.push((dims.norm(&at.at("input_layernorm"), RMS)?, Box::new(mixer)));
        let mlp = GatedMlp::load(&at.at("feed_forward"), dims.mlp(), mlp)?;
        parts.push((dims.norm(&at.at("pre_ff_layernorm"), RMS)?, Box::new(mlp)));
    }
    let caches = [vec![CacheKind::Full; n_layers], vec![CacheKind::State; n_layers]].concat();
    Ok(Box::new(Stack::new(weights, dims, parts, caches, config.factors(is_folded))?))
}

impl Config {
    fn ssm(&self) -> SsmLayout {
        let order = if self.mamba_norm_before_gate { GateOrder::NormFirst } else { GateOrder::GateFirst };
        let norm = GateNorm { n_parts: self.mamba_n_groups, eps: self.dims.rms_norm_eps, order };
        SsmLayout {
            n_hidden: self.dims.hidden_size,
            n_heads: self.mamba_n_heads,
            head_dim: self.mamba_d_head,
            n_groups: self.mamba_n_groups,
            n_state: self.mamba_d_state,
            n_taps: self.mamba_d_conv,
            conv_bias: Bias::from(self.mamba_conv_bias),
            in_bias: Bias::from(self.mamba_proj_bias),
            out_bias: Bias::from(self.projectors_bias),
            time_limit: self.time_step_limit.unwrap_or([0.0, f64::INFINITY]).map(|limit| limit as f32),
            norm: self.mamba_rms_norm.then_some(norm),
        }
    }

    /// What is left to do outside the parts.
    fn factors(&self, is_folded: bool) -> Factors {
        let Multipliers { embedding_multiplier, lm_head_multiplier, .. } = self.multipliers;
        match (is_folded, self.tie_word_embeddings) {
            (false, _) => Factors { embedding: embedding_multiplier, logits: lm_head_multiplier, residual: 1.0 },
            (true, true) => Factors { logits: lm_head_multiplier / embedding_multiplier, ..Factors::default() },
            (true, false) => Factors::default(),
        }
    }

    /// A part's weight with its factor in it.
    fn folded(&self, name: &str, array: &Array) -> mx::Result<Option<Vec<(String, Array)>>> {
        let m = &self.multipliers;
        let endings = [".weight", ".scales", ".biases", ".bias"];
        let module = endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
        // What is packed carries factors in what unpacks it.
        if array.dtype() == Dtype::Uint32 {
            return Ok(None);
        }
        let (is_bias, module) = (name.ends_with(".bias"), module.rsplit('.').next().unwrap_or(module));
        // A bias is added after what the input was multiplied by.
        let of_input = |factor: f32| if is_bias { 1.0 } else { factor };
        let factor = match module {
            "q_proj" | "v_proj" => of_input(m.attention_in_multiplier),
            "k_proj" => of_input(m.attention_in_multiplier) * m.key_multiplier,
            "o_proj" => m.attention_out_multiplier,
            "out_proj" => m.ssm_out_multiplier,
            "gate_proj" => m.mlp_multipliers[0],
            "down_proj" => m.mlp_multipliers[1],
            "in_proj" => {
                let factors = self.inward().map(|factor| factor * of_input(m.ssm_in_multiplier)).collect::<Vec<_>>();
                if array.shape().first() != Some(&(factors.len() as i32)) {
                    let what = format!("{name} is {:?}, but config.json implies {} rows", array.shape(), factors.len());
                    return Err(mx::Error { what });
                }
                let shape = if is_bias { vec![factors.len() as i32] } else { vec![factors.len() as i32, 1] };
                return scaled(name, array, &Array::from_slice(&factors, &shape)).map(Some);
            }
            _ => return Ok(None),
        };
        scaled(name, array, &mx::scalar(factor)).map(Some)
    }

    /// A factor for each output of the state space's projection inward.
    fn inward(&self) -> impl Iterator<Item = f32> + use<> {
        let n_inner = self.mamba_n_heads * self.mamba_d_head;
        let n_vectors = self.mamba_n_groups * self.mamba_d_state;
        let sizes = [n_inner, n_inner, n_vectors, n_vectors, self.mamba_n_heads];
        sizes.into_iter().zip(self.multipliers.ssm_multipliers).flat_map(|(n, factor)| std::iter::repeat_n(factor, n))
    }
}

fn scaled(name: &str, array: &Array, factor: &Array) -> mx::Result<Vec<(String, Array)>> {
    if !array.dtype().is_float() {
        return Err(mx::Error {
            what: format!("{name} cannot carry a factor; take an affine packing of this checkpoint"),
        });
    }
    let product = mx::multiply(&mx::cast(array, Dtype::Float32)?, factor)?;
    Ok(vec![(name.to_owned(), mx::cast(&product, array.dtype())?)])
}
