//! `cargo xtask setup`: after it, plain `cargo build`, `test`, `clippy` and rust-analyzer work in this checkout.
//!
//! A Mac needs Apple's tools and what the Brewfile lists; `mlx-sys` then builds MLX itself. Linux stands in for the Mac
//! with MLX's own CPU build: packages, the MLX wheel, mlx-c over it, bindings, and a Cargo configuration that points there.

use anyhow::bail;

use crate::stages::Stages;

mod cargo_config;
mod install;
mod linux;
mod macos;
mod pins;

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
