//! What models are on this machine: in the Hugging Face cache, LM Studio's folder, Ollama's store, and folders that a
//! person added, on whatever drive.
//!
//! Reads only, and opens no weights beyond their headers. A place that is absent is no error: drives come and go. What
//! it finds broken it still lists, with the reason.

mod cache;
mod folders;
mod ollama;
mod places;
mod remove;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::gguf::reader::Gguf;

pub use places::{Environment, Owner, Place, usual_places};
pub use remove::{RemoveError, Removed, remove};

/// Most models listed of one place.
const N_MODELS_MAX: usize = 10_000;

/// A model on disk, usable or not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    /// What to call it: `owner/name` of the Hub, `name:tag` of Ollama, else the name of its folder or file.
    pub name: String,
    /// Whose place it lies in.
    pub owner: Owner,
    /// Its folder, or its GGUF file.
    pub path: PathBuf,
    /// How its files are written.
    pub form: Form,
    /// Bytes that it takes of the disk.
    pub n_bytes: u64,
    /// Whether it can be loaded.
    pub condition: Condition,
    /// What its files say, as far as they can be read.
    pub about: Option<About>,
}

/// How a model's files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A folder in MLX or Hugging Face layout.
    Safetensors,
    /// One file, which is imported before it is loaded.
    Gguf,
}

/// Whether a model can be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Condition {
    /// All files are there and their headers agree.
    Ready,
    /// Files are missing that a download can bring.
    Partial {
        /// What is missing.
        reason: String,
    },
    /// Files are there and cannot be used.
    Broken {
        /// What is wrong, and what helps.
        reason: String,
    },
}

/// What a model's files say about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct About {
    /// The family key, or GGUF's architecture.
    pub family: String,
    /// How most weights are quantized, such as `4-bit`.
    pub quantization: Option<String>,
    /// Number of weights.
    pub n_params: u64,
    /// Bytes of the weights.
    pub n_weight_bytes: u64,
    /// Longest context in tokens.
    pub n_context: Option<u64>,
}

/// What a place holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shelf {
    /// Which place.
    pub place: Place,
    /// Whether it could be read.
    pub access: Access,
    /// What lies there, by name.
    pub models: Vec<Model>,
}

/// Whether a place could be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Access {
    /// It is there.
    Present,
    /// There is no such folder now: nothing was downloaded yet, or its drive is not connected.
    Absent,
    /// It is there and cannot be read.
    Refused {
        /// What the system said.
        reason: String,
    },
}

/// Looks through `places`, in their order.
pub fn scan(places: &[Place]) -> Vec<Shelf> {
    places.iter().map(scan_place).collect()
}

fn scan_place(place: &Place) -> Shelf {
    let access = access(&place.path);
    let mut models = match (&access, place.owner) {
        (Access::Absent | Access::Refused { .. }, _) => Vec::new(),
        (Access::Present, Owner::HuggingFace) => cache::models(&place.path),
        (Access::Present, Owner::Ollama) => ollama::models(&place.path),
        (Access::Present, owner @ (Owner::LmStudio | Owner::Person)) => folders::models(&place.path, owner),
    };
    models.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.path.cmp(&b.path)));
    Shelf { place: place.clone(), access, models }
}

fn access(path: &Path) -> Access {
    match fs::read_dir(path) {
        Ok(_) => Access::Present,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Access::Absent,
        Err(error) => Access::Refused { reason: error.to_string() },
    }
}

/// What is to be said of a folder in MLX or Hugging Face layout.
fn look_at_folder(dir: &Path) -> (Condition, Option<About>) {
    match Checkpoint::open(dir) {
        Ok(checkpoint) if checkpoint.has_tokenizer => (Condition::Ready, Some(About::of(&checkpoint))),
        Ok(checkpoint) => {
            let reason = "it has no tokenizer.json and no tekken.json. Download it again.".to_owned();
            (Condition::Partial { reason }, Some(About::of(&checkpoint)))
        }
        Err(error) => (condition(&error), None),
    }
}

/// What a failure to open means for the shelf.
fn condition(error: &CheckpointError) -> Condition {
    let reason = error.to_string();
    match error {
        CheckpointError::MissingShard { .. } | CheckpointError::MissingTensor { .. } => Condition::Partial { reason },
        _ => Condition::Broken { reason },
    }
}

/// What is to be said of a GGUF file. A file that is cut short breaks the format's own bounds.
fn look_at_gguf(file: &Path) -> (Condition, Option<About>) {
    let gguf = match Gguf::open(file) {
        Ok(gguf) => gguf,
        Err(error) => return (Condition::Broken { reason: error.to_string() }, None),
    };
    let family = gguf.metadata.text("general.architecture").ok().flatten().unwrap_or("unknown").to_owned();
    let n_context = gguf.metadata.count(&format!("{family}.context_length")).ok().flatten();
    let elements = |shape: &[usize]| shape.iter().fold(1_u64, |n, &len| n.saturating_mul(len as u64));
    let tensors = gguf.tensors.values();
    let about = About {
        family,
        quantization: most_common_kind(&gguf),
        n_params: tensors.clone().map(|tensor| elements(&tensor.shape)).fold(0, u64::saturating_add),
        n_weight_bytes: tensors.map(|tensor| tensor.n_bytes).fold(0, u64::saturating_add),
        n_context,
    };
    (Condition::Ready, Some(about))
}

/// The kind that most bytes of a GGUF file are stored in.
fn most_common_kind(gguf: &Gguf) -> Option<String> {
    let mut kinds: Vec<(String, u64)> = Vec::new();
    for tensor in gguf.tensors.values() {
        let kind = format!("{:?}", tensor.kind);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, n_bytes)) => *n_bytes += tensor.n_bytes,
            None => kinds.push((kind, tensor.n_bytes)),
        }
    }
    kinds.into_iter().max_by_key(|(_, n_bytes)| *n_bytes).map(|(kind, _)| kind)
}

impl About {
    /// Of an opened checkpoint.
    pub fn of(checkpoint: &Checkpoint) -> Self {
        Self {
            family: checkpoint.model_type.clone(),
            quantization: checkpoint.quantization.as_ref().map(|q| format!("{}-bit", q.bits)),
            n_params: checkpoint.n_params,
            n_weight_bytes: checkpoint.n_bytes(),
            n_context: checkpoint.n_context,
        }
    }
}

/// Names in a folder, sorted, without those that begin with a dot. A folder that cannot be read has none.
fn children(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).take(N_MODELS_MAX).collect();
    names.sort();
    names
}

/// Bytes of the plain files in a folder, not of those in folders inside. Links count nothing: their targets are elsewhere.
fn n_file_bytes(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let sizes = entries.filter_map(|entry| entry.ok()?.path().symlink_metadata().ok());
    sizes.filter(|meta| meta.is_file()).map(|meta| meta.len()).fold(0, u64::saturating_add)
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
