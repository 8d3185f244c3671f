//! What the families' outer parts share: bounds on config.json, and the embedding and projection around the blocks.

use serde::Deserialize;

use crate::LoadResult;
use crate::cache::CacheKind;
use crate::config::{ConfigFile, Limit};
use crate::families::Sizes;
use crate::layers::attention::AttentionShape;
use crate::layers::embedding::Embedding;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::norm::{Norm, NormKind};
use crate::layers::rope::{Rope, RopeConfig};
use crate::mx::{Array, Result};
use crate::weights::{At, Kernels, Weights};

/// Fields of config.json that every decoder has.
#[derive(Clone, Debug, Deserialize)]
pub struct Dims {
    pub hidden_size: usize,
    pub num_hidden_layers: usize,
    pub intermediate_size: usize,
    pub num_attention_heads: usize,
    pub num_key_value_heads: Option<usize>,
    pub head_dim: Option<usize>,
    #[serde(alias = "layer_norm_eps", alias = "norm_eps", alias = "layer_norm_epsilon")]
    pub rms_norm_eps: f32,
    pub vocab_size: usize,
    #[serde(default = "default_context")]
    pub max_position_embeddings: usize,
    #[serde(flatten)]
    pub rope: RopeConfig,
}

fn default_context() -> usize {
    32_768
}

impl Dims {
    /// Checks every number, so that later arithmetic cannot overflow.
    pub fn check(&self, file: &ConfigFile) -> LoadResult<()> {
        file.check(&[
            Limit::positive("hidden_size", self.hidden_size, 1 << 17),
            Limit::positive("num_hidden_layers", self.num_hidden_layers, 1024),
            Limit::positive("intermediate_size", self.intermediate_size, 1 << 20),
            Limit::positive("num_attention_heads", self.num_attention_heads, 1024),
            Limit::positive("num_key_value_heads", self.n_kv_heads(), self.num_attention_heads),
            Limit::positive("head_dim", self.head_dim(), 4096),
            Limit::positive("vocab_size", self.vocab_size, 1 << 24),
            Limit::positive("max_position_embeddings", self.max_position_embeddings, 1 << 30),
        ])?;
        if !self.num_attention_heads.is_multiple_of(self.n_kv_heads()) {
            let (q, kv) = (self.num_attention_heads, self.n_kv_heads());
            return Err(file.error(&format!("{q} attention heads do not share {kv} key and value heads evenly")));
        }
        if !(self.rms_norm_eps >= 0.0 && self.rms_norm_eps < 1.0) {
            return Err(file.error(&format!("rms_norm_eps is {}, but must be between 0 and 1", self.rms_norm_eps)));
        }
        Ok(())
    }

    fn n_kv_heads(&self) -> usize {
        self.num_key_value_heads.unwrap_or(self.num_attention_heads)
    }

    /// Elements a head.
    pub fn head_dim(&self) -> usize {
        self.head_dim.unwrap_or(self.hidden_size / self.num_attention_heads.max(1))
    }

    /// Hidden and inner size of the feed-forward part.
    pub fn mlp(&self) -> [i32; 2] {
        [self.hidden_size as i32, self.intermediate_size as i32]
    }

    /// Attention with the usual scale.
    pub fn attention(&self, window: Option<usize>) -> AttentionShape {
        AttentionShape {
            n_heads: self.num_attention_heads as i32,
            n_kv_heads: self.n_kv_heads() as i32,
            head_dim: self.head_dim() as i32,
            scale: (self.head_dim() as f32).powf(-0.5),
            reach: window.into(),
            cap: None,
        }
    }

    /// Takes a norm over the hidden size.
    pub fn norm(&self, at: &At<'_, '_>, kind: NormKind) -> LoadResult<Norm> {
        Norm::load(at, self.hidden_size as i32, self.rms_norm_eps, kind)
    }

    /// The rotation of attention with the usual scale.
    pub fn rope(&self, file: &ConfigFile, kernels: Kernels) -> LoadResult<Rope> {
        self.rope_of(file, &self.rope, kernels, self.attention(None).scale)
    }

    /// No rotation, for attention with the usual scale.
    pub fn no_rope(&self, kernels: Kernels) -> Rope {
        Rope::none(self.head_dim(), kernels, self.attention(None).scale.sqrt())
    }

