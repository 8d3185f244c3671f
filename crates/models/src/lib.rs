//! Model families on MLX: the only crate that knows tensors. Implements `tokbar_engine::Backend`. Must not know text or HTTP.

mod backend;
mod cache;
mod config;
mod cut;
mod draft;
mod error;
mod families;
mod fingerprint;
mod flight;
mod kernels;
mod layers;
mod load;
mod mx;
mod pass;
mod sample;
mod tower;
mod weights;

pub use backend::MlxBackend;
pub use cache::KvQuantization;
pub use error::LoadError;
use error::LoadResult;
pub use families::is_known;
pub use kernels::{KernelsError, use_those_of_the_app};
pub use load::{LoadOptions, ModelSummary, Precision, is_cpu};
pub use weights::LoadProgress;

#[cfg(test)]
mod fit_tests;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod golden_tests;
