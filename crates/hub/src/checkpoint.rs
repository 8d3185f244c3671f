//! A checkpoint in MLX layout: what its files say about it, without loading a weight.
//!
//! Knows config.json, the shard index and safetensors headers; must not know how a family computes. All files are
//! untrusted: sizes are bounded before reading.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::kv_cost::{KvCost, text_field};
use crate::safetensors::{Dtype, Header, SafetensorsError, TensorInfo};

/// Largest config.json and tokenizer_config.json read, in bytes.
pub const N_CONFIG_BYTES_MAX: u64 = 16 << 20;
/// Largest shard index read, in bytes.
pub const N_INDEX_BYTES_MAX: u64 = 256 << 20;
const INDEX: &str = "model.safetensors.index.json";

/// How most weights of a checkpoint are quantized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantization {
    /// Bits of one value.
    pub bits: u32,
    /// Weights that share a scale.
    pub group_size: usize,
    /// `affine`, `mxfp4`, ...
    pub mode: String,
    /// Group length of the layers that differ.
    overrides: BTreeMap<String, usize>,
}

/// One file of weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub n_bytes: u64,
}

/// An opened checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Its folder.
    pub dir: PathBuf,
    /// config.json as it is.
    pub config: Map<String, Value>,
    /// The family key.
    pub model_type: String,
    /// How the weights are quantized, if they are.
    pub quantization: Option<Quantization>,
    /// Files of weights.
    pub files: Vec<WeightFile>,
    /// Number of weights, packed ones counted one by one.
    pub n_params: u64,
    /// Longest context that the model was made for, in tokens.
    pub n_context: Option<u64>,
    /// Whether tokenizer.json is there.
    pub has_tokenizer: bool,
    /// Whether there is a chat template.
    pub has_chat_template: bool,
    /// Cost of the key-value cache, where config.json tells its shape.
    pub kv: Option<KvCost>,
}

/// Why a folder is not a usable checkpoint.
#[allow(missing_docs)]
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{dir} is no model folder: it has no config.json. Give a folder in MLX or Hugging Face layout.")]
    NoConfig { dir: PathBuf },
    #[error("{path} has {n_bytes} bytes, more than the {cap} allowed. Download the model again.")]
    TooLarge { path: PathBuf, n_bytes: u64, cap: u64 },
    #[error("{path} is damaged: {problem}. Download the model again.")]
    Damaged { path: PathBuf, problem: String },
    #[error("{dir} has no weights in safetensors format. {advice}")]
    NoWeights { dir: PathBuf, advice: String },
    #[error("{dir} is incomplete: `{shard}` is missing. Finish the download.")]
    MissingShard { dir: PathBuf, shard: String },
    #[error("{dir} is incomplete: tensor `{tensor}` is not in `{shard}`. Download the model again.")]
    MissingTensor { dir: PathBuf, tensor: String, shard: String },
    #[error(transparent)]
    Safetensors(#[from] SafetensorsError),
}

impl Checkpoint {
    /// Reads what the files of `dir` say. Reads no weights.
    pub fn open(dir: &Path) -> Result<Self, CheckpointError> {
        let path = dir.join("config.json");
        let config = object(&path, N_CONFIG_BYTES_MAX)?.ok_or(CheckpointError::NoConfig { dir: dir.to_owned() })?;
        let Some(model_type) = config.get("model_type").and_then(Value::as_str) else {
            return Err(CheckpointError::Damaged { path, problem: "it names no model_type".to_owned() });
        };
        let model_type = model_type.to_owned();
        let quantization = quantization(&config);
        let headers = headers(dir)?;
        let group_len = |module: &str| quantization.as_ref().map_or(1, |quantization| quantization.group_len(module));
        Ok(Self {
            model_type,
            n_params: headers.values().map(|header| n_params(header, &group_len)).sum(),
            n_context: text_field(&config, "max_position_embeddings").and_then(Value::as_u64),
            has_tokenizer: ["tokenizer.json", "tekken.json"].iter().any(|name| dir.join(name).is_file()),
            has_chat_template: has_chat_template(dir)?,
            kv: KvCost::as_published(&config),
            files: headers
                .into_iter()
                .map(|(path, header)| WeightFile { path, n_bytes: header.file_n_bytes })
                .collect(),
            dir: dir.to_owned(),
            quantization,
            config,
        })
    }

    /// Bytes of all files of weights.
    pub fn n_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.n_bytes).sum()
    }
}

impl Quantization {
    fn group_len(&self, module: &str) -> usize {
        self.overrides.get(module).copied().unwrap_or(self.group_size)
    }
}

/// The JSON object in `path`, or `None` when there is no such file.
fn object(path: &Path, cap: u64) -> Result<Option<Map<String, Value>>, CheckpointError> {
    let io = |source| CheckpointError::Io { path: path.to_owned(), source };
    // Before opening: a pipe would block until somebody writes to it.
    let n_bytes = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(meta) if !meta.is_file() => {
            return Err(CheckpointError::Damaged { path: path.to_owned(), problem: "it is no plain file".to_owned() });
        }
        meta => meta.map_err(io)?.len(),
    };
    if n_bytes > cap {
        return Err(CheckpointError::TooLarge { path: path.to_owned(), n_bytes, cap });
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(io)?.take(cap).read_to_end(&mut bytes).map_err(io)?;
    let damaged = |problem: String| CheckpointError::Damaged { path: path.to_owned(), problem };
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(object)) => Ok(Some(object)),
        Ok(_) => Err(damaged("it is no JSON object".to_owned())),
        Err(error) => Err(damaged(error.to_string())),
    }
}

