//! Notes of what was changed for a client, and the files as they were before.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::edit::{Fields, Format};
use super::{Place, file};

/// What was done to one file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct FileRecord {
    /// The file.
    pub path: PathBuf,
    /// How it is written.
    pub format: Format,
    /// What was set.
    pub fields: Fields,
    /// Name of the copy of what was there; none where there was no file.
    pub backup: Option<String>,
    /// What it said after the change.
    pub after: String,
    /// Folders that were made for it, the topmost first.
    pub made: Vec<PathBuf>,
}

/// Whether something was changed for a client.
pub fn exists(place: &Place, client: &str) -> bool {
    record_path(place, client).is_file()
}

/// What was changed for a client; nothing where nothing was.
///
/// # Errors
/// When the notes are damaged.
pub fn read(place: &Place, client: &str) -> Result<Vec<FileRecord>> {
    let path = record_path(place, client);
    let Some(text) = file::read(&path)? else { return Ok(Vec::new()) };
    serde_json::from_str(&text).with_context(|| {
        let backups = folder(place, client);
        format!("{} is damaged; the files as they were are in {}", path.display(), backups.display())
    })
}

/// What a file said before, as its copy has it.
///
/// # Errors
/// When the copy is gone.
pub fn before(place: &Place, client: &str, record: &FileRecord) -> Result<Option<String>> {
    let Some(name) = &record.backup else { return Ok(None) };
    let path = folder(place, client).join(name);
    file::read(&path)?.with_context(|| format!("the copy {} is gone", path.display())).map(Some)
}

/// Copies what a file says to `name`, so that it can be put back.
///
/// # Errors
/// When the copy cannot be written.
pub fn back_up(place: &Place, client: &str, name: &str, text: &str) -> Result<()> {
    let path = folder(place, client).join(name);
    let old = file::read(&path)?;
    file::replace(&path, old.as_deref(), text)
}

/// Notes what was changed for a client.
///
/// # Errors
/// When the notes cannot be written.
pub fn write(place: &Place, client: &str, records: &[FileRecord]) -> Result<()> {
    let path = record_path(place, client);
    let old = file::read(&path)?;
    file::replace(&path, old.as_deref(), &serde_json::to_string_pretty(records)?)
}

/// Forgets a client, with the copies of its files.
///
/// # Errors
/// When they cannot be deleted.
pub fn remove(place: &Place, client: &str) -> Result<()> {
    let folder = folder(place, client);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot delete {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Where the notes and copies of a client are.
pub fn folder(place: &Place, client: &str) -> PathBuf {
    place.records.join(client)
}

fn record_path(place: &Place, client: &str) -> PathBuf {
    folder(place, client).join("record.json")
}

/// The name of a copy: the file's own, with its place in the order of files.
pub fn backup_name(idx: usize, path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{idx}-{name}.before")
}
