//! The version before: kept when an update is installed, offered when the new one does not start, gone when it has proved itself.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Starts of a new version that may fail before the version before is offered.
const MAX_FAILED_STARTS: u32 = 2;
/// Larger than any file of ours.
const MAX_FILE_BYTES: u64 = 4096;
/// More files than any version of the app has.
const MAX_FILES: usize = 2000;

/// A new version that has not proved itself yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// The version that was replaced.
    pub from: String,
    /// The version that took its place.
    pub to: String,
    /// Starts so far of which none has been told to have gone well.
    pub n_starts: u32,
}

/// What a start of the app is to do about updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// Nothing was updated.
    Ordinary,
    /// The new version runs; once it has gone well for a while, forget the trial.
    OnTrial(Trial),
    /// The new version has failed to start: offer the one before.
    OfferPrevious(Trial),
    /// The version before runs again: forget the trial, and say that the update did not last.
    Back(Trial),
}

/// What a start of `version` is to do, given the trial on the disk. [`Start::OnTrial`] and [`Start::OfferPrevious`] have the
/// trial to write down before anything else is tried.
#[must_use]
pub fn started(trial: Option<Trial>, version: &str) -> Start {
    match trial {
        Some(trial) if trial.to == version => {
            let trial = Trial { n_starts: trial.n_starts.saturating_add(1), ..trial };
            if trial.n_starts > MAX_FAILED_STARTS { Start::OfferPrevious(trial) } else { Start::OnTrial(trial) }
        }
        Some(trial) if trial.from == version => Start::Back(trial),
        // Somebody installed yet another version by hand.
        Some(_) | None => Start::Ordinary,
    }
}

/// Why the version before cannot be kept or put back.
#[derive(Debug, thiserror::Error)]
pub enum RollbackError {
    /// A file or folder.
    #[error("{}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Not an app of ours.
    #[error("{} has more files than Tokbar has", .0.display())]
    TooMany(PathBuf),
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> RollbackError {
    let path = path.to_owned();
    move |source| RollbackError::File { path, source }
}

/// The trial that a file tells of; a file that is not there or makes no sense tells of none.
#[must_use]
pub fn read_trial(file: &Path) -> Option<Trial> {
    let is_small = fs::metadata(file).is_ok_and(|metadata| metadata.len() <= MAX_FILE_BYTES);
    is_small.then(|| fs::read(file).ok()).flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok())
}

/// Writes the trial down in one step; none removes the file.
///
/// # Errors
/// When the disk does not take it.
pub fn write_trial(file: &Path, trial: Option<&Trial>) -> Result<(), RollbackError> {
    let Some(trial) = trial else {
        return match fs::remove_file(file) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(at(file)(error)),
            _ => Ok(()),
        };
    };
    let partial = file.with_extension("partial");
    let text = serde_json::to_vec(trial).map_err(io::Error::from).map_err(at(file))?;
    fs::write(&partial, text).map_err(at(&partial))?;
    fs::rename(&partial, file).map_err(at(file))
}

/// An app that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Where it is.
    pub app: PathBuf,
}

impl Kept {
    /// Where `folder` has what was kept of `app`, if anything was.
    #[must_use]
    pub fn of(app: &Path, folder: &Path) -> Self {
        Self { app: folder.join(app.file_name().unwrap_or(app.as_os_str())) }
    }

    /// Forgets it.
    ///
    /// # Errors
    /// When the disk does not let it go.
    pub fn forget(&self) -> Result<(), RollbackError> {
        remove(&self.app)
    }
}

/// Copies the app into `folder`, in place of what was kept there before. On a Mac's disk the copy takes no space.
///
/// # Errors
/// When it cannot be copied whole; then nothing is kept.
pub fn keep_previous(app: &Path, folder: &Path) -> Result<Kept, RollbackError> {
    fs::create_dir_all(folder).map_err(at(folder))?;
    let kept = Kept::of(app, folder);
    let partial = beside(&kept.app, "partial");
    remove(&partial)?;
    copy(app, &partial, &mut 0)?;
    remove(&kept.app)?;
    fs::rename(&partial, &kept.app).map_err(at(&kept.app))?;
    Ok(kept)
}

/// Puts the kept app in the place of the other, which goes aside until the kept one is there.
///
/// # Errors
/// When the kept app is not there or cannot be moved; then the other is where it was.
pub fn put_back(kept: &Kept, app: &Path) -> Result<(), RollbackError> {
    fs::symlink_metadata(&kept.app).map_err(at(&kept.app))?;
    let (fresh, aside) = (beside(app, "back"), beside(app, "failed"));
    remove(&fresh)?;
    remove(&aside)?;
    copy(&kept.app, &fresh, &mut 0)?;
    fs::rename(app, &aside).map_err(at(app))?;
    if let Err(error) = fs::rename(&fresh, app) {
        fs::rename(&aside, app).map_err(at(app))?;
        return Err(at(app)(error));
    }
    remove(&aside)
}

/// The path with another ending, such as `Tokbar.app.back`.
fn beside(app: &Path, ending: &str) -> PathBuf {
    let mut name = app.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    name.into()
}

fn remove(app: &Path) -> Result<(), RollbackError> {
    let removed = if app.is_dir() { fs::remove_dir_all(app) } else { fs::remove_file(app) };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(at(app)(error)),
        _ => Ok(()),
    }
}

/// Copies an app, which is a folder on a Mac and one file as an AppImage.
fn copy(from: &Path, to: &Path, n_files: &mut usize) -> Result<(), RollbackError> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop).map_err(at(from));
    }
    fs::create_dir(to).map_err(at(to))?;
    for entry in fs::read_dir(from).map_err(at(from))? {
        let entry = entry.map_err(at(from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        *n_files += 1;
        if *n_files > MAX_FILES {
            return Err(RollbackError::TooMany(from.to_owned()));
        }
        copy(&source, &target, n_files)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "rollback_tests.rs"]
mod tests;
