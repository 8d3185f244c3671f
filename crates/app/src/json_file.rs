//! Small JSON files in this user's settings: bounded when they are read, replaced in one step when they are written.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A file with more is not ours.
const N_BYTES_MAX: u64 = 4 << 20;

/// What the file holds; `None` if there is none.
///
/// # Errors
/// When it cannot be read or is damaged.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let mut text = Vec::new();
    file.take(N_BYTES_MAX).read_to_end(&mut text).with_context(|| format!("cannot read {}", path.display()))?;
    let damaged = || format!("{} is damaged; correct it, or delete it", path.display());
    serde_json::from_slice(&text).with_context(damaged).map(Some)
}

/// Replaces the file, whole or not at all; readable by this user only.
///
/// # Errors
/// When the disk refuses.
pub fn write<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let dir = path.parent().context("the file has no folder")?;
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let wrong = || format!("cannot write {}", path.display());
    // A temporary file is readable by its owner only.
    let mut file = tempfile::NamedTempFile::new_in(dir).with_context(wrong)?;
    file.write_all(&serde_json::to_vec_pretty(value)?).with_context(wrong)?;
    file.as_file().sync_all().with_context(wrong)?;
    file.persist(path).map_err(|error| error.error).with_context(wrong)?;
    Ok(())
}

#[cfg(test)]
#[path = "json_file_tests.rs"]
mod tests;
