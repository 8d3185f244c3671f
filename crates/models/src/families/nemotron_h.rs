//! Nemotron-H (NVIDIA 2025): layers of one part each, of state space, attention, feed-forward or experts.

use serde::Deserialize;
use serde_json::Value;

use super::Model;
use super::decoder::{Dims, sanitize};
use super::experts::{Experts, groups};
use super::stack::{Factors, Part, RMS, Stack, Sum};
use crate::LoadResult;
use crate::cache::CacheKind;
use crate::config::{ConfigFile, Limit};
use crate::layers::attention::Sdpa;
use crate::layers::linear::Bias;
use crate::layers::mlp::{Activation, PlainMlp};
use crate::layers::moe::{Glu, Latent, Moe, MoeLayout, Scoring};
use crate::layers::self_attention::{Layout, SelfAttention};
use crate::layers::ssm::{GateNorm, GateOrder, Ssm, SsmLayout};
use crate::weights::{At, Weights};

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    tie_word_embeddings: Option<bool>,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    mamba_proj_bias: bool,
    #[serde(default = "yes")]
    use_conv_bias: bool,
    mamba_num_heads: usize,
    mamba_head_dim: usize,
    ssm_state_size: usize,
    conv_kernel: usize,
    n_groups: usize,
    time_step_limit: Option<[f64; 2]>,
    moe_shared_expert_intermediate_size: Option<usize>,
}

#[derive(Deserialize)]
struct MoeConfig {
    n_routed_experts: usize,
    num_experts_per_tok: usize,
    moe_intermediate_size: usize,
    n_shared_experts: Option<usize>,
    moe_latent_size: Option<usize>,
    n_group: Option<usize>,
    topk_group: Option<usize>,
    #[serde(default = "yes")]
    norm_topk_prob: bool,
    routed_scaling_factor: Option<f32>,
}

#[derive(Deserialize)]
struct Kinds {
    hybrid_override_pattern: Option<Value>,
    #[serde(alias = "layer_types")]
    layers_block_type: Option<Vec<String>>,
}

fn yes() -> bool {
    true
}

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    StateSpace,
    Attention,
    Dense,
    Sparse,
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let kinds = Kind::all(file)?;
    let file = file.with_one_name(&["rms_norm_eps", "layer_norm_epsilon", "norm_eps", "layer_norm_eps"]);
    let file = file.with_defaults(&[("num_hidden_layers", kinds.len().into()), ("intermediate_size", 1.into())]);
    let mut config: Config = file.parse()?;
    config.dims.num_hidden_layers = kinds.len();
    config.dims.check(&file)?;
    sanitize(weights, config.tie_word_embeddings);
    weights.rename(ours);
    let network = Network { moe: config.moe(&file, &kinds)?, ssm: config.ssm(), config };
    network.ssm.check(&file)?;
    let (mut parts, mut caches) = (Vec::new(), Vec::new());
    for (layer_idx, kind) in kinds.into_iter().enumerate() {
        let at = weights.root().at("model.layers").at(layer_idx);
        let part = network.part(&at, kind, caches.len())?;
        match kind {
            Kind::StateSpace => caches.push(CacheKind::State),
            Kind::Attention => caches.push(CacheKind::Full),
            Kind::Dense | Kind::Sparse => {}
        }
        parts.push((network.config.dims.norm(&at.at("norm"), RMS)?, part));
    }
    Ok(Box::new(Stack::new(weights, &network.config.dims, parts, caches, Factors::default())?))
}

/// The name that the shared parts know; `None` = of a head that predicts several tokens.
fn ours(name: &str) -> Option<String> {
    if name.starts_with("mtp.") {
        return None;
    }
    let name = name.strip_prefix("backbone.").map_or_else(|| name.to_owned(), |rest| format!("model.{rest}"));
    let name = name.replace("model.embeddings.", "model.embed_tokens.").replace("model.norm_f.", "model.norm.");
    Some(name.replace(".switch_mlp.fc1.", ".switch_mlp.up_proj.").replace(".switch_mlp.fc2.", ".switch_mlp.down_proj."))
}

struct Network {
    config: Config,
    ssm: SsmLayout,
    moe: Option<MoeLayout>,
}

