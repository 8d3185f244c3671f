//! Models on disk and known ones: what they are, whether they fit, and how each is to be loaded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::transfers::Transfer;
use crate::ApiError;
use crate::lifecycle::Resident;

/// Knows the models on this machine and the known ones. Methods may take long.
pub trait Shelves: Send + Sync {
    /// All of them, with whether they fit with `n_context` tokens; what is in memory is not looked at.
    ///
    /// # Errors
    /// When a list of this user is damaged.
    fn shelf(&self, n_context: u64) -> Result<Shelf, ApiError>;

    /// One of them.
    ///
    /// # Errors
    /// When there is none of that name.
    fn detail(&self, model: &str) -> Result<ModelDetail, ApiError>;

    /// How one is to be loaded.
    ///
    /// # Errors
    /// When there is none of that name.
    fn settings(&self, model: &str) -> Result<ModelSettings, ApiError>;

    /// Has one be loaded as `merged` makes of what was set; no other change comes between.
    ///
    /// # Errors
    /// `merged`'s; when there is none of that name, a value cannot be used, or the disk refuses.
    fn set(
        &self,
        model: &str,
        merged: &dyn Fn(&ModelSettings) -> Result<ModelSettings, ApiError>,
    ) -> Result<ModelSettings, ApiError>;

    /// What removing one from the disk would do.
    ///
    /// # Errors
    /// When it is not on the disk.
    fn removal(&self, model: &str) -> Result<Removal, ApiError>;

    /// Removes one from the disk.
    ///
    /// # Errors
    /// When it is in use, others count on its files and nobody agreed, or the disk refuses.
    fn remove(&self, model: &str, consent: Consent) -> Result<Removed, ApiError>;

    /// Where models lie.
    ///
    /// # Errors
    /// When the list of this user is damaged.
    fn places(&self) -> Result<Places, ApiError>;

    /// Looks into a folder from now on, or no more.
    ///
    /// # Errors
    /// When it is no folder, or was not added.
    fn change_place(&self, path: &str, change: PlaceChange) -> Result<Places, ApiError>;

    /// Looks for models on the Hub.
    ///
    /// # Errors
    /// When the Hub cannot be reached or refuses.
    fn search(&self, words: &str, n_max: u32) -> Result<Found, ApiError>;
}

/// Whether somebody agreed to what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Yes.
    Given,
    /// Not yet.
    Absent,
}

/// What becomes of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceChange {
    /// It is looked into.
    Add,
    /// It is not looked into any more; its models stay.
    Forget,
}

/// All models.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Shelf {
    /// What there is for them.
    pub machine: Machine,
    /// What to try first.
    pub recommended: Recommended,
    /// Those on disk first, then the known ones.
    pub models: Vec<Model>,
}

/// Memory for models.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Machine {
    /// All memory, in bytes.
    pub total_bytes: u64,
    /// Free now.
    pub free_bytes: u64,
    /// Most that the GPU may use, where there is such a limit.
    pub gpu_bytes: Option<u64>,
    /// What models may take.
    pub available_bytes: u64,
    /// The same in words.
    pub words: String,
}

/// What to try first.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Recommended {
    /// Id of the model with the best answers that fits.
    pub smart: Option<String>,
    /// Id of one with good answers, fast.
    pub fast: Option<String>,
    /// Why these.
    pub why: String,
}

/// One model.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Model {
    /// What every other call takes.
    pub id: String,
    /// To show.
    pub name: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// Its files.
    pub disk: Disk,
    /// In memory, or on its way.
    pub resident: Option<Resident>,
    /// Its download, if one is under way or paused.
    pub transfer: Option<Transfer>,
    /// Whether it fits; `null` where its size is not known.
    pub fit: Option<Fit>,
    /// The family key (`model_type`).
    pub family: Option<String>,
    /// Such as `4-bit`.
    pub quantization: Option<String>,
    /// Weights.
    pub n_params: Option<u64>,
    /// Bytes of the weights.
    pub size_bytes: Option<u64>,
    /// Longest context in tokens.
    pub n_context: Option<u64>,
    /// `chat`, `tools`, `thinking`, `vision`.
    pub capabilities: Vec<String>,
    /// Whether this build knows the family.
    pub can_run: bool,
    /// Whether it is in the list of known models.
    pub is_known: bool,
    /// Decode that others measured, in tokens per second; the notes say on what.
    pub decode_tps: Option<f64>,
    /// What is known of its quality.
    pub notes: Vec<Note>,
}

/// A remark with its source.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Note {
    /// What is known.
    pub text: String,
    /// From where.
    pub source: String,
}

