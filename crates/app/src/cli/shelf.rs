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
