//! `cargo xtask setup`: after it, plain `cargo build`, `test`, `clippy` and rust-analyzer work in this checkout.
//!
//! A Mac needs Apple's tools and what the Brewfile lists; `mlx-sys` then builds MLX itself. Linux stands in for the Mac
//! with MLX's own CPU build: packages, the MLX wheel, mlx-c over it, bindings, and a Cargo configuration that points there.

use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::{Context, bail};

use crate::stages::Stages;

mod cargo_config;
mod install;
mod linux;
pub mod mac_mlx;
mod macos;
pub mod pins;

/// Prepares what is missing; quick when nothing is.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if !arguments.is_empty() {
        bail!("`setup` takes no arguments");
    }
    ensure()
}

/// The same for other subcommands that need a prepared machine.
pub fn ensure() -> anyhow::Result<()> {
    let stages = Stages::new("setup");
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => linux::prepare(&stages)?,
        ("macos", "aarch64") => macos::prepare(&stages)?,
        (os, arch) => bail!(
            "Tokbar builds on macOS with Apple silicon, and on Linux with x86-64 for development; this is {os} on {arch}"
        ),
    }
    stages.finish();
    Ok(())
}

/// One set-up at a time: two would build in the same place.
pub fn lock(dev_dir: &Path, stages: &Stages) -> anyhow::Result<File> {
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
