//! From a checkpoint's folder to a model: which precision and operations suit the device, and a summary of what was loaded.

use std::path::Path;
use std::rc::Rc;

use tokbar_engine::ModelInfo;
use tokbar_hub::safetensors::{Dtype as StoredDtype, TensorInfo};

use crate::cache::KvQuantization;
use crate::cache::rotating::N_SLACK;
use crate::config::{ConfigFile, Mode, Quantization};
use crate::families::{self, Family, Model};
use crate::fingerprint::{Traits, fingerprint};
use crate::mx::{self, Device, Dtype};
use crate::weights::{Compute, ExpertCounts, Kernels, LoadProgress, PackedWeights, Paging, WeightFiles, Weights};
use crate::{LoadError, LoadResult};

/// How a checkpoint is loaded.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// What the weights are computed in.
    pub precision: Precision,
    /// Whether KV is packed.
    pub kv_quantization: Option<KvQuantization>,
    /// Memory for the experts of all layers, in bytes: those picked most are in it, others are read when they are picked.
    /// `None` = all are in memory.
    pub expert_bytes: Option<u64>,
}

/// What weights are computed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// f32 on a CPU, where everything else crawls, if memory allows; as published on a GPU.
    #[default]
    Auto,
    /// As published.
    Published,
    /// f32, unpacked.
    F32,
}

/// What was loaded, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSummary {
    /// The family that implements it.
    pub family: &'static str,
    /// Packing of most matrices as published, such as `4-bit affine, groups of 64`.
    pub quantization: Option<String>,
    /// Weights of the network.
    pub n_params: u64,
    /// Element type it is computed in.
    pub dtype: String,
    /// What a user should know about how it runs.
    pub notes: Vec<String>,
}

/// A model with its facts.
pub(crate) struct Loaded {
    pub model: Box<dyn Model>,
    pub info: ModelInfo,
    pub summary: ModelSummary,
    pub device: Device,
    /// How often experts were in memory, where not all are.
    pub expert_counts: Option<Rc<ExpertCounts>>,
}

/// Allocator cache kept between steps. Enough for the temporaries of a decode step, small beside any model.
const N_CACHE_BYTES: usize = 64 << 20;

/// Most drafts of a row: what a rotating cache keeps beyond its window, so that all can be taken back. Recurrent state is
/// computed anew from what came before the drafts.
const N_DRAFTS_MAX: usize = N_SLACK;

/// Part of the free memory that unpacked weights may take.
const FREE_MEMORY_PART: f64 = 0.7;

/// Loads a checkpoint.
///
/// # Errors
/// See [`LoadError`].
pub(crate) fn load(dir: &Path, options: &LoadOptions, progress: &mut dyn FnMut(LoadProgress)) -> LoadResult<Loaded> {
    let config = ConfigFile::read(dir)?;
    let family = families::find(config.model_type()?)?;
    let packing = config.quantization()?.map(|quantization| quantization.default_packing());
    let files = WeightFiles::open(dir)?.with_paging(options.expert_bytes.map(Paging::new));
    let device = mx::device()?;
    mx::set_cache_limit(N_CACHE_BYTES)?;
    let n_params = count_params(files.infos(), packing);
    let plan = Plan::new(options.precision, device, n_params, &files);
    let (model, weight_bytes) = build(&config, &files, plan.compute, progress)?;
    mx::clear_cache()?;
    let kv_quantization = options.kv_quantization;
    let traits = Traits { config: &config, files: &files, compute: plan.compute, device, kv_quantization };
    let fingerprint = fingerprint(&traits)?;
    let info = model_info(&*model, config.eos()?, plan.dtype_bytes(), weight_bytes);
    let info = ModelInfo { fingerprint, ..info };
    let mut notes = plan.notes;
    if config.has_other_parts() {
        notes.push("only the text part is loaded; the parts for images or sound are left out".to_owned());
    }
    let summary = ModelSummary {
        family: family.name,
        quantization: packing.map(describe),
        n_params,
        dtype: plan.dtype.to_owned(),
        notes,
    };
    let expert_counts = files.paging().map(|paging| Rc::clone(&paging.counts)).filter(|counts| counts.n_all.get() > 0);
    Ok(Loaded { model, info, summary, device, expert_counts })
}

/// Builds the network; also the bytes of its weights. A checkpoint that does not fit fails before its weights are read.
pub(crate) fn build(
    config: &ConfigFile,
    files: &WeightFiles,
    compute: Compute,
    progress: &mut dyn FnMut(LoadProgress),
) -> LoadResult<(Box<dyn Model>, usize)> {
    let family = families::find(config.model_type()?)?;
    take_all(family, config, &files.load(compute, config.quantization()?, None)?)?;
    files.paging().map_or(Ok(()), |paging| paging.share())?;
    let weights = files.load(compute, config.quantization()?, Some(progress))?;
    let model = take_all(family, config, &weights)?;
    weights.flush()?;
    Ok((model, weights.n_bytes()))
}

