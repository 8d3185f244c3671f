//! The families, by `model_type`.

use crate::cache::CacheKind;
use crate::config::ConfigFile;
use crate::mx::{Array, Result};
use crate::pass::Pass;
use crate::weights::Weights;
use crate::{LoadError, LoadResult};

mod bailing_hybrid;
mod bailing_moe;
mod bailing_moe_linear;
mod bailing_moe_v3;
mod block;
#[cfg(test)]
mod catalogue;
mod cohere2;
mod decoder;
mod deepseek;
mod deepseek_v4;
mod ernie4_5;
mod ernie4_5_moe;
mod exaone4;
mod experts;
mod falcon_h1;
mod gemma2;
mod gemma3_text;
mod gemma3n;
mod gemma4_text;
mod glm4;
mod glm4_moe;
mod gpt_oss;
mod granite;
mod granitemoehybrid;
#[cfg(test)]
#[path = "families/hybrid_tests.rs"]
pub mod hybrid;
mod jamba;
mod kimi_linear;
mod latent;
mod lfm2;
mod llama;
mod llama4_text;
mod minimax;
mod ministral3;
mod mixtral;
mod nemotron_h;
mod next_layer;
mod olmo2;
mod olmo3;
mod olmo_hybrid;
mod per_layer;
mod phi;
mod phi3;
mod qwen2;
mod qwen2_moe;
mod qwen3;
mod qwen3_moe;
mod qwen3_next;
#[cfg(test)]
#[path = "families/recurrent_tests.rs"]
mod recurrent_tests;
mod seed_oss;
mod shared_kv;
mod smollm3;
mod stack;

pub use experts::FACTORS;
pub use gpt_oss::apart as blocks_apart;

/// A loaded network: tokens in, logits out. Knows nothing of sampling, batching or devices.
pub trait Model {
    /// Sizes that the backend needs.
    fn sizes(&self) -> &Sizes;

    /// `[T]` token ids to `[T, hidden]`, ready for [`Model::logits`]; extends the caches of the pass. `hidden` is the family's own
    /// width: of several residual streams it is all of them.
    fn hidden(&self, tokens: &Array, pass: &mut Pass<'_>) -> Result<Array>;

    /// `[N, hidden]` to `[N, V]`.
    fn logits(&self, hidden: &Array) -> Result<Array>;

    /// The head that drafts, where the checkpoint ships one.
    fn predictor(&self) -> Option<&dyn Predictor> {
        None
    }

    /// Whether the caches can give up positions that their pass was not sure of.
    fn can_take_back(&self) -> bool {
        !self.sizes().caches.contains(&CacheKind::State)
    }
}

/// A head that predicts the token after the next, and from its own output those after that. It has caches of its own, whose
/// positions are those of the network's outputs.
pub trait Predictor {
    /// What it remembers.
    fn caches(&self) -> &[CacheKind];

    /// [`Model::hidden`] of some positions, `[T, hidden]`, as [`Predictor::advance`] takes it.
    fn start(&self, hidden: &Array) -> Result<Array>;

