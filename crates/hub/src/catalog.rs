//! Known models: short names, where they are, how large, and what was measured of them.
//!
//! The list is `catalog.json`; a person's own file adds to it or replaces entries. A fact that nobody has checked is not in
//! it: what KV costs follows from the sizes in `config`, a size without `n_bytes` from the number of weights.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fit::{Demand, Numbers};
use crate::id::{HubId, is_repository};
use crate::kv_cost::KvCost;

const BUILT_IN: &str = include_str!("catalog.json");
/// Largest list of a person, in bytes.
pub const N_BYTES_MAX: u64 = 16 << 20;
const N_MODELS_MAX: usize = 10_000;
/// Weights that share a scale and a bias of 16 bits each, in the usual packing.
const GROUP_SIZE: f64 = 64.0;

/// All known models.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    /// By name.
    pub models: Vec<Entry>,
    /// What to recommend for how much memory, from the smallest on.
    #[serde(default)]
    pub tiers: Vec<Tier>,
}

/// One model.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its whole short name, such as `qwen3.5-9b-4bit`.
    pub name: String,
    /// Other short names, such as `qwen3.5-9b`.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Its repository on the Hub.
    pub repo: String,
    /// Folder inside the repository; the top by default.
    pub subfolder: Option<String>,
    /// Branch, tag or commit; `main` by default.
    pub revision: Option<String>,
    /// The family key (`model_type`), where it is known.
    pub family: Option<String>,
    /// How most weights are quantized.
    pub quantization: Packing,
    /// Number of weights.
    pub n_params: Option<u64>,
    /// Bytes of the files, where they were counted.
    pub n_bytes: Option<u64>,
    /// Longest context in tokens.
    pub n_context: Option<u64>,
    /// Order among the models that fit: higher is the better answer.
    pub rank: Option<u32>,
    /// Sizes as in config.json, as many as the memory of a sequence follows from.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// `chat`, `tools`, `thinking`, `vision`.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// How it writes tool calls.
    pub tool_format: Option<String>,
    /// How it writes reasoning.
    pub reasoning_format: Option<String>,
    /// Repository of the heads that draft for it.
    pub mtp_repo: Option<String>,
    /// What was measured.
    pub measured: Option<Measured>,
    /// What else is known of its quality, and from where.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// How weights are quantized.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Packing {
    /// Bits of most weights; 16 is none.
    pub bits: u32,
    /// Such as `mxfp4`; affine by default.
    pub mode: Option<String>,
    /// Bits of a weight on average, scales included, where that is not as usual for the bits.
    pub bits_per_weight: Option<f64>,
}

/// Published figures of a run; GB are powers of 1000.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Memory of the process once the model is loaded.
    pub idle_gb: f64,
    /// Its peak with a prompt of 8112 tokens.
    pub peak_8k_gb: f64,
    /// Prefill of that prompt, in tokens per second.
    pub prefill_8k_tps: Option<f64>,
    /// Decode after a short prompt, in tokens per second.
    pub decode_tps: f64,
    /// Decode after that prompt, in tokens per second.
    pub decode_8k_tps: Option<f64>,
    /// Whether other programs were pushed out.
    #[serde(default)]
    pub swaps: bool,
    /// Who measured, and on what.
    pub source: String,
}

/// A remark with its source.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// What is known.
    pub text: String,
    /// From where.
    pub source: String,
}

/// What to recommend from how much memory on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// Memory in GB, as machines are sold.
    pub memory_gb: u64,
    /// The best answers.
    pub smart: String,
    /// Good answers, fast.
    pub fast: String,
}

/// Why a list cannot be used.
#[allow(missing_docs)]
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    #[error("the list of models is damaged: {problem}. Correct it, or delete it.")]
    Json { problem: String },
    #[error("the list of models has no usable entry `{name}`: {problem}. Correct it, or delete it.")]
    Entry { name: String, problem: String },
    #[error("the list of models has {n} entries, more than the {N_MODELS_MAX} allowed. Shorten it.")]
    TooMany { n: usize },
}

impl Catalog {
    /// The models that this build knows.
    ///
    /// # Panics
    /// Never: a test reads the same list.
    pub fn built_in() -> Self {
        Self::read(BUILT_IN.as_bytes()).expect("the built-in list is sound")
    }

