//! The npm packages whose code is in the window's pages: not those that build and test them.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use super::crates::Crate;
use crate::repo;

/// What Svelte's compiler leaves of itself in the pages; all else that is shipped is a dependency by its name.
const RUNTIME: &[&str] = &["clsx", "esm-env", "svelte"];

/// All of them, as installed.
pub fn shipped() -> anyhow::Result<Vec<Crate>> {
    let ui = repo::root()?.join("ui");
    let manifest = read(&ui.join("package.json"))?;
    let named = manifest["dependencies"].as_object().context("ui/package.json has no dependencies")?;
    let mut names: Vec<&str> = named.keys().map(String::as_str).chain(RUNTIME.iter().copied()).collect();
    names.sort_unstable();
    names.iter().map(|name| installed(&ui.join("node_modules").join(name))).collect()
}

fn installed(folder: &Path) -> anyhow::Result<Crate> {
    let manifest = read(&folder.join("package.json")).context("run `cargo xtask ui` first")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let repository = &manifest["repository"];
    Ok(Crate {
        registry: "npm",
        name: text(&manifest["name"]),
        version: text(&manifest["version"]),
        licence: text(&manifest["license"]),
        repository: text(if repository.is_string() { repository } else { &repository["url"] }),
        folder: folder.to_owned(),
    })
}

fn read(manifest: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(manifest).with_context(|| format!("reading {}", manifest.display()))?;
    serde_json::from_str(&text).with_context(|| format!("reading {}", manifest.display()))
}
