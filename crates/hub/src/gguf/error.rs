//! Everything that can stop an import, each with what to do next.

use std::io;
use std::path::{Path, PathBuf};

/// Why a GGUF file was not imported. Nothing is left at the destination when one of these is returned.
#[allow(missing_docs)]
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot {action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{path} is not a usable GGUF file: {problem}. Download it again, or convert the model anew.")]
    Malformed { path: PathBuf, problem: Malformed },
    #[error(
        "{path} is part of a split GGUF ({n_parts} parts). Merge the parts into one file with llama-gguf-split, then import that."
    )]
    Split { path: PathBuf, n_parts: u64 },
    #[error(
        "tensor `{tensor}` is stored as {kind}, which cannot be imported. Take an F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 or Q2_K to Q6_K file of this model."
    )]
    UnsupportedKind { tensor: String, kind: String },
    #[error(
        "architecture `{architecture}` cannot be imported (supported: {supported}). Take an MLX or safetensors checkpoint of this model."
    )]
    UnsupportedArchitecture { architecture: String, supported: String },
    #[error(
        "this model uses {feature}, which cannot be imported from GGUF. Take an MLX or safetensors checkpoint of it."
    )]
    UnsupportedFeature { feature: String },
    #[error("metadata `{key}` {problem}. The file was made by an incompatible converter: convert the model anew.")]
    Metadata { key: String, problem: String },
    #[error("tensor `{tensor}` {problem}. The file was made by an incompatible converter: convert the model anew.")]
    Tensor { tensor: String, problem: String },
    #[error("the tokenizer cannot be imported: {problem}. Take an MLX or safetensors checkpoint of this model.")]
    Tokenizer { problem: String },
    #[error("cannot quantize to {bits} bits. Choose 2, 3, 4, 5, 6 or 8.")]
    Bits { bits: u32 },
    #[error("{path} exists and was not made by an import. Choose another destination, or ask to overwrite it.")]
    NotOurs { path: PathBuf },
    #[error(
        "{path} holds no config.json, so it is no model folder and is not overwritten. Choose another destination."
    )]
    NotAModel { path: PathBuf },
    #[error("{path} holds the file that is to be imported. Choose another destination.")]
    SourceInside { path: PathBuf },
    #[error("{path} is not a folder. Choose another destination.")]
    NotAFolder { path: PathBuf },
    #[error("the import was cancelled. Run the command again to import the file.")]
    Cancelled,
    #[error("another import is writing {path} right now. Wait for it to end.")]
    Busy { path: PathBuf },
    #[error("{path} needs {needed} bytes but its disk has {free} free. Free some space or choose another disk.")]
    DiskFull { path: PathBuf, needed: u64, free: u64 },
}

/// What is wrong with the bytes of a GGUF file.
#[allow(missing_docs)]
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("it does not start with the letters GGUF")]
    Magic,
    #[error("it is big-endian")]
    BigEndian,
    #[error("its version is {version}, and only 2 and 3 are known")]
    Version { version: u32 },
    #[error("it ends inside {what} (it looks truncated)")]
    Truncated { what: &'static str },
    #[error("it claims {claimed} {what}, more than the {cap} allowed")]
    TooMany { what: &'static str, claimed: u64, cap: u64 },
    #[error("a name or string in it is not UTF-8")]
    NotUtf8,
    #[error("metadata `{key}` has the unknown type {number}")]
    ValueType { key: String, number: u32 },
    #[error("metadata `{key}` appears twice")]
    DuplicateKey { key: String },
    #[error("tensor `{tensor}` appears twice")]
    DuplicateTensor { tensor: String },
    #[error("its alignment {alignment} is not a power of two up to 65536")]
    Alignment { alignment: u64 },
    #[error("the size of tensor `{tensor}` is zero, overflows, or is no multiple of its block")]
    TensorSize { tensor: String },
    #[error("tensor `{tensor}` is not aligned")]
    Unaligned { tensor: String },
    #[error("tensors `{first}` and `{second}` overlap")]
    Overlap { first: String, second: String },
    #[error("tensor `{tensor}` reaches {missing} bytes past the end of the file (it looks truncated)")]
    OutOfFile { tensor: String, missing: u64 },
}

impl ImportError {
    /// A closure for `map_err` that says which action on which path failed.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