    /// A list in the same form.
    ///
    /// # Errors
    /// When it is no such list, or an entry contradicts itself or another.
    pub fn read(json: &[u8]) -> Result<Self, CatalogError> {
        let catalog: Self =
            serde_json::from_slice(json).map_err(|error| CatalogError::Json { problem: error.to_string() })?;
        catalog.check()?;
        Ok(catalog)
    }

    /// The same with a person's own entries, which replace those of the same name and take over aliases.
    pub fn with(mut self, own: Self) -> Self {
        let names: BTreeSet<&String> = own.models.iter().flat_map(Entry::names).collect();
        self.models.retain(|entry| !own.models.iter().any(|other| other.name == entry.name));
        self.models.iter_mut().for_each(|entry| entry.aliases.retain(|alias| !names.contains(alias)));
        self.models.extend(own.models);
        if !own.tiers.is_empty() {
            self.tiers = own.tiers;
        }
        self
    }

    /// The entry of a short name, whatever its case.
    pub fn find(&self, name: &str) -> Option<&Entry> {
        let is_it = |entry: &&Entry| entry.names().any(|known| known.eq_ignore_ascii_case(name));
        self.models.iter().find(is_it)
    }

    /// The entry of an id on the Hub.
    pub fn of_id(&self, id: &str) -> Option<&Entry> {
        self.models.iter().find(|entry| entry.id() == id)
    }

    fn check(&self) -> Result<(), CatalogError> {
        if self.models.len() > N_MODELS_MAX {
            return Err(CatalogError::TooMany { n: self.models.len() });
        }
        let mut seen = BTreeSet::new();
        for entry in &self.models {
            let wrong = |problem: String| CatalogError::Entry { name: entry.name.clone(), problem };
            entry.check().map_err(wrong)?;
            if let Some(twice) = entry.names().find(|name| !seen.insert(name.to_ascii_lowercase())) {
                return Err(wrong(format!("the name `{twice}` is there twice")));
            }
        }
        Ok(())
    }
}

impl Entry {
    /// What it is called on the Hub, see [`HubId`].
    pub fn id(&self) -> Cow<'_, str> {
        match &self.subfolder {
            Some(folder) => Cow::Owned(format!("{}/{folder}", self.repo)),
            None => Cow::Borrowed(&self.repo),
        }
    }

    /// All its short names.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.name).chain(&self.aliases)
    }

    /// Bytes of the weights: counted, or from their number, or from what a run took.
    pub fn weight_bytes(&self) -> Option<u64> {
        let by_count = || Some((self.n_params? as f64 * self.quantization.bits_per_weight() / 8.0) as u64);
        let by_run = || Some((self.measured.as_ref()?.idle_gb * 1e9) as u64);
        self.n_bytes.or_else(by_count).or_else(by_run)
    }

    /// Bytes that a token of context costs; `None` where the sizes are not known.
    pub fn kv(&self) -> Option<KvCost> {
        KvCost::as_published(&self.config)
    }

    /// What it takes as published; `None` where its size is not known.
    pub fn demand(&self) -> Option<Demand> {
        let demand = Demand::from_config(&self.config, self.weight_bytes()?, Numbers::Published);
        Some(Demand { n_context: self.n_context, ..demand })
    }

    fn check(&self) -> Result<(), String> {
        let is_name = |name: &&String| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !(1..=64).contains(&name.len()) || !name.chars().all(is_plain)
        };
        if let Some(bad) = self.names().find(is_name) {
            return Err(format!("`{bad}` is no name of up to 64 letters, digits, `-`, `_` and `.`"));
        }
        if !is_repository(&self.repo) || HubId::parse(&self.id()).is_none() {
            return Err(format!("`{}` is no id of a model on the Hub (owner/name)", self.id()));
        }
        let bits = self.quantization.bits_per_weight();
        if !(1.0..=32.0).contains(&bits) {
            return Err(format!("{bits} bits are none that weights have"));
        }
        Ok(())
    }
}

impl Packing {
    /// Bits of a weight on average, scales included.
    pub fn bits_per_weight(&self) -> f64 {
        let usual = if self.bits < 16 { f64::from(self.bits) + 32.0 / GROUP_SIZE } else { f64::from(self.bits) };
        self.bits_per_weight.unwrap_or(usual)
    }
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
