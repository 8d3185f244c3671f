//! The crates whose code is in the shipped programs: not those of tests and build scripts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

use crate::check_macos::TARGET;
use crate::{repo, shell};

/// Programs that are shipped.
const SHIPPED: &[&str] = &["tokbar-app", "tokbar-desktop"];

/// A crate or package from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crate {
    /// Where it is from, as package URLs have it.
    pub registry: &'static str,
    pub name: String,
    pub version: String,
    /// As its manifest says.
    pub licence: String,
    pub repository: String,
    /// Where its sources are.
    pub folder: PathBuf,
}

/// All of them, sorted by name and version.
pub fn shipped() -> anyhow::Result<Vec<Crate>> {
    let mut cargo = repo::cargo()?;
    cargo.args(["metadata", "--format-version", "1", "--filter-platform", TARGET]);
    let metadata: Value =
        serde_json::from_str(&shell::capture(&mut cargo)?).context("reading the output of `cargo metadata`")?;
    reachable(&metadata)
}

/// Crates that the shipped programs reach by ordinary dependencies.
fn reachable(metadata: &Value) -> anyhow::Result<Vec<Crate>> {
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let nodes = metadata["resolve"]["nodes"].as_array().context("`cargo metadata` resolves nothing")?;
    let nodes: BTreeMap<&str, &Value> = nodes.iter().filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let is_shipped = |package: &&Value| package["name"].as_str().is_some_and(|name| SHIPPED.contains(&name));
    let mut open: Vec<&str> = packages.iter().filter(is_shipped).filter_map(|package| package["id"].as_str()).collect();
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !reached.insert(id) {
            continue;
        }
        let dependencies = nodes.get(id).and_then(|node| node["deps"].as_array()).into_iter().flatten();
        let ordinary = dependencies.filter(|dependency| {
            let kinds = dependency["dep_kinds"].as_array();
            kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
        });
        open.extend(ordinary.filter_map(|dependency| dependency["pkg"].as_str()));
    }
    let foreign = packages.iter().filter(|package| !package["source"].is_null());
    let found = foreign.filter(|package| package["id"].as_str().is_some_and(|id| reached.contains(id)));
    let mut crates: Vec<Crate> = found.map(described).collect::<anyhow::Result<_>>()?;
    crates.sort_unstable();
    Ok(crates)
}

fn described(package: &Value) -> anyhow::Result<Crate> {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let manifest = package["manifest_path"].as_str().context("a package without a manifest")?;
    Ok(Crate {
        registry: "cargo",
        name: text("name"),
        version: text("version"),
        licence: text("license"),
        repository: text("repository"),
        folder: Path::new(manifest).parent().context("a manifest without a folder")?.to_owned(),
    })
}

#[cfg(test)]
#[path = "crates_tests.rs"]
mod tests;
