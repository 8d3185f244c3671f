//! Stubs of Apple's libraries, made of what binding crates declare, so that a linker on Linux can say what is missing.
//!
//! A symbol is known if some crate of the registry declares it beside `#[link]`: a name of our own that no binding crate
//! declares stays undefined, and the link fails. That Apple exports a symbol, and from which library, only a Mac shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::TARGET;
use crate::{files, repo, shell};

/// Frameworks that only MLX's library needs, or that crates link without declaring a symbol.
const EMPTY: &[&str] = &["Accelerate", "Metal", "QuartzCore"];
/// Libraries of the system besides frameworks: other names in `#[link]` are no stub's business.
const PLAIN: &[&str] = &["c++", "iconv", "objc", "z"];

/// A library by how it is linked and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Library {
    Framework(String),
    Plain(String),
}

/// Writes a stub for each library that the workspace's crates link; returns how many.
pub fn write_stubs(sdk: &Path) -> anyhow::Result<usize> {
    let mut libraries: BTreeMap<Library, BTreeSet<String>> = BTreeMap::new();
    for folder in registry_crates()? {
        let mut found = Declared::default();
        for path in files::find(&folder, |name| name.ends_with(".rs"))? {
            let text = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            found.read(&String::from_utf8_lossy(&text));
        }
        for library in found.libraries {
            libraries.entry(library).or_default().extend(found.symbols.iter().cloned());
        }
    }
    for name in EMPTY {
        libraries.entry(Library::Framework((*name).to_owned())).or_default();
    }
    for (library, symbols) in &libraries {
        let (path, install_name) = places(library);
        let path = sdk.join(path);
        let folder = path.parent().context("a stub has a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        files::write_if_new(&path, &stub(&install_name, symbols))?;
    }
    Ok(libraries.len())
}

/// Folders of the registry's crates that are compiled for the Mac.
fn registry_crates() -> anyhow::Result<Vec<PathBuf>> {
    let mut cargo = repo::cargo()?;
    cargo.args(["metadata", "--format-version", "1", "--filter-platform", TARGET]);
    let metadata: serde_json::Value =
        serde_json::from_str(&shell::capture(&mut cargo)?).context("reading the output of `cargo metadata`")?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let registry = packages.iter().filter(|package| !package["source"].is_null());
    let folder = |package: &serde_json::Value| Some(Path::new(package["manifest_path"].as_str()?).parent()?.to_owned());
    Ok(registry.filter_map(folder).collect())
}

/// What the sources of one crate link and declare.
#[derive(Debug, Default, PartialEq)]
struct Declared {
    libraries: BTreeSet<Library>,
    symbols: BTreeSet<String>,
}

impl Declared {
    /// Adds one file.
    fn read(&mut self, source: &str) {
        let text = without_comments(source);
        for (at, _) in text.match_indices("link(") {
            self.libraries.extend(linked(&text[at + "link(".len()..]));
        }
        for start in ["extern \"C\"", "extern \"C-unwind\"", "extern_c!", "extern_c_unwind!"] {
            for (at, _) in text.match_indices(start) {
                let rest = text[at + start.len()..].trim_start();
                if let Some(block) = rest.strip_prefix('{').map(block) {
                    self.symbols.extend(symbols(block));
                }
            }
        }
    }
}

fn without_comments(source: &str) -> String {
    source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The library in the inside of a `link(name = "...", kind = "...")`, if it is one for a stub.
fn linked(inside: &str) -> Option<Library> {
    let inside = inside.split(')').next()?;
    let value = |key: &str| {
        let rest = inside.split_once(key)?.1.trim_start().strip_prefix('=')?.trim_start();
        rest.strip_prefix('"')?.split('"').next()
    };
    let name = value("name")?.to_owned();
    match value("kind") {
        Some("framework") => Some(Library::Framework(name)),
        _ => PLAIN.contains(&name.as_str()).then_some(Library::Plain(name)),
    }
}

/// What stands before the brace that closes a block whose opening brace is gone.
fn block(text: &str) -> &str {
    let mut depth = 1;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// Names of functions and statics in a block, and what attributes say the linker should take instead.
fn symbols(block: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in block.match_indices("link_name") {
        let name = block[at..].split('"').nth(1);
        found.extend(name.map(str::to_owned));
    }
    let block = block.replace("'static", "");
    let mut words = block.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        if word == "fn" {
            found.extend(words.next().map(str::to_owned));
        } else if word == "static" {
            let name = words.next().and_then(|word| if word == "mut" { words.next() } else { Some(word) });
            found.extend(name.map(str::to_owned));
        }
    }
    found
}

/// Where a stub lies in the SDK, and the name that the system's loader would look for.
fn places(library: &Library) -> (PathBuf, String) {
    match library {
        Library::Framework(name) => {
            let folder = format!("System/Library/Frameworks/{name}.framework");
            (format!("{folder}/{name}.tbd").into(), format!("/{folder}/Versions/A/{name}"))
        }
        Library::Plain(name) => {
            let version = match name.as_str() {
                "objc" => ".A",
                "c++" | "z" => ".1",
                _ => "",
            };
            (format!("usr/lib/lib{name}.tbd").into(), format!("/usr/lib/lib{name}{version}.dylib"))
        }
    }
}

/// The text of a stub: format 4 of Apple's text-based libraries.
fn stub(install_name: &str, symbols: &BTreeSet<String>) -> String {
    let targets = "[ arm64-macos, arm64e-macos ]";
    let names: Vec<String> = symbols.iter().map(|name| format!("'_{name}'")).collect();
    let exports = match names.is_empty() {
        true => String::new(),
        false => format!("exports:\n  - targets: {targets}\n    symbols: [ {} ]\n", names.join(", ")),
    };
    format!("--- !tapi-tbd\ntbd-version: 4\ntargets: {targets}\ninstall-name: '{install_name}'\n{exports}...\n")
}

#[cfg(test)]
#[path = "frameworks_tests.rs"]
mod tests;
