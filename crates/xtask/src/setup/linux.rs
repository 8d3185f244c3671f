//! Linux on x86-64: packages, then MLX in the user's cache folder, then this checkout's Cargo configuration.

use anyhow::Context;

use super::{cargo_config, install, pins};
use crate::stages::Stages;
use crate::{packages, repo};

/// Does what is missing.
pub fn prepare(stages: &Stages) -> anyhow::Result<()> {
    let dev_dir = repo::dev_dir()?;
    let install_dir = dev_dir.join(format!("mlx-{}", pins::MLX_VERSION));
    if !install::is_complete(&install_dir) {
        std::fs::create_dir_all(&dev_dir).with_context(|| format!("creating {}", dev_dir.display()))?;
        let lock = super::lock(&dev_dir, stages)?;
        // Another checkout's set-up may have finished while this one waited.
        if !install::is_complete(&install_dir) {
            packages::ensure(&[packages::BUILD, packages::PYTHON], stages)?;
            install::install(&install_dir, stages)?;
        }
        lock.unlock().context("releasing the set-up lock")?;
    }
    cargo_config::write(&repo::root()?, &cargo_config::text(&install_dir)?)
}
