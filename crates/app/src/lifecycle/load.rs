//! From a model argument to a running engine with its text side.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use jiff::Timestamp;
use tokbar_chat::{Detection, TextModel};
use tokbar_engine::{Backend, Engine, EngineOptions, Speculation};
use tokbar_hub::checkpoint::Checkpoint;
use tokbar_models::{KvQuantization, LoadOptions, LoadProgress, MlxBackend, Precision};
use tokbar_server::{ModelAbout, ServedModel};

use crate::cli::{FormatArgs, KvArgs, KvBitsArg, ModelArgs, PrecisionArg, SpeculationArg};
use crate::sources::{self, Source};
use crate::{defaults, draft, kv_cache, progress};

/// A model ready to answer.
pub struct Loaded {
    /// Folder name or repository name.
    pub name: String,
    /// The checkpoint's folder.
    pub dir: PathBuf,
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
    let source = sources::folder(&args.model)?;
    let text = TextModel::load(&source.dir)?;
    let detection = detection(text.detection().clone(), &source.name, &args.format)?;
    let text = text.with_detection(detection);
    let about = about(&Checkpoint::open(&source.dir)?);
    let draft_dir = draft::folder(args, &text)?;
    let engine = start_engine(&source, draft_dir, args, kv)?;
    Ok(Loaded { name: source.name, dir: source.dir, engine, text: Arc::new(text), about })
}

/// How the model writes tool calls and reasoning: as the options say, else the template, else the name.
///
/// # Errors
/// When an option names no format.
pub fn detection(by_template: Detection, name: &str, options: &FormatArgs) -> Result<Detection> {
    let (tools, reasoning) = (options.tool_call_parser.as_deref(), options.reasoning_parser.as_deref());
    Ok(by_template.with_options(tools, reasoning)?.or_by_name(name))
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

fn start_engine(source: &Source, draft_dir: Option<PathBuf>, args: &ModelArgs, kv: &KvArgs) -> Result<Engine> {
    let dir = &source.dir;
    let options = EngineOptions {
        n_rows_max: usize::from(args.max_rows),
        kv_budget_bytes: kv.kv_budget.map(|n_bytes| usize::try_from(n_bytes).unwrap_or(usize::MAX)),
        speculation: speculation(args.draft.speculation),
        tier: kv_cache::tier(kv, &source.name),
        ..EngineOptions::default()
    };
    let n_draft_tokens = usize::from(args.draft.num_draft_tokens);
    let load_options = LoadOptions { precision: precision(args.precision), kv_quantization: kv_quantization(args) };
    let (folder, bar) = (dir.to_owned(), progress::bytes("Loading"));
    let load = move || -> Result<Box<dyn Backend>, Box<dyn std::error::Error + Send + Sync>> {
        let mut show = |now: LoadProgress| progress::show(&bar, now.n_bytes, now.n_bytes_total);
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
