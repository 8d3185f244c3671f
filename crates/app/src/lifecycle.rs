//! From a model argument to a running engine with its text side.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use jiff::Timestamp;
use tokbar_chat::{Detection, TextModel};
use tokbar_engine::{Backend, Engine, EngineOptions};
use tokbar_hub::checkpoint::Checkpoint;
use tokbar_models::{LoadOptions, MlxBackend, Precision};
use tokbar_server::{ModelAbout, ServedModel};

use crate::cli::{FormatArgs, ModelArgs, PrecisionArg};
use crate::{defaults, progress, sources};

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

/// Finds the checkpoint, importing a GGUF file first, and loads it. Shows progress.
///
/// # Errors
/// When there is no such model or it cannot be loaded.
pub fn load(args: &ModelArgs) -> Result<Loaded> {
    let source = sources::folder(&args.model)?;
    let text = TextModel::load(&source.dir)?;
    let detection = detection(text.detection().clone(), &source.name, &args.format)?;
    let text = text.with_detection(detection);
    let about = about(&Checkpoint::open(&source.dir)?);
    let engine = start_engine(&source.dir, args)?;
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

fn start_engine(dir: &Path, args: &ModelArgs) -> Result<Engine> {
    let options = EngineOptions { n_rows_max: usize::from(args.max_rows), ..EngineOptions::default() };
    let load_options = LoadOptions { precision: precision(args.precision), ..LoadOptions::default() };
    let (folder, bar) = (dir.to_owned(), progress::bytes("Loading"));
    let load = move || -> Result<Box<dyn Backend>, Box<dyn std::error::Error + Send + Sync>> {
        let backend =
            MlxBackend::load(&folder, &load_options, &mut |now| progress::show(&bar, now.n_bytes, now.n_bytes_total))?;
        bar.finish_and_clear();
        for note in &backend.summary().notes {
            tracing::info!("{note}");
        }
        Ok(Box::new(backend))
    };
    Engine::start(load, options).with_context(|| format!("cannot load {}", dir.display()))
}

fn precision(arg: PrecisionArg) -> Precision {
    match arg {
        PrecisionArg::Auto => Precision::Auto,
        PrecisionArg::Published => Precision::Published,
        PrecisionArg::F32 => Precision::F32,
    }
}
