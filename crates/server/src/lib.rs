//! Dialects over HTTP: the only crate that knows vendor field names. Must not know KV caches or MLX.
//!
//! [`serve`] runs the whole server on a listener; [`router`] is its HTTP surface; [`ServerState`] holds the models;
//! [`start`] runs a neutral job without HTTP.

mod body;
mod control;
mod dialects;
mod error;
mod fields;
mod generate;
mod generation;
mod guard;
mod options;
mod router;
mod serve;
mod sse;
mod state;
mod worker;

pub use error::ApiError;
pub use generate::{Job, Scope, start};
pub use generation::{Generation, ScoredToken, Update};
pub use options::{HostAddresses, ServerOptions};
pub use router::router;
pub use serve::serve;
pub use state::{DEFAULT_NAME, Models, SamplingDefaults, ServedModel, ServerState};
