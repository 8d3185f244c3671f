//! Small JSON files in this user's settings: bounded when they are read, replaced in one step when they are written, changed by
//! one thread of one process at a time.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A file with more is not ours.
const N_BYTES_MAX: u64 = 4 << 20;
/// Beside the files, as those are replaced.
const LOCK: &str = ".lock";
/// How long another process is waited for, and how often it is looked at.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

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

/// Held while a file is read, changed and written: others that want to, also in other processes, wait until it is dropped,
/// though not for one that was stopped in the middle of it.
#[derive(Debug)]
pub struct Alone {
    /// `None` where the disk knows no locks: there, only this process is waited for.
    lock: Option<File>,
    _threads: MutexGuard<'static, ()>,
}

impl Alone {
    /// For `path`, and all else in its folder.
    ///
    /// # Errors
    /// When the folder cannot be made or written, or another process keeps it for too long.
    pub fn with(path: &Path) -> Result<Self> {
        static THREADS: Mutex<()> = Mutex::new(());
        let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        let place = folder_of(path)?.join(LOCK);
        let wrong = || format!("cannot write {}", place.display());
        let file = File::options().write(true).create(true).truncate(false).open(&place).with_context(wrong)?;
        let start = Instant::now();
        let lock = loop {
            match file.try_lock() {
                Ok(()) => break Some(file),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => std::thread::park_timeout(LOOK),
                Err(TryLockError::WouldBlock) => {
                    bail!("another Tokbar is changing {}: end it, or try again", path.display());
                }
                Err(TryLockError::Error(error)) => {
                    tracing::debug!(%error, "this disk knows no locks");
                    break None;
                }
            }
        };
        Ok(Self { lock, _threads: threads })
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        // A child that was started meanwhile may hold the file open, and with it the lock.
        if let Some(Err(error)) = self.lock.as_ref().map(File::unlock) {
            tracing::debug!(%error, "the lock of the settings goes with its file");
        }
    }
}

fn folder_of(path: &Path) -> Result<&Path> {
    let dir = path.parent().context("the file has no folder")?;
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    Ok(dir)
}

/// Replaces the file, whole or not at all; readable by this user only. What is made of the file's own content needs [`Alone`].
///
/// # Errors
/// When the disk refuses.
pub fn write<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let dir = folder_of(path)?;
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
