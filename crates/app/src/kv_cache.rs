//! Where the KV cache on disk is and how much it may take.

use std::path::PathBuf;

use anyhow::{Context, Result};
use directories::ProjectDirs;
use tokbar_engine::tier::TierOptions;

use crate::cli::{CacheDirArgs, KvArgs};

/// The folder and bounds that the arguments ask for.
///
/// # Errors
/// When the user has no cache folder and names none.
pub fn options(args: &CacheDirArgs, label: &str) -> Result<TierOptions> {
    let dir = dir(args)?;
    let options = match args.cache_size {
        Some(n_bytes_max) => TierOptions::new(dir, label.to_owned(), n_bytes_max),
        None => TierOptions::with_usual_size(dir, label.to_owned()),
    };
    Ok(TierOptions { n_free_min: args.cache_reserve, ..options })
}

/// As [`options`], or `None` when nothing is to be kept on disk.
pub fn tier(args: &KvArgs, label: &str) -> Option<TierOptions> {
    if args.no_disk_cache {
        return None;
    }
    match options(&args.dir, label) {
        Ok(options) => Some(options),
        Err(error) => {
            tracing::warn!("no KV cache on disk: {error:#}");
            None
        }
    }
}

fn dir(args: &CacheDirArgs) -> Result<PathBuf> {
    if let Some(dir) = &args.cache_dir {
        return Ok(dir.clone());
    }
    let dirs =
        ProjectDirs::from("", "", "tokbar").context("this user has no cache folder; name one with --cache-dir")?;
    Ok(dirs.cache_dir().join("kv"))
}