    /// From what [`Predictor::start`] or it itself made of positions, and the ids `[T]` of the tokens after them: `[T, hidden]`.
    fn advance(&self, before: &Array, tokens: &Array, pass: &mut Pass<'_>) -> Result<Array>;

    /// Of the next token but one: `[N, hidden]` to `[N, V]`.
    fn logits(&self, output: &Array) -> Result<Array>;
}

/// Sizes of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Logits a position.
    pub n_vocab: usize,
    /// Longest sequence.
    pub n_context: usize,
    /// Elements of keys and values that one position costs in all layers that keep every position.
    pub n_kv_elements: usize,
    /// What each layer remembers.
    pub caches: Vec<CacheKind>,
}

/// One row of the table.
pub struct Family {
    /// Its `model_type`.
    pub name: &'static str,
    /// Other `model_type`s with the same network.
    pub aliases: &'static [&'static str],
    /// Builds it from a checkpoint.
    pub load: fn(&ConfigFile, &Weights<'_>) -> LoadResult<Box<dyn Model>>,
}

/// Every family.
pub const FAMILIES: &[Family] = &[
    Family { name: "bailing_hybrid", aliases: &[], load: bailing_hybrid::load },
    Family { name: "bailing_moe", aliases: &["bailing_moe_v2"], load: bailing_moe::load },
    Family { name: "bailing_moe_linear", aliases: &[], load: bailing_moe_linear::load },
    Family { name: "cohere2", aliases: &[], load: cohere2::load },
    Family { name: "deepseek_v2", aliases: &[], load: deepseek::load },
    Family { name: "deepseek_v3", aliases: &["joyai_llm_flash", "kimi_k2", "kimi_k25"], load: deepseek::load },
    Family { name: "deepseek_v32", aliases: &["glm_moe_dsa"], load: deepseek::load },
    Family { name: "deepseek_v4", aliases: &[], load: deepseek_v4::load },
    Family { name: "ernie4_5", aliases: &[], load: ernie4_5::load },
    Family { name: "ernie4_5_moe", aliases: &[], load: ernie4_5_moe::load },
    Family { name: "exaone4", aliases: &[], load: exaone4::load },
    Family { name: "falcon_h1", aliases: &[], load: falcon_h1::load },
    Family { name: "gemma2", aliases: &[], load: gemma2::load },
    Family { name: "gemma3_text", aliases: &[], load: gemma3_text::load },
    Family { name: "gemma3n", aliases: &["gemma3n_text"], load: gemma3n::load },
    Family {
        name: "gemma4_text",
        aliases: &["gemma4", "gemma4_unified", "gemma4_unified_text"],
        load: gemma4_text::load,
    },
    Family { name: "glm4", aliases: &[], load: glm4::load },
    Family { name: "glm4_moe", aliases: &[], load: glm4_moe::load },
    Family { name: "glm4_moe_lite", aliases: &[], load: deepseek::load },
    Family { name: "gpt_oss", aliases: &[], load: gpt_oss::load },
    Family { name: "granite", aliases: &[], load: granite::load },
    Family { name: "granitemoehybrid", aliases: &[], load: granitemoehybrid::load },
    Family { name: "jamba", aliases: &[], load: jamba::load },
    Family { name: "kimi_linear", aliases: &[], load: kimi_linear::load },
    Family { name: "lfm2", aliases: &[], load: lfm2::load },
    Family { name: "lfm2_moe", aliases: &[], load: lfm2::load },
    Family { name: "llama", aliases: &["iquestcoder", "llava", "mistral", "mistral3", "xverse"], load: llama::load },
    Family { name: "llama4_text", aliases: &["llama4"], load: llama4_text::load },
    Family { name: "minimax", aliases: &["minimax_m2"], load: minimax::load },
    Family { name: "ministral3", aliases: &[], load: ministral3::load },
    Family { name: "mistral4", aliases: &[], load: deepseek::load },
    Family { name: "mixtral", aliases: &[], load: mixtral::load },
    Family { name: "nemotron_h", aliases: &[], load: nemotron_h::load },
    Family { name: "olmo2", aliases: &[], load: olmo2::load },
    Family { name: "olmo3", aliases: &[], load: olmo3::load },
    Family { name: "olmo_hybrid", aliases: &[], load: olmo_hybrid::load },
    Family { name: "phi", aliases: &[], load: phi::load },
    Family { name: "phi3", aliases: &[], load: phi3::load },
    Family {
        name: "qwen2",
        aliases: &["qwen2_5_vl", "qwen2_5_vl_text", "qwen2_vl", "qwen2_vl_text"],
        load: qwen2::load,
    },
    Family { name: "qwen2_moe", aliases: &[], load: qwen2_moe::load },
    Family { name: "qwen3", aliases: &["qwen3_vl", "qwen3_vl_text"], load: qwen3::load },
    Family { name: "qwen3_5", aliases: &["qwen3_5_text"], load: qwen3_next::load },
    Family { name: "qwen3_5_moe", aliases: &["qwen3_5_moe_text"], load: qwen3_next::load },
    Family { name: "qwen3_moe", aliases: &["qwen3_vl_moe", "qwen3_vl_moe_text"], load: qwen3_moe::load },
    Family { name: "qwen3_next", aliases: &[], load: qwen3_next::load },
    Family { name: "seed_oss", aliases: &[], load: seed_oss::load },
    Family { name: "smollm3", aliases: &[], load: smollm3::load },
    #[cfg(test)]
    Family { name: "hybrid_test", aliases: &[], load: hybrid::load },
];

/// The family of a `model_type`.
///
/// # Errors
/// Lists what is supported.
pub fn find(model_type: &str) -> LoadResult<&'static Family> {
    let matches = |family: &&Family| family.name == model_type || family.aliases.contains(&model_type);
    FAMILIES.iter().find(matches).ok_or_else(|| {
        let names: Vec<_> = FAMILIES.iter().flat_map(|f| std::iter::once(&f.name).chain(f.aliases)).copied().collect();
        LoadError::Family { model_type: model_type.chars().take(100).collect(), supported: names.join(", ") }
    })
}

/// Whether checkpoints of this `model_type` can be loaded.
pub fn is_known(model_type: &str) -> bool {
    find(model_type).is_ok()
}

#[cfg(test)]
#[path = "families_tests.rs"]
mod tests;
