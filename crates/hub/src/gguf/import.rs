//! A GGUF file becomes an MLX folder: config.json, safetensors, tokenizer and generation settings.

use std::ops::ControlFlow;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::affine::BITS;
use super::architecture::Architecture;
use super::config;
use super::convert::{Converter, Done};
use super::error::ImportError;
use super::plan::{Entry, Plan, Store};
use super::reader::Gguf;
use super::staging::{Existing, MARKER, Staging};
use super::tokenizer::{self, Documents};
use crate::safetensors::Dtype;
use crate::shards::ShardWriter;

/// How to import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Quantize all matrices anew to this many bits (2, 3, 4, 5, 6 or 8). `None` keeps what the file has: affine groups
    /// are repacked without loss, other weights become floats.
    pub quantize: Option<u32>,
    /// What may be replaced at the destination.
    pub existing: Existing,
    /// Size in bytes above which the weights are split into several files.
    pub shard_n_bytes: u64,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self { quantize: None, existing: Existing::ReplaceOurs, shard_n_bytes: 5_000_000_000 }
    }
}

/// How far an import is, in bytes of the source's weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Converted so far.
    pub n_bytes_done: u64,
    /// All of them.
    pub n_bytes: u64,
}

/// What an import made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportReport {
    /// `general.name` of the file, if it has one.
    pub name: Option<String>,
    /// `model_type` in config.json.
    pub model_type: &'static str,
    /// Number of weights.
    pub n_params: u64,
    /// Bytes of all weights written.
    pub n_bytes: u64,
    /// Number of safetensors files.
    pub n_shards: usize,
    /// Tensors whose groups were repacked without loss.
    pub n_repacked: usize,
    /// Tensors quantized anew.
    pub n_quantized: usize,
    /// Tensors written as floats.
    pub n_floats: usize,
}

