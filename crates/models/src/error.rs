//! Why a checkpoint cannot be loaded.

use std::path::PathBuf;

use tokbar_hub::checkpoint::CheckpointError;

use crate::mx;

/// A checkpoint that cannot become a model. Every message names the file or tensor and what to do.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A JSON file is malformed or a value in it cannot be right.
    #[error("{}: {detail}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the value.
        detail: String,
    },
    /// No family implements the checkpoint.
    #[error("model_type {model_type:?} is not supported; supported: {supported}. Pick a checkpoint of one of these")]
    Family {
        /// As config.json says.
        model_type: String,
        /// All families and aliases.
        supported: String,
    },
    /// The weight files are missing, incomplete or damaged.
    #[error(transparent)]
    Files(#[from] CheckpointError),
    /// The network was built, but does not compute anything sensible.
    #[error("{} cannot be used: {detail}; download it again, or pick another checkpoint", dir.display())]
    Unsound {
        /// The checkpoint's folder.
        dir: PathBuf,
        /// What its first step made.
        detail: String,
    },
    /// The model cannot draft for the other, or the other not be drafted for.
    #[error("{} cannot be the draft model: {detail}", dir.display())]
    Draft {
        /// The draft model's folder.
        dir: PathBuf,
        /// Why, and what would do.
        detail: String,
    },
    /// Two shards hold the same tensor.
    #[error("{}: tensor {name} is in an earlier shard too; download the checkpoint again", path.display())]
    TensorTwice {
        /// Full name.
        name: String,
        /// The later shard.
        path: PathBuf,
    },
    /// The family needs a tensor that the checkpoint lacks.
    #[error("the checkpoint lacks tensor {name}; it is incomplete or config.json describes another model")]
    MissingTensor {
        /// Full name.
        name: String,
    },
    /// A tensor's shape contradicts config.json.
    #[error("tensor {name} is {found:?}, but config.json implies {expected:?}")]
    Shape {
        /// Full name.
        name: String,
        /// In the file.
        found: Vec<i32>,
        /// From the configuration.
        expected: Vec<i32>,
    },
    /// A tensor's element type cannot be used there.
    #[error("tensor {name} has element type {found}, expected {expected}")]
    Dtype {
        /// Full name.
        name: String,
        /// In the file.
        found: String,
        /// What can be used.
        expected: &'static str,
    },
    /// The checkpoint holds tensors that the family does not use.
    #[error(
        "the checkpoint holds {n} tensors that {family} does not use, such as {examples}; it is another architecture"
    )]
    UnknownTensors {
        /// How many.
        n: usize,
        /// The family.
        family: &'static str,
        /// The first few names.
        examples: String,
    },
    /// A weight is packed in a way that cannot be read.
    #[error("{path}: {detail}")]
    Quantization {
        /// Module path, or `config.json`.
        path: String,
        /// What is wrong and what would do.
        detail: String,
    },
    /// The KV cache cannot be packed as asked.
    #[error("the KV cache cannot be quantized: {detail}; load the model without KV quantization")]
    KvQuantization {
        /// What is wrong.
        detail: String,
    },
    /// Experts cannot be held as asked.
    #[error("the experts cannot be kept so: {detail}")]
    Experts {
        /// Why, with the sum, and what would do.
        detail: String,
    },
    /// MLX refused.
    #[error("MLX failed while loading: {what}")]
    Mlx {
        /// MLX's message.
        what: String,
    },
}

impl From<mx::Error> for LoadError {
    fn from(error: mx::Error) -> Self {
        LoadError::Mlx { what: error.what }
    }
}

/// Result of loading.
pub type LoadResult<T> = Result<T, LoadError>;