/// The network of all tensors.
fn take_all(family: &Family, config: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let model = (family.load)(config, weights)?;
    let left_over = weights.left_over();
    if left_over.is_empty() {
        return Ok(model);
    }
    let examples = left_over.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
    Err(LoadError::UnknownTensors { n: left_over.len(), family: family.name, examples })
}

fn model_info(model: &dyn Model, eos: Vec<u32>, n_item_bytes: usize, weight_bytes: usize) -> ModelInfo {
    let sizes = model.sizes();
    ModelInfo {
        n_vocab: sizes.n_vocab,
        n_context: sizes.n_context,
        eos,
        kv_bytes_per_token: sizes.n_kv_elements * n_item_bytes,
        weight_bytes,
        memory_bytes: mx::memory_limit(),
        n_drafts_max: if model.can_take_back() { N_DRAFTS_MAX } else { 0 },
        ..ModelInfo::default()
    }
}

/// Whether models are computed on a CPU, in f32.
pub fn is_cpu() -> bool {
    mx::device().is_ok_and(|device| device == Device::Cpu)
}

/// How this checkpoint runs on this device.
struct Plan {
    compute: Compute,
    dtype: &'static str,
    notes: Vec<String>,
}

impl Plan {
    fn new(precision: Precision, device: Device, n_params: u64, files: &WeightFiles) -> Self {
        let stored = files.float_dtype();
        let published = Compute { dtype: None, packed: PackedWeights::Keep, kernels: Kernels::Fused };
        let wants_f32 = precision == Precision::F32 || (precision == Precision::Auto && device == Device::Cpu);
        let plain_if_f32 = |is_f32: bool| if is_f32 && device == Device::Cpu { Kernels::Plain } else { Kernels::Fused };
        if !wants_f32 {
            let compute = Compute { kernels: plain_if_f32(stored == StoredDtype::F32), ..published };
            return Self { compute, dtype: dtype_name(stored), notes: Vec::new() };
        }
        let n_bytes = n_params * 4;
        let free = free_memory();
        let is_stored = files.n_bytes() == n_bytes && stored == StoredDtype::F32;
        if precision == Precision::Auto && !is_stored && n_bytes as f64 > free as f64 * FREE_MEMORY_PART {
            let gib = |n: u64| n as f64 / f64::from(1 << 30);
            let note = format!(
                "kept as published: f32 weights need {:.1} GiB and {:.1} GiB are free; this CPU is slow on {}",
                gib(n_bytes),
                gib(free),
                dtype_name(stored)
            );
            let compute = Compute { kernels: plain_if_f32(stored == StoredDtype::F32), ..published };
            return Self { compute, dtype: dtype_name(stored), notes: vec![note] };
        }
        let compute =
            Compute { dtype: Some(Dtype::Float32), packed: PackedWeights::Unpack, kernels: plain_if_f32(true) };
        let notes = if is_stored {
            Vec::new()
        } else {
            vec!["weights are converted to f32, which is fastest on this device".into()]
        };
        Self { compute, dtype: "f32", notes }
    }

    fn dtype_bytes(&self) -> usize {
        if self.dtype == "f32" { 4 } else { 2 }
    }
}

fn dtype_name(dtype: StoredDtype) -> &'static str {
    match dtype {
        StoredDtype::F16 => "f16",
        StoredDtype::F32 => "f32",
        _ => "bf16",
    }
}

/// Bytes that a program may still allocate; unlimited where the system does not say.
fn free_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib * 1024)
}

/// Elements of all tensors, packed ones unpacked; scales and biases of packings do not count.
fn count_params(infos: &std::collections::BTreeMap<String, TensorInfo>, packing: Option<Quantization>) -> u64 {
    let is_packed = |path: &str| infos.contains_key(&format!("{path}.scales"));
    infos
        .iter()
        .map(|(name, info)| match (name.rsplit_once('.'), packing) {
            (Some((path, "weight")), Some(packing)) if is_packed(path) => info.n_bytes * 8 / packing.bits.max(1) as u64,
            (Some((path, "scales" | "biases")), Some(_)) if is_packed(path) => 0,
            _ => info.n_elements(),
        })
        .sum()
}

fn describe(packing: Quantization) -> String {
    let Quantization { group_size, bits, mode } = packing;
    let mode = match mode {
        Mode::Affine | Mode::Centred => "affine",
        Mode::Mxfp4 => "mxfp4",
        Mode::Mxfp8 => "mxfp8",
        Mode::Nvfp4 => "nvfp4",
    };
    format!("{bits}-bit {mode}, groups of {group_size}")
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