fn quantization(config: &Map<String, Value>) -> Option<Quantization> {
    let fields = config.get("quantization").or_else(|| config.get("quantization_config"))?.as_object()?;
    let count = |fields: &Map<String, Value>, name: &str| fields.get(name).and_then(Value::as_u64);
    let group_len = |fields: &Map<String, Value>| count(fields, "group_size").map(|n| n as usize);
    let overrides = fields.iter().filter_map(|(module, value)| Some((module.clone(), group_len(value.as_object()?)?)));
    Some(Quantization {
        bits: u32::try_from(count(fields, "bits")?).ok()?,
        group_size: group_len(fields)?,
        mode: fields.get("mode").and_then(Value::as_str).unwrap_or("affine").to_owned(),
        overrides: overrides.collect(),
    })
}

/// Headers of the weight files in `dir`, by path. What the index promises must be there.
///
/// # Errors
/// When there are no weights, a shard or a tensor of the index is missing, or a file breaks the format.
pub fn headers(dir: &Path) -> Result<BTreeMap<PathBuf, Header>, CheckpointError> {
    let index_path = dir.join(INDEX);
    let Some(index) = object(&index_path, N_INDEX_BYTES_MAX)? else {
        return unindexed(dir)?.into_iter().map(|path| Ok((path.clone(), Header::read(&path)?))).collect();
    };
    let damaged = |problem: &str| CheckpointError::Damaged { path: index_path.clone(), problem: problem.to_owned() };
    let map = index.get("weight_map").and_then(Value::as_object).ok_or_else(|| damaged("it has no weight_map"))?;
    let mut headers = BTreeMap::new();
    for (tensor, shard) in map {
        let shard = shard.as_str().filter(|name| is_plain(name)).ok_or_else(|| damaged("it names no plain file"))?;
        let path = dir.join(shard);
        if !headers.contains_key(&path) {
            if !path.is_file() {
                return Err(CheckpointError::MissingShard { dir: dir.to_owned(), shard: shard.to_owned() });
            }
            headers.insert(path.clone(), Header::read(&path)?);
        }
        if !headers[&path].tensors.contains_key(tensor) {
            let (tensor, shard) = (tensor.clone(), shard.to_owned());
            return Err(CheckpointError::MissingTensor { dir: dir.to_owned(), tensor, shard });
        }
    }
    if headers.is_empty() { Err(damaged("its weight_map is empty")) } else { Ok(headers) }
}

/// Whether a name stays inside its folder.
fn is_plain(name: &str) -> bool {
    !name.contains(['/', '\\', '\0']) && !name.starts_with('.') && !name.is_empty()
}

/// Files of weights without an index: `model.safetensors`, or every `model*.safetensors` as mlx-lm takes them.
fn unindexed(dir: &Path) -> Result<BTreeSet<PathBuf>, CheckpointError> {
    let io = |source| CheckpointError::Io { path: dir.to_owned(), source };
    let mut weights = BTreeSet::new();
    let mut advice = "Finish the download, or convert the model.".to_owned();
    for entry in fs::read_dir(dir).map_err(io)? {
        let name = entry.map_err(io)?.file_name();
        let Some(name) = name.to_str() else { continue };
        match Path::new(name).extension().and_then(|extension| extension.to_str()) {
            Some("safetensors") if name.starts_with("model") => drop(weights.insert(dir.join(name))),
            Some("gguf") => advice = format!("Import `{name}` first."),
            _ => {}
        }
    }
    if let Some(missing) = missing_sibling(&weights) {
        return Err(CheckpointError::MissingShard { dir: dir.to_owned(), shard: missing });
    }
    if weights.is_empty() { Err(CheckpointError::NoWeights { dir: dir.to_owned(), advice }) } else { Ok(weights) }
}

/// The first file that is absent among files named `...-00001-of-00003.safetensors`.
fn missing_sibling(weights: &BTreeSet<PathBuf>) -> Option<String> {
    let dir = weights.first()?.parent()?;
    let name = weights.first()?.file_stem()?.to_str()?;
    let (stem, total) = name.rsplit_once("-of-")?;
    let (stem, _) = stem.rsplit_once('-')?;
    let n: usize = total.parse().ok().filter(|n| *n < 100_000)?;
    let mut names = (1..=n).map(|idx| format!("{stem}-{idx:05}-of-{total}.safetensors"));
    names.find(|name| !weights.contains(&dir.join(name)))
}

/// Weights in a file. A packed tensor holds as many as its scales cover.
fn n_params(header: &Header, group_len: &dyn Fn(&str) -> usize) -> u64 {
    let part = |module: &str, part: &str| header.tensors.get(&format!("{module}.{part}"));
    let is_packed = |module: &str| part(module, "weight").is_some_and(|weight| weight.dtype == Dtype::U32);
    let n_weights = |(name, info): (&String, &TensorInfo)| match name.rsplit_once('.') {
        Some((module, "scales" | "biases")) if is_packed(module) => 0,
        Some((module, "weight")) if info.dtype == Dtype::U32 => {
            let n_groups = part(module, "scales").map_or(0, TensorInfo::n_elements);
            n_groups.saturating_mul(group_len(module) as u64)
        }
        _ => info.n_elements(),
    };
    header.tensors.iter().map(n_weights).fold(0, u64::saturating_add)
}

fn has_chat_template(dir: &Path) -> Result<bool, CheckpointError> {
    if dir.join("chat_template.jinja").is_file() || dir.join("chat_template.json").is_file() {
        return Ok(true);
    }
    let config = object(&dir.join("tokenizer_config.json"), N_CONFIG_BYTES_MAX)?;
    Ok(config.is_some_and(|config| config.get("chat_template").is_some_and(|template| !template.is_null())))
}

#[cfg(test)]
#[path = "checkpoint_tests.rs"]
mod tests;
