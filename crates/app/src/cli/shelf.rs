//! Options of the commands that deal with models on disk.

use std::path::PathBuf;

use clap::Args;

/// Options of `ls`.
#[derive(Debug, Args)]
pub struct LsArgs {
    /// From now on look into this folder, too; it may be on a drive that comes and goes.
    #[arg(long, value_name = "DIR")]
    pub add: Vec<PathBuf>,

    /// Look no more into a folder that was added; its models stay where they are.
    #[arg(long, value_name = "DIR")]
    pub forget: Vec<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Options of `rm`.
#[derive(Debug, Args)]
pub struct RmArgs {
    /// Its name or path, as `ls` shows it.
    pub model: String,

    /// Do not ask.
    #[arg(short, long)]
    pub yes: bool,

    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Options of `models`.
#[derive(Debug, Args)]
pub struct ModelsArgs {
    /// Tokens of context that a model must have room for.
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = clap::value_parser!(u64).range(1..))]
    pub context: u64,

    /// Also those that this build cannot run yet.
    #[arg(long)]
    pub all: bool,

    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Options of `pull`.
#[derive(Debug, Args)]
pub struct PullArgs {
    /// A short name, as `models` shows it, or the id of a model on the Hugging Face Hub (org/name). Where a repository holds
    /// several, with what lies in it: org/name/4bit, org/name/model-Q4_K_M.gguf.
    pub model: String,

    /// Branch, tag or commit; `main` by default.
    #[arg(long, value_name = "REVISION")]
    pub revision: Option<String>,

    /// Hash again what is here already, and fetch again what is damaged.
    #[arg(long)]
    pub verify: bool,

    /// Print progress and result as lines of JSON.
    #[arg(long)]
    pub json: bool,
}

/// Options of `search`.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Words of the name.
    #[arg(required = true)]
    pub words: Vec<String>,

    /// Most models shown.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub limit: u32,

    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
