//! Where this checkout is and what Cargo says about it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::shell;

/// The root of the checkout that this program was started in.
pub fn root() -> anyhow::Result<PathBuf> {
    // Cargo sets the variable for `cargo run`; the compiled-in path serves a directly started binary.
    let crate_dir = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let root = PathBuf::from(&crate_dir).join("../..");
    root.canonicalize().with_context(|| format!("no checkout at {}", root.display()))
}

/// `cargo` in the root of the checkout, free of the variables that belong to the call that started this program.
pub fn cargo() -> anyhow::Result<Command> {
    cargo_at(Path::new(&std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())))
}

/// The same for another toolchain's `cargo`.
pub fn cargo_at(program: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(program);
    command.current_dir(root()?);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    Ok(command)
}

/// `cargo metadata` of the workspace; downloads the sources of all dependencies that are not there yet.
pub fn metadata() -> anyhow::Result<serde_json::Value> {
    let text = shell::capture(cargo()?.args(["metadata", "--format-version", "1"]))?;
    serde_json::from_str(&text).context("reading the output of `cargo metadata`")
}

/// Folder of test models and test environments.
pub fn testkit() -> anyhow::Result<PathBuf> {
    match std::env::var_os("TOKBAR_TESTKIT") {
        Some(given) => std::path::absolute(given).context("TOKBAR_TESTKIT"),
        None => Ok(root()?.join(".testkit")),
    }
}

/// How to build.
#[derive(Clone, Copy)]
pub enum Profile {
    Dev,
    Release,
}

/// Builds the `tokbar` program and returns where it is.
pub fn build_tokbar(profile: Profile) -> anyhow::Result<PathBuf> {
    let mut cargo = cargo()?;
    cargo.args(["build", "--package", "tokbar-app", "--bin", "tokbar"]);
    if let Profile::Release = profile {
        cargo.arg("--release");
    }
    build(&mut cargo)
}

/// Builds all tests of the workspace, and with them the `tokbar` program that they start; returns where that is.
pub fn build_tests() -> anyhow::Result<PathBuf> {
    // In one call: a package built alone asks for fewer features of its dependencies, which would then be built twice.
    build(cargo()?.args(["test", "--workspace", "--no-run"]))
}

fn build(cargo: &mut Command) -> anyhow::Result<PathBuf> {
    let messages = shell::capture_with_progress(cargo.args(["--message-format", "json-render-diagnostics"]))?;
    program_in(&messages, "tokbar").context("Cargo built no `tokbar`")
}

/// The program of this name that Cargo's JSON messages tell of, one message a line; not its unit tests of the same name.
pub fn program_in(messages: &str, name: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut built = messages.filter(|message| message["target"]["name"] == name && message["profile"]["test"] == false);
    built.find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

/// A text file that belongs to the checkout.
pub struct TextFile {
    /// Relative to the root, with `/` between folders.
    pub path: String,
    pub text: String,
}

/// All text files that are committed or would be: what git does not ignore.
pub fn text_files() -> anyhow::Result<Vec<TextFile>> {
    let root = root()?;
    let mut git = Command::new("git");
    git.current_dir(&root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listing = shell::capture(&mut git)?;
    let mut paths: Vec<&str> = listing.split('\0').filter(|path| !path.is_empty()).collect();
    paths.sort_unstable();
    paths.dedup();
    // Files that are not text, or that are deleted but not yet committed, have no lines to check.
    let read =
        |path: &&str| Some(TextFile { path: (*path).to_owned(), text: std::fs::read_to_string(root.join(path)).ok()? });
    Ok(paths.iter().filter_map(read).collect())
}

/// Folder that all checkouts of this user share: `$XDG_CACHE_HOME/tokbar/dev`, by default under `~/.cache`.
pub fn dev_dir() -> anyhow::Result<PathBuf> {
    let given = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = match given {
        Some(path) => path,
        None => std::env::home_dir().context("neither XDG_CACHE_HOME nor HOME is set")?.join(".cache"),
    };
    Ok(cache.join("tokbar/dev"))
}

/// Where Cargo puts what it builds.
pub fn target_dir() -> anyhow::Result<PathBuf> {
    let text = shell::capture(cargo()?.args(["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&text).context("reading the output of `cargo metadata`")?;
    let folder = metadata["target_directory"].as_str().context("`cargo metadata` names no target directory")?;
    Ok(folder.into())
}

#[cfg(test)]
#[path = "repo_tests.rs"]
mod tests;
