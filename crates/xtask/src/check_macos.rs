//! `cargo xtask check-macos`: proof from Linux that the Mac's code builds.
//!
//! Type check and clippy of the workspace for Apple silicon; with `--link` the programs as Mach-O; with `--bundle` also the
//! app, assembled and audited as a release is. Each step has a control that shows that it can fail. Nothing is executed: what
//! only a Mac shows is in `packaging/mac-checklist.md`.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};

use crate::setup;
use crate::stages::Stages;
use crate::{audit, packages, repo, shell, ui};

mod controls;
mod frameworks;
mod rust_std;
mod target;
mod zig;

/// Rust's name of Macs with Apple silicon.
pub const TARGET: &str = "aarch64-apple-darwin";
/// The oldest macOS that Tokbar runs on.
pub const MIN_MACOS: u32 = 14;

/// How far to go; each step includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    Check,
    Link,
    Bundle,
}

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let depth = depth(arguments)?;
    ensure!(cfg!(target_os = "linux"), "`check-macos` is for Linux; a Mac builds for itself: cargo xtask test");
    setup::ensure()?;
    prove(depth)
}

/// All of it: what `cargo xtask test --all` runs.
pub fn whole() -> anyhow::Result<()> {
    prove(Depth::Bundle)
}

fn depth(arguments: &[String]) -> anyhow::Result<Depth> {
    let mut depth = Depth::Check;
    for argument in arguments {
        let asked = match argument.as_str() {
            "--link" => Depth::Link,
            "--bundle" => Depth::Bundle,
            _ => bail!("`check-macos` takes --link and --bundle, not `{argument}`"),
        };
        depth = depth.max(asked);
    }
    Ok(depth)
}

fn prove(depth: Depth) -> anyhow::Result<()> {
    let stages = Stages::new("check-macos");
    packages::ensure(&[packages::BUILD, packages::PYTHON, packages::DESKTOP], &stages)?;
    // The programs take the pages in, and the app says whose work is in them.
    ui::ensure(&stages)?;
    let mac = target::prepare(&stages)?;
    let clippy = ["clippy", "--quiet", "--workspace", "--all-targets", "--keep-going"];
    stages.run("clippy of the workspace", || shell::show(mac.cargo(&clippy)?.args(["--", "--deny", "warnings"])))?;
    stages.run("controls of the type check", || controls::of_types(&mac))?;
    if depth >= Depth::Link {
        let programs = stages.run("linking the programs", || link(&mac))?;
        stages.run("controls of the linker", || controls::of_links(&mac))?;
        if depth >= Depth::Bundle {
            stages.run("the app, and its audit", || controls::of_bundle(&mac, &programs))?;
        }
    }
    stages.finish();
    Ok(())
}

/// What was linked for the Mac.
pub struct Programs {
    /// With the menu-bar item.
    pub app: PathBuf,
    /// For the terminal.
    pub tokbar: PathBuf,
}

fn link(mac: &target::Mac) -> anyhow::Result<Programs> {
    let mut cargo = mac.cargo(&["build", "--bins", "--package", "tokbar-app"])?;
    let has_desktop = repo::root()?.join("src-tauri/Cargo.toml").is_file();
    if has_desktop {
        cargo.args(["--package", "tokbar-desktop"]);
    }
    let messages = shell::capture_with_progress(cargo.args(["--message-format", "json-render-diagnostics"]))?;
    let program = |name: &str| repo::program_in(&messages, name).with_context(|| format!("Cargo linked no `{name}`"));
    let tokbar = program("tokbar")?;
    // Before there is a desktop app, its place in the bundle is taken by the other program.
    let programs = Programs { app: if has_desktop { program("tokbar-desktop")? } else { tokbar.clone() }, tokbar };
    for program in [&programs.app, &programs.tokbar] {
        println!("{}", audit::summary(program)?);
    }
    Ok(programs)
}

#[cfg(test)]
#[path = "check_macos_tests.rs"]
mod tests;
