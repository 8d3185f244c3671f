//! `cargo xtask app`: the desktop app, built for development.

use std::os::unix::process::CommandExt;

use anyhow::anyhow;

use crate::stages::Stages;
use crate::{packages, repo, setup};

/// Runs it with these options, such as `--window`.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    setup::ensure()?;
    packages::ensure(&[packages::DESKTOP], &Stages::new("app"))?;
    // The app takes this program's place: Ctrl-C and its exit status are its own.
    let error = repo::cargo()?.args(["run", "--package", "tokbar-desktop", "--"]).args(arguments).exec();
    Err(anyhow!(error).context("starting Cargo"))
}