impl Network {
    fn part(&self, at: &At<'_, '_>, kind: Kind, cache_idx: usize) -> LoadResult<Box<dyn Part>> {
        let (dims, mixer) = (&self.config.dims, at.at("mixer"));
        let [n_hidden, n_inner] = dims.mlp();
        let mlp_bias = Bias::from(self.config.mlp_bias);
        Ok(match (kind, &self.moe) {
            (Kind::StateSpace, _) => Box::new(Ssm::load(&mixer, self.ssm, cache_idx)?),
            (Kind::Attention, _) => {
                let bias = Bias::from(self.config.attention_bias);
                let layout = Layout { qkv_bias: bias, o_bias: bias, ..Layout::plain(n_hidden) };
                let sdpa = Sdpa::new(dims.attention(None), cache_idx, at.kernels());
                Box::new(SelfAttention::load(&mixer, layout, sdpa, &dims.no_rope(at.kernels()))?)
            }
            (Kind::Sparse, Some(moe)) => {
                let moe = Moe::load(at, n_hidden, moe)?;
                match self.config.moe_shared_expert_intermediate_size {
                    Some(n) => {
                        let sizes = [n_hidden, n as i32];
                        let shared = PlainMlp::load(&mixer.at("shared_experts"), sizes, mlp_bias, Activation::Relu2)?;
                        Box::new(Sum(vec![Box::new(moe), Box::new(shared)]))
                    }
                    None => Box::new(moe),
                }
            }
            _ => Box::new(PlainMlp::load(&mixer, [n_hidden, n_inner], mlp_bias, Activation::Relu2)?),
        })
    }
}

impl Config {
    fn ssm(&self) -> SsmLayout {
        let norm = GateNorm { n_parts: self.n_groups, eps: self.dims.rms_norm_eps, order: GateOrder::GateFirst };
        SsmLayout {
            n_hidden: self.dims.hidden_size,
            n_heads: self.mamba_num_heads,
            head_dim: self.mamba_head_dim,
            n_groups: self.n_groups,
            n_state: self.ssm_state_size,
            n_taps: self.conv_kernel,
            conv_bias: Bias::from(self.use_conv_bias),
            in_bias: Bias::from(self.mamba_proj_bias),
            out_bias: Bias::from(self.mamba_proj_bias),
            time_limit: self.time_step_limit.unwrap_or([0.0, f64::INFINITY]).map(|limit| limit as f32),
            norm: Some(norm),
        }
    }

    /// The experts, if a layer has them; what all tokens take is apart from them here.
    fn moe(&mut self, file: &ConfigFile, kinds: &[Kind]) -> LoadResult<Option<MoeLayout>> {
        if !kinds.contains(&Kind::Sparse) {
            return Ok(None);
        }
        let config: MoeConfig = file.parse()?;
        let (n, top_k) = (config.n_routed_experts, config.num_experts_per_tok);
        let mut moe = Experts { n, top_k, n_inner: config.moe_intermediate_size }.layout(file, Scoring::Sigmoid)?;
        moe.name = "mixer";
        moe.glu = Glu::Ungated(Activation::Relu2);
        moe.router.correction = Some("gate.e_score_correction_bias");
        moe.router.groups = groups(file, n, [config.n_group.unwrap_or(1), config.topk_group.unwrap_or(1), 2])?;
        moe.router.is_normalised = config.norm_topk_prob && top_k > 1;
        moe.router.factor = config.routed_scaling_factor.unwrap_or(1.0);
        if let Some(n) = config.moe_latent_size {
            file.check(&[Limit::positive("moe_latent_size", n, 1 << 17)])?;
            let names = ["fc1_latent_proj", "fc2_latent_proj"];
            moe.latent = Some(Latent { n, names, bias: Bias::from(self.mlp_bias) });
        }
        let shared = self.moe_shared_expert_intermediate_size.filter(|_| config.n_shared_experts.unwrap_or(0) > 0);
        if let Some(n) = shared {
            file.check(&[Limit::positive("moe_shared_expert_intermediate_size", n, 1 << 20)])?;
        }
        self.moe_shared_expert_intermediate_size = shared;
        Ok(Some(moe))
    }
}

impl Kind {
    /// Of each layer, as letters or words.
    fn all(file: &ConfigFile) -> LoadResult<Vec<Self>> {
        let words: Vec<String> = match file.parse::<Kinds>()? {
            Kinds { hybrid_override_pattern: Some(Value::String(letters)), .. } => {
                letters.chars().map(String::from).collect()
            }
            Kinds { hybrid_override_pattern: Some(Value::Array(words)), .. } => {
                words.iter().map(|word| word.as_str().unwrap_or_default().to_owned()).collect()
            }
            Kinds { layers_block_type: Some(words), .. } => words,
            Kinds { .. } => return Err(file.error("it has neither hybrid_override_pattern nor layers_block_type")),
        };
        file.check(&[Limit::positive("the number of layers", words.len(), 1024)])?;
        let kind = |word: &String| match word.as_str() {
            "M" | "mamba" | "linear_attention" | "conv" => Ok(Self::StateSpace),
            "*" | "attention" | "full_attention" => Ok(Self::Attention),
            "-" | "mlp" => Ok(Self::Dense),
            "E" | "moe" => Ok(Self::Sparse),
            other => Err(file.error(&format!("{other:.40?} is no kind of layer that this family has"))),
        };
        words.iter().map(kind).collect()
    }
}