    /// A rotation of heads that carries the attention `scale` on the plain path.
    pub fn rope_of(&self, file: &ConfigFile, config: &RopeConfig, kernels: Kernels, scale: f32) -> LoadResult<Rope> {
        let config = RopeConfig { n_context: self.max_position_embeddings, ..config.clone() };
        Rope::new(&config, self.head_dim(), kernels, scale.sqrt()).map_err(|detail| file.error(&detail))
    }

    /// What the backend needs to know.
    pub fn sizes(&self, windows: Vec<Option<usize>>) -> Sizes {
        let n_full = windows.iter().filter(|window| window.is_none()).count();
        Sizes {
            n_vocab: self.vocab_size,
            n_context: self.max_position_embeddings,
            n_kv_elements: 2 * n_full.max(1) * self.n_kv_heads() * self.head_dim(),
            caches: windows.into_iter().map(CacheKind::from).collect(),
        }
    }
}

/// Windows of layers, from the list that config.json gives or else as the family has them.
pub fn windows(
    dims: &Dims,
    layer_types: Option<&[String]>,
    window: Option<usize>,
    is_sliding: impl Fn(usize) -> bool,
) -> Vec<Option<usize>> {
    let window = window.filter(|window| *window > 0);
    let sliding = |layer_idx: usize| match layer_types.and_then(|types| types.get(layer_idx)) {
        Some(kind) => kind == "sliding_attention",
        None => is_sliding(layer_idx),
    };
    (0..dims.num_hidden_layers).map(|layer_idx| window.filter(|_| sliding(layer_idx))).collect()
}

/// The embedding before the blocks, the norm and the projection after them.
pub struct Ends {
    embed_tokens: Embedding,
    norm: Norm,
    lm_head: Linear,
}

impl Ends {
    /// Takes `model.embed_tokens`, `model.norm` and, if the checkpoint has one, `lm_head`.
    pub fn load(weights: &Weights<'_>, dims: &Dims, kind: NormKind) -> LoadResult<Self> {
        let (root, model) = (weights.root(), weights.root().at("model"));
        let (n_vocab, n_hidden) = (dims.vocab_size as i32, dims.hidden_size as i32);
        let embed_tokens = Embedding::load(&model.at("embed_tokens"), n_vocab, n_hidden)?;
        let norm = dims.norm(&model.at("norm"), kind)?;
        let lm_head = if weights.contains("lm_head.weight") {
            let bias = Bias::from(weights.contains("lm_head.bias"));
            Linear::load(&root, Shape { name: "lm_head", n_out: n_vocab, n_in: n_hidden, bias })?
        } else {
            embed_tokens.as_linear()?
        };
        Ok(Self { embed_tokens, norm, lm_head })
    }

    /// `[T]` to `[T, hidden]`.
    pub fn embed(&self, tokens: &Array) -> Result<Array> {
        self.embed_tokens.forward(tokens)
    }

    /// `[N, hidden]` to `[N, V]`.
    pub fn logits(&self, hidden: &Array) -> Result<Array> {
        self.lm_head.forward(&self.norm.forward(hidden)?)
    }
}

/// Drops what old checkpoints carry and networks compute: tables of rotary frequencies; and the projection where it is tied.
pub fn sanitize(weights: &Weights<'_>, tie_word_embeddings: Option<bool>) {
    let is_tied = tie_word_embeddings == Some(true);
    weights.rename(|name| {
        let is_dropped = name.ends_with("rotary_emb.inv_freq") || (is_tied && name.starts_with("lm_head."));
        (!is_dropped).then(|| name.to_owned())
    });
}

/// Drops the layers from `n_layers` on: heads that predict several tokens, which the decoder does not use.
pub fn drop_layers_from(weights: &Weights<'_>, n_layers: usize) {
    weights.rename(|name| {
        let layer = name.strip_prefix("model.layers.").and_then(|rest| rest.split('.').next());
        let is_dropped = layer.and_then(|layer| layer.parse().ok()).is_some_and(|layer: usize| layer >= n_layers);
        (!is_dropped).then(|| name.to_owned())
    });
}
