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
    /// `normal`, `warning` or `critical`.
    pub pressure: String,
    /// Bytes that this program holds, whatever for.
    pub footprint_bytes: u64,
    /// Bytes that nobody holds.
    pub free_bytes: u64,
    /// All memory of the machine, in bytes.
    pub total_bytes: u64,
    /// What was done of late to save memory, the newest last.
    pub acts: Vec<String>,
}

/// A model in memory, or about to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Resident {
    /// Its name.
    pub id: String,
    /// `loading`, `ready` or `leaving`.
    pub state: &'static str,
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
}
