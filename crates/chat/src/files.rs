//! Reading a checkpoint's small files: bounded, and with errors that name the file.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use serde_json::Value;

/// A file of the checkpoint that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file exists, but cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is larger than any real one.
    #[error("{} is larger than {max_bytes} bytes; the checkpoint is damaged, download it again", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most bytes accepted.
        max_bytes: u64,
    },
    /// The file is not UTF-8 text.
    #[error("{} is not UTF-8 text; the checkpoint is damaged, download it again", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// The file is not JSON.
    #[error("{} is not valid JSON: {source}", path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// Where it breaks.
        source: serde_json::Error,
    },
}

/// Bytes of `path`; `None` when there is no such file.
pub(crate) fn read_bytes(path: &Path, max_bytes: u64) -> Result<Option<Vec<u8>>, FileError> {
    let read = |source| FileError::Read { path: path.to_owned(), source };
    // Before opening: a pipe would block until somebody writes to it.
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() => {}
        Ok(_) => return Err(read(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(read(error)),
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(read)?;
    file.take(max_bytes + 1).read_to_end(&mut bytes).map_err(read)?;
    if bytes.len() as u64 > max_bytes {
        return Err(FileError::TooLarge { path: path.to_owned(), max_bytes });
    }
    Ok(Some(bytes))
}

/// Text of `path`; `None` when there is no such file.
pub(crate) fn read_text(path: &Path, max_bytes: u64) -> Result<Option<String>, FileError> {
    let Some(bytes) = read_bytes(path, max_bytes)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|_| FileError::NotText { path: path.to_owned() })?;
    Ok(Some(text))
}

/// JSON of `path`; `None` when there is no such file.
pub(crate) fn read_json(path: &Path, max_bytes: u64) -> Result<Option<Value>, FileError> {
    let Some(bytes) = read_bytes(path, max_bytes)? else { return Ok(None) };
    let value =
        serde_json::from_slice(&bytes).map_err(|source| FileError::NotJson { path: path.to_owned(), source })?;
    Ok(Some(value))
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