/// Imports the GGUF file `src` into the folder `dst`, which appears whole or, on any error, not at all. `progress` is told
/// after every piece; `Break` cancels.
pub fn import(
    src: &Path,
    dst: &Path,
    options: &ImportOptions,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<ImportReport, ImportError> {
    if let Some(bits) = options.quantize.filter(|bits| !BITS.contains(bits)) {
        return Err(ImportError::Bits { bits });
    }
    let gguf = Gguf::open(src)?;
    refuse_inside(src, dst)?;
    refuse_parts(&gguf)?;
    let architecture = Architecture::of(&gguf)?;
    let sizes = config::sizes(&gguf, architecture)?;
    let plan = Plan::new(&gguf, architecture, &sizes, options.quantize)?;
    let mut config = config::config(&gguf, architecture, &sizes)?;
    let documents = tokenizer::documents(&gguf.metadata, sizes.vocab, &config["max_position_embeddings"])?;
    finish_config(&mut config, &plan, &documents);

    let staging = Staging::begin(dst, options.existing, plan.n_bytes())?;
    let n_shards = write_weights(&gguf, &plan, &staging, options, progress)?;
    write_document(&staging, "config.json", &Value::Object(config))?;
    write_document(&staging, "tokenizer.json", &documents.tokenizer)?;
    write_document(&staging, "tokenizer_config.json", &documents.tokenizer_config)?;
    write_document(&staging, "generation_config.json", &documents.generation_config)?;
    write_document(&staging, MARKER, &marker(src, options))?;
    staging.publish()?;
    report(&gguf, architecture, &plan, n_shards)
}

/// Replacing a folder must not take the source with it.
fn refuse_inside(src: &Path, dst: &Path) -> Result<(), ImportError> {
    match (src.canonicalize(), dst.canonicalize()) {
        (Ok(src), Ok(dst)) if src.starts_with(&dst) => Err(ImportError::SourceInside { path: dst }),
        _ => Ok(()),
    }
}

fn refuse_parts(gguf: &Gguf) -> Result<(), ImportError> {
    match gguf.metadata.count("split.count")? {
        Some(n_parts) if n_parts > 1 => Err(ImportError::Split { path: gguf.path().to_owned(), n_parts }),
        _ => Ok(()),
    }
}

fn finish_config(config: &mut Map<String, Value>, plan: &Plan<'_>, documents: &Documents) {
    let dtype = match plan.dtype {
        Dtype::F32 => "float32",
        Dtype::BF16 => "bfloat16",
        _ => "float16",
    };
    config.insert("torch_dtype".into(), json!(dtype));
    // A model that ends turns by more than one token says so here, as published checkpoints do.
    if let Some([_, _, ..]) = documents.generation_config["eos_token_id"].as_array().map(Vec::as_slice) {
        config.insert("eos_token_id".into(), documents.generation_config["eos_token_id"].clone());
    }
    if let Some(quantization) = plan.quantization() {
        config.insert("quantization".into(), quantization);
    }
}

fn write_document(staging: &Staging, name: &str, document: &Value) -> Result<(), ImportError> {
    // The tokenizer is large and nobody reads it; the rest is for people too.
    let text = if name == "tokenizer.json" { document.to_string() } else { format!("{document:#}\n") };
    staging.write(name, text.as_bytes())
}

fn marker(src: &Path, options: &ImportOptions) -> Value {
    let source = src.file_name().map(|name| name.to_string_lossy().into_owned());
    json!({"imported_from": source, "quantize": options.quantize, "importer": env!("CARGO_PKG_VERSION")})
}

/// Writes all shards, and the index when there are several. Returns how many.
fn write_weights(
    gguf: &Gguf,
    plan: &Plan<'_>,
    staging: &Staging,
    options: &ImportOptions,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<usize, ImportError> {
    let n_bytes = plan.entries.iter().map(|entry| entry.tensor.n_bytes).sum();
    let mut converter = Converter::new(gguf);
    let shards = plan.shards(options.shard_n_bytes);
    let mut places = Map::new();
    let mut n_before = 0;
    for (idx, entries) in shards.iter().enumerate() {
        let name = match shards.len() {
            1 => "model.safetensors".to_owned(),
            n => format!("model-{:05}-of-{n:05}.safetensors", idx + 1),
        };
        let mut done = |n_shard| match progress(Progress { n_bytes_done: n_before + n_shard, n_bytes }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ImportError::Cancelled),
        };
        let names = write_shard(&mut converter, entries, &staging.dir().join(&name), &mut done)?;
        places.extend(names.into_iter().map(|tensor| (tensor, json!(name))));
        n_before += entries.iter().map(|entry| entry.tensor.n_bytes).sum::<u64>();
    }
    if shards.len() > 1 {
        let index = json!({"metadata": {"total_size": plan.n_bytes()}, "weight_map": places});
        write_document(staging, "model.safetensors.index.json", &index)?;
    }
    Ok(shards.len())
}

/// Writes one file. `done` hears how many bytes of its source tensors are dealt with.
fn write_shard(
    converter: &mut Converter<'_>,
    entries: &[Entry<'_>],
    path: &Path,
    done: &mut Done<'_>,
) -> Result<Vec<String>, ImportError> {
    let slots: Vec<_> = entries.iter().flat_map(Entry::slots).collect();
    let mut shard = ShardWriter::create(path, &slots).map_err(ImportError::io("create", path))?;
    // Packed values first, then their scales, then floats: every tensor starts at a multiple of its element size.
    let (packed, floats): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| entry.store.groups().is_some());
    let mut regions: Vec<Vec<_>> = vec![Vec::new(); packed.len()];
    for part in 0..3 {
        for (entry, regions) in packed.iter().zip(&mut regions) {
            regions.push(shard.add(entry.slots().swap_remove(part)));
        }
    }
    let mut n_before = 0;
    for (entry, regions) in packed.into_iter().zip(regions) {
        converter.write(entry, &mut shard, &regions, &mut |n| done(n_before + n))?;
        n_before += entry.tensor.n_bytes;
    }
    for entry in floats {
        let region = shard.add(entry.slots().swap_remove(0));
        converter.write(entry, &mut shard, &[region], &mut |n| done(n_before + n))?;
        n_before += entry.tensor.n_bytes;
    }
    let (_, names) = shard.finish().map_err(ImportError::io("write", path))?;
    Ok(names)
}

fn report(
    gguf: &Gguf,
    architecture: &Architecture,
    plan: &Plan<'_>,
    n_shards: usize,
) -> Result<ImportReport, ImportError> {
    let count = |matches: fn(Store) -> bool| plan.entries.iter().filter(|entry| matches(entry.store)).count();
    let n_weights = |entry: &Entry<'_>| entry.tensor.shape.iter().map(|&n| n as u64).product::<u64>();
    Ok(ImportReport {
        name: gguf.metadata.text("general.name")?.map(str::to_owned),
        model_type: architecture.model_type,
        n_params: plan.entries.iter().map(n_weights).sum(),
        n_bytes: plan.n_bytes(),
        n_shards,
        n_repacked: count(|store| matches!(store, Store::Repack { .. })),
        n_quantized: count(|store| matches!(store, Store::Quantize { .. })),
        n_floats: count(|store| matches!(store, Store::Float(_))),
    })
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
