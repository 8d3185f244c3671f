//! Files of settings that belong to others: read within limits, and replaced in one step or not at all.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// No file of settings is longer.
const N_BYTES_MAX: u64 = 4 << 20;

/// The text of a file; `None` where there is none.
///
/// # Errors
/// When it is there and cannot be read, is no text, or too long.
pub fn read(path: &Path) -> Result<Option<String>> {
    let real = match real(path) {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_link(path) => return Ok(None),
        Err(error) => return Err(error).with_context(|| broken(path)),
    };
    let wrong = || format!("cannot read {}", path.display());
    let about = fs::metadata(&real).with_context(wrong)?;
    if !about.is_file() {
        bail!("{} is no file; move it away", path.display());
    }
    if about.len() > N_BYTES_MAX {
        bail!("{} is longer than any file of settings", path.display());
    }
    let mut bytes = Vec::new();
    File::open(&real).and_then(|file| file.take(N_BYTES_MAX).read_to_end(&mut bytes)).with_context(wrong)?;
    let text = String::from_utf8(bytes).with_context(|| format!("{} is no UTF-8 text", path.display()))?;
    Ok(Some(text))
}

/// Replaces `before`, which must still be what the file says, by `after`. A link stays: the file that it names is replaced.
///
/// # Errors
/// When the file may not be written, or somebody has changed it meanwhile.
pub fn replace(path: &Path, before: Option<&str>, after: &str) -> Result<()> {
    let real = if before.is_some() { real(path).with_context(|| broken(path))? } else { path.to_owned() };
    let dir = real.parent().context("a file of settings lies in a folder")?;
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let wrong = || format!("cannot write {}", path.display());
    let about = before.is_some().then(|| fs::metadata(&real)).transpose().with_context(wrong)?;
    if about.as_ref().is_some_and(|about| about.permissions().readonly()) {
        bail!("{} is read-only; make it writable, or change it by hand", path.display());
    }
    // A temporary file is readable by its owner only, which suits a new file that may hold a key.
    let mut file = tempfile::NamedTempFile::new_in(dir).with_context(wrong)?;
    file.write_all(after.as_bytes()).with_context(wrong)?;
    if let Some(about) = about {
        file.as_file().set_permissions(Metadata::permissions(&about)).with_context(wrong)?;
    }
    file.as_file().sync_all().with_context(wrong)?;
    if read(path)?.as_deref() != before {
        bail!("{} has changed meanwhile; try again", path.display());
    }
    file.persist(&real).map_err(|error| error.error).with_context(wrong)?;
    Ok(())
}

/// Deletes a file that still says `before`, and the folders `made` for it, if nothing else is in them.
///
/// # Errors
/// As [`replace`].
pub fn delete(path: &Path, before: &str, made: &[PathBuf]) -> Result<()> {
    if read(path)?.as_deref() != Some(before) {
        bail!("{} has changed meanwhile; try again", path.display());
    }
    fs::remove_file(path).with_context(|| format!("cannot delete {}", path.display()))?;
    for dir in made.iter().rev() {
        // One that holds something stays.
        if fs::remove_dir(dir).is_err() {
            break;
        }
    }
    Ok(())
}

/// Where a path leads, links followed.
fn real(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink())
}

fn broken(path: &Path) -> String {
    format!("{} cannot be followed to a file; mend or remove the link", path.display())
}

/// Folders that are not there yet, the topmost first.
pub fn missing(dir: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = dir.ancestors().take_while(|dir| !dir.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}
