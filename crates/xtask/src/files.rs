//! Folders that are complete or not there: built beside their place, moved into it in one step.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Removes a folder and all in it; fine if it is not there.
pub fn remove_dir(dir: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", dir.display()))
        }
        _ => Ok(()),
    }
}

/// Creates a folder that holds nothing, whatever was there before.
pub fn empty_dir(dir: &Path) -> anyhow::Result<()> {
    remove_dir(dir)?;
    fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))
}

/// Moves a finished folder to its place. What is there goes aside first: programs that have it open keep it.
pub fn replace_dir(finished: &Path, place: &Path) -> anyhow::Result<()> {
    let old = with_ending(place, "old");
    remove_dir(&old)?;
    if place.exists() {
        fs::rename(place, &old).with_context(|| format!("moving {} aside", place.display()))?;
    }
    fs::rename(finished, place).with_context(|| format!("moving the result to {}", place.display()))?;
    remove_dir(&old)
}

/// Writes a file in one step, unless it already says the same.
pub fn write_if_new(path: &Path, text: &str) -> anyhow::Result<()> {
    if says(path, text) {
        return Ok(());
    }
    let partial = with_ending(path, "partial");
    fs::write(&partial, text).with_context(|| format!("writing {}", partial.display()))?;
    fs::rename(&partial, path).with_context(|| format!("writing {}", path.display()))
}

/// True if the file holds just this text.
pub fn says(path: &Path, text: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|present| present == text)
}

/// The path with one more ending: `mlx-0.32.2` and `partial` make `mlx-0.32.2.partial`.
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    name.into()
}

/// The one entry of a folder whose name fits.
pub fn only_entry(dir: &Path, fits: impl Fn(&str) -> bool) -> anyhow::Result<PathBuf> {
    let found: Vec<PathBuf> = tree(dir, 0)?.into_iter().filter(|path| name_fits(path, &fits)).collect();
    match <[PathBuf; 1]>::try_from(found) {
        Ok([path]) => Ok(path),
        Err(found) => bail!("expected one fitting file in {}, found {}", dir.display(), found.len()),
    }
}

/// Files anywhere below a folder whose name fits, in order of their names.
pub fn find(dir: &Path, fits: impl Fn(&str) -> bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> =
        tree(dir, 8)?.into_iter().filter(|path| path.is_file() && name_fits(path, &fits)).collect();
    found.sort_by(|a, b| a.file_name().cmp(&b.file_name()).then_with(|| a.cmp(b)));
    Ok(found)
}

fn name_fits(path: &Path, fits: &impl Fn(&str) -> bool) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(fits)
}

/// Entries of a folder, and of so many levels of folders in it.
fn tree(dir: &Path, n_levels: usize) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))? {
        let path = entry?.path();
        if n_levels > 0 && path.is_dir() && !path.is_symlink() {
            paths.extend(tree(&path, n_levels - 1)?);
        }
        paths.push(path);
    }
    Ok(paths)
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
