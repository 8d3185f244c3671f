//! Packs the matrices of a checkpoint into a new one in MLX's layout, as a recipe says. Must not know families: what a
//! matrix is for follows from its name.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Map, json};
use tokbar_hub::gguf::{Existing, ImportError, MARKER, Staging};
use tokbar_hub::shards::{Region, ShardWriter, Slot};

use crate::LoadError;
use crate::config::{ConfigFile, read_json};
use crate::mx::{self, Array, Cut, Dtype, Packed};
use crate::weights::{Matrix, Weights};

mod plan;
mod recipe;
mod source;

pub use plan::json_sizes;
use plan::{Module, Plan};
pub use recipe::{Part, Recipe};

/// Most bytes of a file of weights.
const N_SHARD_BYTES: u64 = 5 << 30;

/// Most bytes of rows that are unpacked at a time.
const N_ROWS_BYTES: usize = 256 << 20;

/// Which file holds which tensor.
const INDEX: &str = "model.safetensors.index.json";

/// Most bytes of a file that is copied.
const N_COPY_BYTES_MAX: u64 = 256 << 20;

/// Files beside the weights that a model needs or whose terms go with it.
const COPIED: &[&str] = &["jinja", "json", "md", "model", "tiktoken", "txt"];

/// Why a checkpoint was not packed. Nothing is left at the destination.
#[derive(Debug, thiserror::Error)]
pub enum QuantizeError {
    /// The source cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The destination cannot be written.
    #[error(transparent)]
    Folder(#[from] ImportError),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The source cannot be packed so.
    #[error("{}: {detail}", dir.display())]
    Source {
        /// Its folder.
        dir: PathBuf,
        /// Why, and what would do.
        detail: String,
    },
    /// The recipe is none.
    #[error("{0}")]
    Recipe(String),
}

impl From<mx::Error> for QuantizeError {
    fn from(error: mx::Error) -> Self {
        Self::Load(error.into())
    }
}

/// What a part takes, before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartSize {
    /// Tensors, experts counted together.
    pub n_tensors: usize,
    /// Their elements.
    pub n_params: u64,
    /// Bytes in the source.
    pub n_bytes_before: u64,
    /// Bytes in the result.
    pub n_bytes: u64,
}

/// What would become of the model that config.json in `dir` describes, of which nothing else is read.
///
/// # Errors
/// When no family implements it, or the recipe does not fit it.
pub fn sizes_by_config(dir: &Path, recipe: &Recipe) -> Result<BTreeMap<Part, PartSize>, QuantizeError> {
    let tensors = source::imagine(&ConfigFile::read(dir)?)?;
    let refuse = |detail: String| QuantizeError::Source { dir: dir.to_owned(), detail };
    Ok(Plan::new(&tensors, None, recipe).map_err(refuse)?.sizes())
}

