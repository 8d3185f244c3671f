//! What the server asks of whoever loads and unloads models while it runs. Must not know how that is done.

use std::future::Future;
use std::pin::Pin;

use serde::Serialize;

use crate::ApiError;

/// What comes later.
pub type Later<T> = Pin<Box<dyn Future<Output = Result<T, ApiError>> + Send>>;

/// Loads and unloads models.
pub trait Lifecycle: Send + Sync {
    /// Completes once a model of that name is served; `None` is the usual one.
    ///
    /// # Errors
    /// When no such model is on this machine, it cannot be loaded, or there is no room for it.
    fn want(&self, name: Option<String>) -> Later<()>;

    /// Takes a model out of service, and completes once its memory is given back. Calls that run end first.
    ///
    /// # Errors
    /// When no model of that name is loaded.
    fn unload(&self, name: String) -> Later<()>;

    /// Keeps a model loaded, or no longer does.
    ///
    /// # Errors
    /// When no model of that name is loaded.
    fn pin(&self, name: String, pin: PinChange) -> Later<()>;

    /// Why no call may run now, if none may.
    fn refusal(&self) -> Option<ApiError>;

    /// What is loaded, or about to be or to go, and how the memory is used.
    fn census(&self) -> Census;
}

/// What is to become of a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinChange {
    /// The model stays.
    Set,
    /// It may go.
    Lifted,
}

/// Models and memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Census {
    /// By the time of loading.
    pub models: Vec<Resident>,
    /// How short of memory the machine is.
    pub pressure: Level,
    /// How it was before: changes, the newest last.
    pub pressure_history: Vec<PressureChange>,
    /// Bytes that this program holds, whatever for.
    pub footprint_bytes: u64,
    /// Bytes that nobody holds.
    pub free_bytes: u64,
    /// All memory of the machine, in bytes.
    pub total_bytes: u64,
    /// What was done of late to save memory, the newest last.
    pub acts: Vec<Act>,
}

/// How short of memory the machine is, as macOS names it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// There is enough.
    #[default]
    Normal,
    /// Other programs are being pushed out.
    Warning,
    /// Programs are about to be killed.
    Critical,
}

/// A change of the memory pressure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct PressureChange {
    /// When, in UTC.
    pub at: String,
    /// From then on.
    pub level: Level,
}

/// Something that was done with models or memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Act {
    /// When, in UTC.
    pub at: String,
    /// What.
    pub words: String,
}

/// A model in memory, or about to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Resident {
    /// Its name.
    pub id: String,
    /// Whether it can be used.
    pub state: ResidentState,
    /// Part of its weights that is there, from 0 to 1.
    pub loaded: f64,
    /// Bytes of its weights and its kept state.
    pub n_bytes: u64,
    /// Whether it stays.
    pub is_pinned: bool,
    /// Sequences that run.
    pub n_running: usize,
    /// Sequences that wait.
    pub n_waiting: usize,
    /// Seconds since it was last used.
    pub unused_s: u64,
    /// Tokens that a sequence may have.
    pub n_context: Option<usize>,
    /// Such as `4-bit`.
    pub quantization: Option<String>,
    /// Seconds since it was loaded.
    pub ready_s: Option<u64>,
}

/// Whether a model can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResidentState {
    /// On its way.
    Loading,
    /// It answers.
    #[default]
    Ready,
    /// On its way out.
    Leaving,
}
