//! Dialects over HTTP: the only crate that knows vendor field names. Must not know KV caches or MLX.
//!
//! [`serve`] runs the whole server on a listener; [`router`] is its HTTP surface; [`ServerState`] holds the models;
//! [`start`] runs a neutral job without HTTP.

mod body;
mod calls;
mod clients;
mod cloud;
mod constraint;
pub mod control;
mod cors;
mod dialects;
mod doors;
mod error;
mod failure;
mod fields;
mod generate;
mod generation;
mod guard;
mod hash;
mod ids;
mod json;
mod kept;
mod keys;
mod lifecycle;
mod near;
mod notices;
mod options;
mod rates;
mod rounds;
mod router;
mod running;
mod serve;
mod sse;
mod state;
mod stream;
mod web;
mod worker;

pub use cloud::{CloudAnswer, CloudCall, CloudTerms, Upstream};
pub use constraint::mask;
pub use dialects::openai::{read_prompt as read_openai_prompt, read_tools as read_openai_tools};
pub use error::{ApiError, Problem};
pub use generate::{Job, Scope, start};
pub use generation::{Generation, ScoredToken, Update};
pub use hash::hex as sha256_hex;
pub use keys::{Key, KeyScope, Keys};
pub use lifecycle::{Act, Census, Later, Level, Lifecycle, PinChange, PressureChange, Resident, ResidentState};
pub use options::{HostAddresses, ServerOptions};
pub use router::router;
pub use serve::serve;
pub use state::{DEFAULT_NAME, ModelAbout, Models, SamplingDefaults, ServedModel, ServerState};
