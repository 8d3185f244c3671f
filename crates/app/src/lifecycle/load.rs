//! From a model argument to a running engine with its text side.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use jiff::Timestamp;
use tokbar_chat::{Detection, TextModel};
use tokbar_engine::{Backend, Engine, EngineOptions, Speculation};
use tokbar_hub::checkpoint::Checkpoint;
use tokbar_hub::fit::{Demand, Numbers, Unloaded, Verdict, fit};
use tokbar_hub::recommend::N_CONTEXT;
use tokbar_models::{KvQuantization, LoadOptions, LoadProgress, MlxBackend, Precision};
use tokbar_server::{ModelAbout, ServedModel};

use crate::cli::{FormatArgs, KvArgs, KvBitsArg, ModelArgs, PrecisionArg, SpeculationArg};
use crate::sources::{self, Source};
use crate::{defaults, draft, kv_cache, memory, progress};

/// A model ready to answer.
pub struct Loaded {
    /// Folder name or repository name.
    pub name: String,
    /// The checkpoint's folder.
    pub dir: PathBuf,
    /// The folder of the model that drafts, if one does.
    pub draft_dir: Option<PathBuf>,
    /// Runs the forward passes.
    pub engine: Engine,
    /// Its text side.
    pub text: Arc<TextModel>,
    /// What it is made of.
    pub about: ModelAbout,
}

impl Loaded {
    /// Ready for the server. The folder's name is the id.
    pub fn into_served(self, aliases: Vec<String>) -> ServedModel {
        ServedModel {
            defaults: defaults::recommended(&self.dir),
            id: self.name,
            aliases,
            created: Timestamp::now(),
            text: self.text,
            engine: self.engine,
            about: self.about,
        }
    }
}

/// Finds the checkpoint, importing a GGUF file first, and loads it. Shows progress. KV stays in memory, by default bounds.
///
/// # Errors
/// When there is no such model or it cannot be loaded.
pub fn load(args: &ModelArgs) -> Result<Loaded> {
    load_keeping(args, &KvArgs { no_disk_cache: true, ..KvArgs::default() })
}

/// As [`load`], with KV kept as `kv` says.
///
/// # Errors
/// As [`load`], and when the KV budget is too small.
pub fn load_keeping(args: &ModelArgs, kv: &KvArgs) -> Result<Loaded> {
    load_watched(args, kv, &Arc::default())
}

/// How much of a model has been read; others may look at it meanwhile.
#[derive(Debug, Default)]
pub struct Watch {
    n_bytes: AtomicU64,
    n_bytes_total: AtomicU64,
}

impl Watch {
    fn set(&self, now: &LoadProgress) {
        self.n_bytes.store(now.n_bytes, Ordering::Relaxed);
        self.n_bytes_total.store(now.n_bytes_total, Ordering::Relaxed);
    }

    /// From 0 to 1.
    pub fn part(&self) -> f64 {
        let total = self.n_bytes_total.load(Ordering::Relaxed).max(1);
        (self.n_bytes.load(Ordering::Relaxed) as f64 / total as f64).min(1.0)
    }
}

/// As [`load_keeping`], with `watch` told of the progress.
///
/// # Errors
/// As [`load_keeping`].
pub fn load_watched(args: &ModelArgs, kv: &KvArgs, watch: &Arc<Watch>) -> Result<Loaded> {
    let source = sources::folder(&args.model)?;
    let text = TextModel::load(&source.dir)?;
    let detection = detection(text.detection().clone(), &source.name, &args.format)?;
    let text = text.with_detection(detection);
    let checkpoint = Checkpoint::open(&source.dir)?;
    let about = about(&checkpoint);
    let draft_dir = draft::folder(args, &text)?;
    advise(&source.name, &checkpoint, draft_dir.as_deref());
    let engine = start_engine(&source, draft_dir.clone(), (args, kv), watch)?;
    Ok(Loaded { name: source.name, dir: source.dir, draft_dir, engine, text: Arc::new(text), about })
}

