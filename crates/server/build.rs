//! Takes the UI's files into the program: `ui/dist`, as `cargo xtask ui` builds it. Without them the program builds, too.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(name));
    let dist = variable("CARGO_MANIFEST_DIR")?.join("../../ui/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    if dist.join("index.html").is_file() {
        collect(&dist, &mut files)?;
    }
    files.sort();
    let mut rows = String::new();
    for file in &files {
        let name = file.strip_prefix(&dist).map_err(io::Error::other)?.display().to_string().replace('\\', "/");
        let row = format!("({:?}, include_bytes!({:?})),", format!("/{name}"), file.display().to_string());
        writeln!(rows, "{row}").map_err(io::Error::other)?;
    }
    fs::write(variable("OUT_DIR")?.join("ui.rs"), format!("&[\n{rows}]"))
}

/// All files below, but those that only Git reads.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else if !entry.file_name().to_string_lossy().starts_with('.') {
            files.push(entry.path());
        }
    }
    Ok(())
}