/// A model's files.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Disk {
    /// Whether they can be used.
    pub state: DiskState,
    /// What is missing or wrong.
    pub reason: Option<String>,
    /// Folder or file.
    pub path: Option<String>,
    /// Bytes that they take.
    pub n_bytes: u64,
    /// `hugging_face`, `lm_studio`, `ollama` or `person`.
    #[schemars(extend("enum" = ["hugging_face", "lm_studio", "ollama", "person", null]))]
    pub owner: Option<String>,
    /// `safetensors` or `gguf`.
    #[schemars(extend("enum" = ["safetensors", "gguf", null]))]
    pub form: Option<String>,
}

/// Whether files can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiskState {
    /// All are there.
    Ready,
    /// A download can bring what is missing.
    Partial,
    /// They are there and cannot be used.
    Broken,
    /// There are none.
    #[default]
    Absent,
}

/// Whether a model fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// With room to spare.
    Fits,
    /// It does, and other programs will feel it.
    Tight,
    /// It does not.
    TooBig,
}

/// A verdict with its sum, in bytes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Fit {
    /// In short.
    pub verdict: Verdict,
    /// Tokens of context.
    pub n_context: u64,
    /// All that it takes.
    pub need_bytes: u64,
    /// Of that, weights.
    pub weight_bytes: u64,
    /// Of that, state of a sequence.
    pub kv_bytes: u64,
    /// Of that, what a step computes with.
    pub step_bytes: u64,
    /// Of that, the model that drafts.
    pub drafter_bytes: u64,
    /// What there is.
    pub available_bytes: u64,
    /// Longest context that fits, in tokens.
    pub n_context_max: Option<u64>,
    /// The sum in words, and what to do.
    pub words: String,
}

/// One model, closely.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ModelDetail {
    /// As in the list.
    pub model: Model,
    /// How it writes tool calls and reasoning; `null` where its files are not here.
    pub formats: Option<Formats>,
    /// Whether it has a chat template.
    pub has_chat_template: bool,
    /// Bytes of KV that a token costs.
    pub kv_bytes_per_token: Option<u64>,
    /// Whether it fits, from short contexts to the longest.
    pub fits: Vec<Fit>,
    /// How it is to be loaded.
    pub settings: ModelSettings,
}

/// How a model writes tool calls and reasoning.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Formats {
    /// Tool calls.
    pub tools: Detected,
    /// Reasoning.
    pub reasoning: Detected,
}

/// A format and why it is taken.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Detected {
    /// Its name; `null` for none.
    pub format: Option<String>,
    /// Why.
    pub because: String,
}

/// How a model is to be loaded; `null` is as usual.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// Most tokens of a sequence.
    pub n_context: Option<u32>,
    /// Bits of an element of kept KV: 4 or 8.
    #[schemars(extend("enum" = [4, 8, null]))]
    pub kv_bits: Option<u8>,
    /// Where drafts come from: `auto`, `off`, `ngram` or `draft`.
    #[schemars(extend("enum" = ["auto", "off", "ngram", "draft", null]))]
    pub speculation: Option<String>,
    /// A model that drafts.
    pub draft_model: Option<String>,
    /// How it writes tool calls; `none` for not at all.
    pub tool_format: Option<String>,
    /// How it writes reasoning; `none` for not at all.
    pub reasoning_format: Option<String>,
    /// Most sequences at once.
    pub max_rows: Option<u16>,
    /// Whether it stays once it is loaded.
    pub is_pinned: bool,
}

/// What removing a model from the disk would do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Removal {
    /// Its id.
    pub model: String,
    /// Folder or file.
    pub path: String,
    /// Bytes that the disk gets back.
    pub n_bytes: u64,
    /// Whose place it lies in.
    pub owner: String,
    /// Whether somebody must agree first.
    pub asks: bool,
    /// The question.
    pub words: String,
}

/// What was removed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Removed {
    /// Its id.
    pub model: String,
    /// Folder or file.
    pub path: String,
    /// Bytes that the disk got back.
    pub n_bytes: u64,
}

/// Where models lie.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Places {
    /// In the order in which they are looked into.
    pub places: Vec<PlaceInfo>,
}

/// A folder that models lie in.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlaceInfo {
    /// Whose: `hugging_face`, `lm_studio`, `ollama` or `person`.
    pub owner: String,
    /// The folder.
    pub path: String,
    /// `present`, `absent` or `refused`.
    #[schemars(extend("enum" = ["present", "absent", "refused"]))]
    pub state: String,
    /// What the system said.
    pub reason: Option<String>,
    /// Models in it.
    pub n_models: usize,
}

/// What a search found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Found {
    /// The most downloaded first.
    pub hits: Vec<Hit>,
    /// Whether the network is switched off, so that nothing was asked.
    pub is_offline: bool,
}

/// A model on the Hub.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Hit {
    /// `owner/name`.
    pub id: String,
    /// Downloads of the last month.
    pub n_downloads: u64,
    /// Bytes of the weights, where they are known.
    pub size_bytes: Option<u64>,
    /// Whether its terms must be accepted first.
    pub is_gated: bool,
    /// Whether it is on this machine.
    pub is_here: bool,
    /// Whether it fits.
    pub fit: Option<Fit>,
}
