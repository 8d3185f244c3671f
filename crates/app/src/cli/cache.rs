//! Options of `tokbar cache`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::CacheDirArgs;

/// Options of `cache`.
#[derive(Debug, Args)]
pub struct CacheArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub dir: CacheDirArgs,

    /// What to do with it.
    #[command(subcommand)]
    pub action: CacheAction,
}

/// What to do with the KV cache on disk.
#[derive(Debug, Subcommand)]
pub enum CacheAction {
    /// Show what there is, by model.
    Info {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove all that no running server uses.
    Clear {
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
    },
    /// Copy everything into a new file.
    Export {
        /// The file.
        file: PathBuf,
    },
    /// Check and take in what an exported file holds.
    Import {
        /// The file.
        file: PathBuf,
    },
}
