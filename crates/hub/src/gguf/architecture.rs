//! The architectures that can be imported, and what each GGUF tensor is called in an MLX checkpoint.
//!
//! Adding one is a row in [`ARCHITECTURES`] plus its keys in `config.rs`.

use super::error::ImportError;
use super::reader::Gguf;

/// A dimension of a weight, by its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    /// `vocab_size`
    Vocab,
    /// `hidden_size`
    Hidden,
    /// `intermediate_size`
    Ffn,
    /// `num_attention_heads * head_dim`
    Query,
    /// `num_key_value_heads * head_dim`
    KeyValue,
    /// `head_dim`
    Head,
}

/// Whether a tensor must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Its absence is an error.
    Needed,
    /// It may be absent.
    Optional,
}

/// One tensor: name in GGUF, name in MLX, row-major shape, presence.
pub type Row = (&'static str, &'static str, &'static [Dim], Presence);

use Dim::{Ffn, Head, Hidden, KeyValue, Query, Vocab};
use Presence::{Needed, Optional};

/// Tensors outside the layers, the same for every architecture.
pub const OUTER: &[Row] = &[
    ("token_embd.weight", "model.embed_tokens.weight", &[Vocab, Hidden], Needed),
    ("output_norm.weight", "model.norm.weight", &[Hidden], Needed),
    ("output.weight", "lm_head.weight", &[Vocab, Hidden], Optional),
];

/// Tensors of each layer that every architecture has.
const LAYER: &[Row] = &[
    ("attn_norm.weight", "input_layernorm.weight", &[Hidden], Needed),
    ("attn_q.weight", "self_attn.q_proj.weight", &[Query, Hidden], Needed),
    ("attn_k.weight", "self_attn.k_proj.weight", &[KeyValue, Hidden], Needed),
    ("attn_v.weight", "self_attn.v_proj.weight", &[KeyValue, Hidden], Needed),
    ("attn_output.weight", "self_attn.o_proj.weight", &[Hidden, Query], Needed),
    ("ffn_gate.weight", "mlp.gate_proj.weight", &[Ffn, Hidden], Needed),
    ("ffn_up.weight", "mlp.up_proj.weight", &[Ffn, Hidden], Needed),
    ("ffn_down.weight", "mlp.down_proj.weight", &[Hidden, Ffn], Needed),
];

const PRE_NORM: Row = ("ffn_norm.weight", "post_attention_layernorm.weight", &[Hidden], Needed);
const Q_NORM: Row = ("attn_q_norm.weight", "self_attn.q_norm.weight", &[Head], Needed);
const K_NORM: Row = ("attn_k_norm.weight", "self_attn.k_norm.weight", &[Head], Needed);

const fn biases(presence: Presence) -> [Row; 3] {
    [
        ("attn_q.bias", "self_attn.q_proj.bias", &[Query], presence),
        ("attn_k.bias", "self_attn.k_proj.bias", &[KeyValue], presence),
        ("attn_v.bias", "self_attn.v_proj.bias", &[KeyValue], presence),
    ]
}

const LLAMA_BIASES: [Row; 3] = biases(Optional);
const QWEN_BIASES: [Row; 3] = biases(Needed);
const LLAMA_MORE: &[Row] = &[
    PRE_NORM,
    LLAMA_BIASES[0],
    LLAMA_BIASES[1],
    LLAMA_BIASES[2],
    ("attn_output.bias", "self_attn.o_proj.bias", &[Hidden], Optional),
    ("ffn_gate.bias", "mlp.gate_proj.bias", &[Ffn], Optional),
    ("ffn_up.bias", "mlp.up_proj.bias", &[Ffn], Optional),
    ("ffn_down.bias", "mlp.down_proj.bias", &[Hidden], Optional),
];
const QWEN2_MORE: &[Row] = &[PRE_NORM, QWEN_BIASES[0], QWEN_BIASES[1], QWEN_BIASES[2]];
const QWEN3_MORE: &[Row] = &[PRE_NORM, Q_NORM, K_NORM];
const GEMMA3_MORE: &[Row] = &[
    Q_NORM,
    K_NORM,
    ("post_attention_norm.weight", "post_attention_layernorm.weight", &[Hidden], Needed),
    ("ffn_norm.weight", "pre_feedforward_layernorm.weight", &[Hidden], Needed),
    ("post_ffw_norm.weight", "post_feedforward_layernorm.weight", &[Hidden], Needed),
];

/// How rows of the query and key projections are ordered in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RopeRows {
    /// As the MLX family expects: the two halves of a head one after the other.
    Halves,
    /// Interleaved pairs, as the converter reorders them for this architecture.
    Pairs,
}

/// How the norm weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norms {
    /// As the MLX family expects.
    Plain,
    /// One was added to each weight, which the MLX family adds itself.
    PlusOne,
}

/// An architecture of GGUF and the MLX family that runs it.
#[derive(Debug, PartialEq, Eq)]
pub struct Architecture {
    /// `general.architecture`, also the prefix of its metadata keys.
    pub name: &'static str,
    /// `model_type` of the MLX family.
    pub model_type: &'static str,
    /// Class name for `architectures` in config.json.
    pub class: &'static str,
    /// Tensors of each layer beside the shared ones.
    more: &'static [Row],
    /// Row order of the query and key projections.
    pub rope_rows: RopeRows,
    /// Form of the norm weights.
    pub norms: Norms,
}

const ARCHITECTURES: &[Architecture] = &[
    Architecture {
        name: "gemma3",
        model_type: "gemma3_text",
        class: "Gemma3ForCausalLM",
        more: GEMMA3_MORE,
        rope_rows: RopeRows::Halves,
        norms: Norms::PlusOne,
    },
    Architecture {
        name: "llama",
        model_type: "llama",
        class: "LlamaForCausalLM",
        more: LLAMA_MORE,
        rope_rows: RopeRows::Pairs,
        norms: Norms::Plain,
    },
    Architecture {
        name: "qwen2",
        model_type: "qwen2",
        class: "Qwen2ForCausalLM",
        more: QWEN2_MORE,
        rope_rows: RopeRows::Halves,
        norms: Norms::Plain,
    },
    Architecture {
        name: "qwen3",
        model_type: "qwen3",
        class: "Qwen3ForCausalLM",
        more: QWEN3_MORE,
        rope_rows: RopeRows::Halves,
        norms: Norms::Plain,
    },
];

impl Architecture {
    /// The architecture of `gguf`.
    pub fn of(gguf: &Gguf) -> Result<&'static Self, ImportError> {
        let key = "general.architecture";
        let name = gguf.metadata.need(key, gguf.metadata.text(key)?)?;
        ARCHITECTURES.iter().find(|architecture| architecture.name == name).ok_or_else(|| {
            let supported: Vec<_> = ARCHITECTURES.iter().map(|architecture| architecture.name).collect();
            ImportError::UnsupportedArchitecture { architecture: name.to_owned(), supported: supported.join(", ") }
        })
    }

    /// Tensors of one layer.
    pub fn layer(&self) -> impl Iterator<Item = &'static Row> {
        LAYER.iter().chain(self.more)
    }
}
