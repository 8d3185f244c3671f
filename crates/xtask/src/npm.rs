//! Packages from the npm registry, pinned by the registry's own SHA-512 of their content. None of their scripts run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::{files, shell};

/// A package of one exact version.
pub struct Package {
    pub spec: &'static str,
    /// As `npm pack --json` prints it.
    pub integrity: &'static str,
}

impl Package {
    /// What a stamp says: another version or content is another text.
    pub fn pinned(&self) -> String {
        format!("{} {}\n", self.spec, self.integrity)
    }
}

/// Downloads a package and unpacks it: its files are then in `folder/package`.
pub fn unpack(package: &Package, folder: &Path) -> anyhow::Result<PathBuf> {
    files::empty_dir(folder)?;
    let mut npm = Command::new("npm");
    npm.current_dir(folder).args(["pack", "--ignore-scripts", "--json", "--loglevel=error", package.spec]);
    let text = shell::capture(&mut npm)?;
    let packed: serde_json::Value = serde_json::from_str(&text).context("reading the output of `npm pack`")?;
    let (integrity, name) = (packed[0]["integrity"].as_str(), packed[0]["filename"].as_str());
    ensure!(
        integrity == Some(package.integrity),
        "{} is not the file it was: the registry's has integrity {}",
        package.spec,
        integrity.unwrap_or("unknown")
    );
    let tarball = folder.join(name.context("`npm pack` names no file")?);
    shell::capture(Command::new("tar").current_dir(folder).arg("-xzf").arg(&tarball))?;
    std::fs::remove_file(&tarball).with_context(|| format!("removing {}", tarball.display()))?;
    Ok(folder.join("package"))
}

/// Puts packages, which need no others, into `folder/node_modules`, where `NODE_PATH` finds them; anew when a pin changes.
pub fn environment(folder: &Path, packages: &[Package]) -> anyhow::Result<()> {
    let text: String = packages.iter().map(Package::pinned).collect();
    if files::says(&folder.join("stamp"), &text) {
        return Ok(());
    }
    let partial = files::with_ending(folder, "partial");
    files::empty_dir(&partial)?;
    for package in packages {
        let unpacked = unpack(package, &partial.join("unpacked"))?;
        let name = package.spec.rsplit_once('@').map_or(package.spec, |(name, _version)| name);
        let place = partial.join("node_modules").join(name);
        std::fs::create_dir_all(place.parent().unwrap_or(&partial)).context("creating node_modules")?;
        std::fs::rename(&unpacked, &place).with_context(|| format!("moving {name} to {}", place.display()))?;
    }
    std::fs::write(partial.join("stamp"), text).context("writing the stamp")?;
    files::replace_dir(&partial, folder)
}
