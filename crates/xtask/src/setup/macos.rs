//! macOS on Apple silicon: Apple's command line tools, what the Brewfile lists, and Apple's build of MLX.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use super::cargo_config;
use super::mac_mlx::{self, Tools};
use crate::check_macos::MIN_MACOS;
use crate::stages::Stages;
use crate::{repo, shell};

/// A tool that only installers bring, and how to get it.
struct Needed {
    check: &'static [&'static str],
    missing: &'static str,
}

const NEEDED: &[Needed] = &[
    Needed {
        check: &["xcode-select", "--print-path"],
        missing: "Apple's command line tools are missing. Run: xcode-select --install",
    },
    Needed { check: &["brew", "--version"], missing: "Homebrew is missing: see https://brew.sh" },
];

/// Checks the tools, installs what the Brewfile lists, and prepares MLX.
pub fn prepare(stages: &Stages) -> anyhow::Result<()> {
    for tool in NEEDED {
        if !shell::succeeds(Command::new(tool.check[0]).args(&tool.check[1..])) {
            bail!("{}", tool.missing);
        }
    }
    let root = repo::root()?;
    let brewfile = root.join("Brewfile");
    let bundle = |words: &[&str]| {
        let mut brew = Command::new("brew");
        brew.args(["bundle"]).args(words).arg("--file").arg(&brewfile);
        brew
    };
    if !shell::succeeds(&mut bundle(&["check", "--no-upgrade"])) {
        stages.run("brew bundle", || shell::capture(&mut bundle(&["install", "--no-upgrade"])).map(drop))?;
    }
    let install_dir = mac_mlx::install_dir()?;
    let dev_dir = repo::dev_dir()?;
    std::fs::create_dir_all(&dev_dir)?;
    let lock = super::lock(&dev_dir, stages)?;
    mac_mlx::ensure(&install_dir, &tools()?, stages)?;
    lock.unlock()?;
    cargo_config::write(&root, &config_text(&install_dir)?)
}

fn tools() -> anyhow::Result<Tools> {
    let sdk = shell::capture(Command::new("xcrun").args(["--sdk", "macosx", "--show-sdk-path"]))?;
    Ok(Tools {
        cxx: "c++".into(),
        ar: "ar".into(),
        cxx_flags: vec![format!("-mmacosx-version-min={MIN_MACOS}.0")],
        clang_arguments: vec!["-isysroot".to_owned(), sdk.trim().to_owned()],
    })
}

/// Programs that are built here find MLX where it is; a release is built with no such path (`packaging/build.sh`).
fn config_text(install_dir: &Path) -> anyhow::Result<String> {
    let libraries = mac_mlx::libraries(install_dir);
    let rpath = cargo_config::checked(&libraries)?;
    Ok(format!(
        r#"[env]
MACOSX_DEPLOYMENT_TARGET = "{MIN_MACOS}.0"

[target.aarch64-apple-darwin]
rustflags = ["-C", "link-arg=-Wl,-rpath,{rpath}"]

{}"#,
        mac_mlx::cargo_table(install_dir)?
    ))
}

#[cfg(test)]
#[path = "macos_tests.rs"]
mod tests;