/// Packs the checkpoint in `source` into the folder `target`, which appears whole or not at all. `progress` is told the bytes
/// read so far and all of them, and says whether to go on.
///
/// # Errors
/// When the source is damaged or packed already, the recipe does not fit it, or the disk is full.
pub fn quantize(
    source: &Path,
    target: &Path,
    recipe: &Recipe,
    existing: Existing,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<BTreeMap<Part, PartSize>, QuantizeError> {
    refuse_inside(source, target)?;
    let file = ConfigFile::read(source)?;
    let quantization = file.quantization()?;
    let tensors = source::open(source, &file)?;
    let refuse = |detail: String| QuantizeError::Source { dir: source.to_owned(), detail };
    let plan = Plan::new(&tensors, quantization.as_ref(), recipe).map_err(refuse)?;
    let staging = Staging::begin(target, existing, plan.n_bytes())?;
    write_weights(&plan, &source::weights(tensors, quantization), &staging, progress)?;
    let config = plan.config(read_json(&source.join("config.json"))?, recipe);
    staging.write("config.json", format!("{config:#}\n").as_bytes())?;
    let name = source.file_name().map(|name| name.to_string_lossy().into_owned());
    staging.write(MARKER, format!("{:#}\n", json!({"quantized_from": name})).as_bytes())?;
    copy_others(source, &staging)?;
    staging.publish()?;
    Ok(plan.sizes())
}

/// Replacing a folder must not take the source with it.
fn refuse_inside(source: &Path, target: &Path) -> Result<(), QuantizeError> {
    match (source.canonicalize(), target.canonicalize()) {
        (Ok(source), Ok(target)) if source.starts_with(&target) => {
            Err(ImportError::SourceInside { path: target }.into())
        }
        _ => Ok(()),
    }
}

fn write_weights(
    plan: &Plan,
    weights: &Weights<'_>,
    staging: &Staging,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<(), QuantizeError> {
    let (n_total, mut n_done) = (plan.modules.iter().map(Module::n_bytes_before).sum(), 0);
    let shards = plan.shards(N_SHARD_BYTES);
    let mut places = Map::new();
    for (idx, modules) in shards.iter().enumerate() {
        let name = match shards.len() {
            1 => "model.safetensors".to_owned(),
            n => format!("model-{:05}-of-{n:05}.safetensors", idx + 1),
        };
        let path = staging.dir().join(&name);
        let mut shard = Shard::create(&path, modules)?;
        for module in *modules {
            shard.write(module, weights)?;
            n_done += module.n_bytes_before();
            if progress(n_done, n_total).is_break() {
                return Err(ImportError::Cancelled.into());
            }
        }
        let (_, names) = shard.writer.finish().map_err(|source| QuantizeError::File { path: path.clone(), source })?;
        places.extend(names.into_iter().map(|tensor| (tensor, json!(name))));
    }
    if shards.len() > 1 {
        let index = json!({"metadata": {"total_size": plan.n_bytes()}, "weight_map": places});
        staging.write(INDEX, index.to_string().as_bytes())?;
    }
    Ok(())
}

/// A file of weights being written.
struct Shard {
    writer: ShardWriter,
    path: PathBuf,
    regions: BTreeMap<String, Region>,
}

impl Shard {
    fn create(path: &Path, modules: &[Module]) -> Result<Self, QuantizeError> {
        let mut slots: Vec<Slot> = modules.iter().flat_map(Module::slots).collect();
        // Every tensor then starts at a multiple of its element size.
        slots.sort_by_key(|slot| std::cmp::Reverse(slot.dtype.n_bytes()));
        let created = ShardWriter::create(path, &slots);
        let mut writer = created.map_err(|source| QuantizeError::File { path: path.to_owned(), source })?;
        let regions = slots.into_iter().map(|slot| (slot.name.clone(), writer.add(slot))).collect();
        Ok(Self { writer, path: path.to_owned(), regions })
    }

    /// Packs a module's tensors one after the other, some rows at a time: what is in memory is one tensor as stored, and few rows
    /// of it unpacked.
    fn write(&mut self, module: &Module, weights: &Weights<'_>) -> Result<(), QuantizeError> {
        let slots = module.slots();
        let mut ends = vec![0; slots.len()];
        for source in &module.sources {
            let stored = stored(weights, source, &module.shape)?;
            let n_rows = module.shape.first().copied().unwrap_or(1).max(1);
            let n_row_bytes = module.shape.iter().skip(1).product::<usize>().max(1) * size_of::<f32>();
            for start in (0..n_rows).step_by((N_ROWS_BYTES / n_row_bytes).max(1)) {
                let stop = (start + (N_ROWS_BYTES / n_row_bytes).max(1)).min(n_rows);
                let rows = rows(&stored, module, [start as i32, stop as i32])?;
                let parts = match module.packing() {
                    None => vec![rows],
                    Some(packing) => {
                        let packed = mx::quantize(&rows, packing)?;
                        [Some(packed.weight), Some(packed.scales), packed.biases].into_iter().flatten().collect()
                    }
                };
                for ((slot, end), part) in slots.iter().zip(&mut ends).zip(parts) {
                    let mut bytes = Vec::new();
                    mx::to_bytes(&[part], &mut bytes)?;
                    let written = self.writer.write(self.regions[&slot.name], *end, &bytes);
                    written.map_err(|source| QuantizeError::File { path: self.path.clone(), source })?;
                    *end += bytes.len() as u64;
                }
            }
            mx::clear_cache()?;
        }
        Ok(())
    }
}

/// A source's tensor, read.
fn stored(weights: &Weights<'_>, name: &str, shape: &[usize]) -> Result<Matrix, QuantizeError> {
    let missing = || LoadError::MissingTensor { name: name.to_owned() };
    let shape: Vec<i32> = shape.iter().map(|n| *n as i32).collect();
    let path = name.strip_suffix(".weight");
    let is_coded = weights.shape(name).is_some() && path.is_some_and(|path| source::has_companion(weights, path));
    let matrix = match path.filter(|_| is_coded) {
        Some(path) => weights.root().at(path).matrices(&shape)?,
        None => Matrix::Dense(weights.remove(name).ok_or_else(missing)?),
    };
    match &matrix {
        Matrix::Dense(array) => mx::eval(&[array])?,
        Matrix::Packed(packed) => mx::eval(&[&packed.weight, &packed.scales])?,
    }
    Ok(matrix)
}

/// Rows `start..stop` along the first axis, unpacked.
fn rows(stored: &Matrix, module: &Module, [start, stop]: [i32; 2]) -> Result<Array, QuantizeError> {
    let cut = |array: &Array| match array.ndim() {
        0 => Ok(array.clone()),
        _ => mx::slice(array, &[Cut { axis: 0, start, stop }]),
    };
    let rows = match stored {
        Matrix::Dense(array) => cut(array)?,
        Matrix::Packed(Packed { weight, scales, biases, packing }) => {
            let biases = biases.as_ref().map(cut).transpose()?;
            let packed = Packed { weight: cut(weight)?, scales: cut(scales)?, biases, packing: *packing };
            mx::dequantize(&packed, module.dtype().unwrap_or(Dtype::Float32))?
        }
    };
    Ok(match module.dtype() {
        Some(dtype) if dtype != rows.dtype() => mx::cast(&rows, dtype)?,
        _ => rows,
    })
}

/// Tokenizer, templates and texts.
fn copy_others(source: &Path, staging: &Staging) -> Result<(), QuantizeError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| QuantizeError::File { path, source }
    };
    for entry in fs::read_dir(source).map_err(failed(source))? {
        let path = entry.map_err(failed(source))?.path();
        let (Some(name), Some(extension)) = (path.file_name(), path.extension()) else { continue };
        let (name, extension) = (name.to_string_lossy(), extension.to_string_lossy());
        let is_ours = [MARKER, "config.json", INDEX].contains(&&*name);
        let metadata = fs::metadata(&path).map_err(failed(&path))?;
        if is_ours || !COPIED.contains(&&*extension) || !metadata.is_file() || metadata.len() > N_COPY_BYTES_MAX {
            continue;
        }
        staging.write(&name, &fs::read(&path).map_err(failed(&path))?)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "quantize_tests.rs"]
mod tests;
