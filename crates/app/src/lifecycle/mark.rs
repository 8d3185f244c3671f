//! A mark on disk while a model is loaded, so that the next start knows of an unclean end: a crash, a kill, a kernel panic.
//!
//! Whoever runs holds a lock on its mark. A mark that nobody locks is what an unclean end left behind.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A mark with more is not ours.
const N_BYTES_MAX: u64 = 1 << 16;
const N_MARKS_MAX: usize = 1000;

/// What a running server says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Running {
    /// The process.
    pub pid: u32,
    /// What it serves first; empty while it serves nothing.
    pub model: String,
    /// Where it listens, such as `127.0.0.1:8000`.
    pub address: String,
    /// The key of its launch, with which this user manages it.
    #[serde(default)]
    pub token: String,
}

/// Held while a model is loaded; gone when dropped.
#[derive(Debug)]
pub struct Mark {
    path: PathBuf,
    lock: File,
}

impl Mark {
    /// Makes the mark in `dir`. `None` where that cannot be written: then nothing is known of unclean ends.
    pub fn set(dir: &Path, running: &Running) -> Option<Self> {
        let path = place(dir, running.pid);
        let write = || -> std::io::Result<File> {
            fs::create_dir_all(dir)?;
            let mut options = File::options();
            options.write(true).create(true).truncate(true);
            // The token is this user's alone. A file of an earlier process of that number keeps its own permissions.
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            remove_absent(&path)?;
            let mut file = options.open(&path)?;
            file.lock()?;
            file.write_all(&serde_json::to_vec(running)?)?;
            file.sync_all()?;
            Ok(file)
        };
        match write() {
            Ok(lock) => Some(Self { path, lock }),
            Err(error) => {
                tracing::debug!(%error, "no mark of a running server was made");
                None
            }
        }
    }
}

/// Removes a file that need not be there.
fn remove_absent(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The end of process `pid` was meant: it is no reason for a careful start.
pub fn forget(dir: &Path, pid: u32) {
    if let Err(error) = remove_absent(&place(dir, pid)) {
        tracing::debug!(%error, "the mark of an ended server stays");
    }
}

fn place(dir: &Path, pid: u32) -> PathBuf {
    dir.join(format!("{pid}.json"))
}

impl Mark {
    /// Says something else from now on.
    pub fn update(&mut self, running: &Running) {
        let mut write = || -> std::io::Result<()> {
            let text = serde_json::to_vec(running)?;
            self.lock.rewind()?;
            self.lock.set_len(0)?;
            self.lock.write_all(&text)?;
            self.lock.sync_data()
        };
        if let Err(error) = write() {
            tracing::debug!(%error, "the mark of a running server says what it said");
        }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(%error, "the mark of a running server stays");
        }
    }
}

/// Servers that run now.
pub fn running(dir: &Path) -> Vec<Running> {
    marks(dir).into_iter().filter(|(_, is_held, _)| *is_held).filter_map(|(_, _, running)| running).collect()
}

/// Takes up the marks that unclean ends left, and tells which models were loaded then; an end without one left nothing to fear.
pub fn take_unclean(dir: &Path) -> Vec<String> {
    let mut models = Vec::new();
    for (path, _, running) in marks(dir).into_iter().filter(|(_, is_held, _)| !is_held) {
        models.extend(running.map(|running| running.model).filter(|model| !model.is_empty()));
        if let Err(error) = fs::remove_file(&path) {
            tracing::debug!(%error, "an old mark stays");
        }
    }
    models
}

/// All marks: where, whether somebody holds it, what it says.
fn marks(dir: &Path) -> Vec<(PathBuf, bool, Option<Running>)> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path())).take(N_MARKS_MAX);
    let json = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json") && path.is_file());
    json.filter_map(|path| {
        let mut file = File::open(&path).ok()?;
        let is_held = match file.try_lock() {
            Ok(()) => false,
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => return None,
        };
        let mut text = Vec::new();
        (&mut file).take(N_BYTES_MAX).read_to_end(&mut text).ok()?;
        Some((path, is_held, serde_json::from_slice(&text).ok()))
    })
    .collect()
}

#[cfg(test)]
#[path = "mark_tests.rs"]
mod tests;