/// How the model writes tool calls and reasoning: as the options say, else the template, else the name.
///
/// # Errors
/// When an option names no format.
pub fn detection(by_template: Detection, name: &str, options: &FormatArgs) -> Result<Detection> {
    let (tools, reasoning) = (options.tool_call_parser.as_deref(), options.reasoning_parser.as_deref());
    Ok(by_template.with_options(tools, reasoning)?.or_by_name(name))
}

/// Says so before a model is loaded that will not fit; a person may know better.
fn advise(name: &str, checkpoint: &Checkpoint, draft_dir: Option<&Path>) {
    let demand = demand(checkpoint);
    let drafter = draft_dir.and_then(|dir| Checkpoint::open(dir).ok());
    let demand = drafter.iter().fold(demand, |demand, drafter| demand.with_drafter(self::demand(drafter)));
    let n_context = checkpoint.n_context.map_or(N_CONTEXT, |most| most.min(N_CONTEXT));
    let fit = fit(&demand, n_context, &memory::machine(), &Unloaded::default());
    if fit.verdict != Verdict::Fits {
        tracing::warn!("{name} {}", fit.words);
    }
}

/// What a checkpoint takes as this machine computes it.
pub fn demand(checkpoint: &Checkpoint) -> Demand {
    Demand::of(checkpoint, if tokbar_models::is_cpu() { Numbers::F32 } else { Numbers::Published })
}

fn about(checkpoint: &Checkpoint) -> ModelAbout {
    ModelAbout {
        family: checkpoint.model_type.clone(),
        format: "safetensors".to_owned(),
        quantization: checkpoint.quantization.as_ref().map(|q| format!("{}-bit", q.bits)),
        n_parameters: Some(checkpoint.n_params),
        n_bytes: checkpoint.n_bytes(),
    }
}

fn start_engine(
    source: &Source,
    draft_dir: Option<PathBuf>,
    (args, kv): (&ModelArgs, &KvArgs),
    watch: &Arc<Watch>,
) -> Result<Engine> {
    let dir = &source.dir;
    let options = EngineOptions {
        n_rows_max: usize::from(args.max_rows),
        n_context_max: args.max_context.map(|n| n as usize),
        kv_budget_bytes: kv.kv_budget.map(|n_bytes| usize::try_from(n_bytes).unwrap_or(usize::MAX)),
        speculation: speculation(args.draft.speculation),
        tier: kv_cache::tier(kv, &source.name),
        ..EngineOptions::default()
    };
    let n_draft_tokens = usize::from(args.draft.num_draft_tokens);
    let load_options = LoadOptions { precision: precision(args.precision), kv_quantization: kv_quantization(args) };
    let (folder, bar, watch) = (dir.to_owned(), progress::bytes("Loading"), Arc::clone(watch));
    let load = move || -> Result<Box<dyn Backend>, Box<dyn std::error::Error + Send + Sync>> {
        let mut show = |now: LoadProgress| {
            watch.set(&now);
            progress::show(&bar, now.n_bytes, now.n_bytes_total);
        };
        let mut backend = MlxBackend::load(&folder, &load_options, &mut show)?;
        if let Some(draft_dir) = draft_dir {
            backend.load_draft_model(&draft_dir, n_draft_tokens, &load_options, &mut show)?;
        }
        bar.finish_and_clear();
        for note in &backend.summary().notes {
            tracing::info!("{note}");
        }
        Ok(Box::new(backend))
    };
    Engine::start(load, options).with_context(|| format!("cannot load {}", dir.display()))
}

fn speculation(arg: SpeculationArg) -> Speculation {
    match arg {
        SpeculationArg::Auto => Speculation::Auto,
        SpeculationArg::Off => Speculation::Off,
        SpeculationArg::Ngram => Speculation::Lookup,
        SpeculationArg::Draft => Speculation::Model,
    }
}

fn kv_quantization(args: &ModelArgs) -> Option<KvQuantization> {
    let bits = match args.kv_bits? {
        KvBitsArg::Four => 4,
        KvBitsArg::Eight => 8,
    };
    Some(KvQuantization { bits, min_length: args.kv_bits_from as usize })
}

fn precision(arg: PrecisionArg) -> Precision {
    match arg {
        PrecisionArg::Auto => Precision::Auto,
        PrecisionArg::Published => Precision::Published,
        PrecisionArg::F32 => Precision::F32,
    }
}
