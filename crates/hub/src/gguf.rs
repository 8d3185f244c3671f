//! GGUF files: reading them, and importing a model from one into an MLX folder.

pub mod affine;
pub mod architecture;
pub mod config;
pub mod convert;
pub mod dequantize;
pub mod error;
mod import;
pub mod kind;
pub mod metadata;
pub mod plan;
pub mod reader;
mod staging;
#[cfg(test)]
pub(crate) mod synthetic;
pub mod tokenizer;

pub use error::ImportError;
pub use import::{ImportOptions, ImportReport, Progress, import};
pub use staging::{Existing, MARKER, Staging};
