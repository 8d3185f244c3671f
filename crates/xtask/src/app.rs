//! `cargo xtask app`: the desktop app, built for development.

use std::os::unix::process::CommandExt;

use anyhow::anyhow;

use crate::stages::Stages;
use crate::{packages, repo, setup, ui};

/// Runs it with these options, such as `--window`.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    setup::ensure()?;
    let stages = Stages::new("app");
    packages::ensure(&[packages::DESKTOP], &stages)?;
    ui::ensure(&stages)?;
    // The app takes this program's place: Ctrl-C and its exit status are its own.
    let error = repo::cargo()?.args(["run", "--package", "tokbar-desktop", "--"]).args(arguments).exec();
    Err(anyhow!(error).context("starting Cargo"))
}
