//! Linux on x86-64: packages, then MLX in the user's cache folder, then this checkout's Cargo configuration.

use std::fs::{File, TryLockError};
use std::path::PathBuf;

use anyhow::Context;

use super::{cargo_config, install, pins};
use crate::stages::Stages;
use crate::{packages, repo};

/// Does what is missing.
pub fn prepare(stages: &Stages) -> anyhow::Result<()> {
    let dev_dir = dev_dir()?;
    let install_dir = dev_dir.join(format!("mlx-{}", pins::MLX_VERSION));
    if !install::is_complete(&install_dir) {
        std::fs::create_dir_all(&dev_dir).with_context(|| format!("creating {}", dev_dir.display()))?;
        let lock = lock(&dev_dir, stages)?;
        // Another checkout's set-up may have finished while this one waited.
        if !install::is_complete(&install_dir) {
            packages::ensure(&[packages::BUILD, packages::PYTHON], stages)?;
            install::install(&install_dir, stages)?;
        }
        lock.unlock().context("releasing the set-up lock")?;
    }
    cargo_config::write(&repo::root()?, &install_dir)
}

/// Folder that all checkouts of this user share: `$XDG_CACHE_HOME/tokbar/dev`, by default under `~/.cache`.
fn dev_dir() -> anyhow::Result<PathBuf> {
    let given = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = match given {
        Some(path) => path,
        None => std::env::home_dir().context("neither XDG_CACHE_HOME nor HOME is set")?.join(".cache"),
    };
    Ok(cache.join("tokbar/dev"))
}

/// One set-up at a time: two would build in the same place.
fn lock(dev_dir: &std::path::Path, stages: &Stages) -> anyhow::Result<File> {
    let path = dev_dir.join("setup.lock");
    let file = File::create(&path).with_context(|| format!("creating {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => stages.note("another set-up is running; waiting for it"),
        Err(TryLockError::Error(error)) => return Err(error).context(format!("locking {}", path.display())),
    }
    file.lock().with_context(|| format!("locking {}", path.display()))?;
    Ok(file)
}
