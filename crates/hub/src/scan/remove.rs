//! Removing a model: only what belongs to it, never what another program counts on without a word.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::{Model, Owner, cache, children};
use crate::id::DEPTH_MAX;

/// What was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The folder or file.
    pub path: PathBuf,
    /// Bytes that the disk got back.
    pub n_bytes: u64,
}

/// Why a model was not removed.
#[allow(missing_docs)]
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    #[error("`{name}` belongs to Ollama, whose models share files. Remove it with `ollama rm {name}`.")]
    Ollamas { name: String },
    #[error("`{name}` is being downloaded. Stop the download, or wait for its end, and remove it then.")]
    Busy { name: String },
    #[error("cannot remove {path}: {source}. Check the permissions.")]
    Io { path: PathBuf, source: io::Error },
}

/// Removes `model`: its repository in the Hugging Face cache, or its part of one that holds others too; its GGUF file; or the
/// files of its folder that a checkpoint has. Other files in a folder stay, and so does the folder then.
///
/// # Errors
/// When it is Ollama's, is being downloaded, or the system refuses; some files may be gone then.
pub fn remove(model: &Model) -> Result<Removed, RemoveError> {
    match model.owner {
        Owner::Ollama => Err(RemoveError::Ollamas { name: model.name.clone() }),
        Owner::HuggingFace => remove_repository(model),
        Owner::LmStudio | Owner::Person if model.path.is_dir() => {
            let n_bytes = remove_checkpoint(&model.path).map_err(io_error(&model.path))?;
            Ok(Removed { path: model.path.clone(), n_bytes })
        }
        Owner::LmStudio | Owner::Person => {
            fs::remove_file(&model.path).map_err(io_error(&model.path))?;
            Ok(Removed { path: model.path.clone(), n_bytes: model.n_bytes })
        }
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> RemoveError {
    let path = path.to_owned();
    move |source| RemoveError::Io { path, source }
}

/// Removes refs first, so that nobody takes the rest for a model, and the bytes last.
fn remove_repository(model: &Model) -> Result<Removed, RemoveError> {
    let name = || model.name.clone();
    let is_repository =
        |dir: &&Path| dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with("models--"));
    let found = model.path.ancestors().find(is_repository);
    let repository = found.ok_or_else(|| io_error(&model.path)(io::Error::from(ErrorKind::NotFound)))?;
    let locks = locks(repository, &name)?;
    let folder = repository.file_name().unwrap_or_default().to_string_lossy();
    if cache::repository(repository, &folder).iter().any(|other| other.path != model.path) {
        let n_bytes = remove_part(repository, &model.path).map_err(io_error(&model.path))?;
        return Ok(Removed { path: model.path.clone(), n_bytes });
    }
    let n_bytes = model.n_bytes;
    for part in ["refs", "snapshots", "blobs"] {
        let dir = repository.join(part);
        absent(fs::remove_dir_all(&dir)).map_err(io_error(&dir))?;
    }
    fs::remove_dir_all(repository).map_err(io_error(repository))?;
    drop(locks);
    Ok(Removed { path: repository.to_owned(), n_bytes })
}

/// Removes one model of several in a repository: its links in all snapshots, config.json first, then the blobs that no link is
/// left to. Returns the bytes of these.
fn remove_part(repository: &Path, path: &Path) -> io::Result<u64> {
    let snapshots = cache::snapshots(repository);
    let Some(inside) = snapshots.iter().find_map(|snapshot| path.strip_prefix(snapshot).ok()) else { return Ok(0) };
    let mut blobs = Vec::new();
    for snapshot in &snapshots {
        let place = snapshot.join(inside);
        let mut links: Vec<PathBuf> = match place.is_dir() {
            true => children(&place).into_iter().map(|name| place.join(name)).filter(|path| !path.is_dir()).collect(),
            false => vec![place.clone()],
        };
        links.sort_by_key(|link| !link.ends_with("config.json"));
        for link in links {
            blobs.extend(link.canonicalize().ok());
            absent(fs::remove_file(&link))?;
        }
        for dir in place.ancestors().take_while(|dir| dir.starts_with(snapshot)).filter(|dir| dir.is_dir()) {
            match fs::remove_dir(dir) {
                Err(error) if error.kind() != ErrorKind::DirectoryNotEmpty => return Err(error),
                _ => {}
            }
        }
    }
    let still_used: BTreeSet<PathBuf> = snapshots.iter().flat_map(|snapshot| linked(snapshot, DEPTH_MAX)).collect();
    blobs.sort();
    blobs.dedup();
    let mut n_bytes = 0;
    for blob in blobs.into_iter().filter(|blob| !still_used.contains(blob) && blob.exists()) {
        n_bytes += blob.metadata()?.len();
        fs::remove_file(&blob)?;
    }
    Ok(n_bytes)
}

/// What the links of a folder and of those in it lead to.
fn linked(dir: &Path, depth: usize) -> Vec<PathBuf> {
    let paths = || children(dir).into_iter().map(|name| dir.join(name));
    let is_folder = |path: &PathBuf| path.is_dir() && !path.is_symlink();
    let mut found: Vec<PathBuf> = paths().filter_map(|path| path.canonicalize().ok()).collect();
    if depth > 0 {
        found.extend(paths().filter(is_folder).flat_map(|path| linked(&path, depth - 1)));
    }
    found
}

/// All locks of the repository's blobs; a download that runs holds one.
fn locks(repository: &Path, name: &dyn Fn() -> String) -> Result<Vec<File>, RemoveError> {
    let (Some(cache), Some(folder)) = (repository.parent(), repository.file_name()) else { return Ok(Vec::new()) };
    let dir = cache.join(".locks").join(folder);
    let mut held = Vec::new();
    for lock in children(&dir) {
        let path = dir.join(lock);
        let file = File::options().write(true).open(&path).map_err(io_error(&path))?;
        match file.try_lock() {
            Ok(()) => held.push(file),
            Err(TryLockError::WouldBlock) => return Err(RemoveError::Busy { name: name() }),
            Err(TryLockError::Error(error)) => return Err(io_error(&path)(error)),
        }
    }
    Ok(held)
}

/// Removes the files that a checkpoint consists of, config.json first, and the folder if nothing else is in it.
fn remove_checkpoint(dir: &Path) -> io::Result<u64> {
    let mut names: Vec<String> = children(dir).into_iter().filter(|name| is_of_checkpoint(name)).collect();
    names.sort_by_key(|name| name != "config.json");
    let mut n_bytes = 0;
    for name in names {
        let path = dir.join(name);
        let meta = path.symlink_metadata()?;
        if !meta.is_dir() {
            fs::remove_file(&path)?;
            n_bytes += meta.len();
        }
    }
    match fs::remove_dir(dir) {
        Err(error) if error.kind() != ErrorKind::DirectoryNotEmpty => Err(error),
        _ => Ok(n_bytes),
    }
}

fn is_of_checkpoint(name: &str) -> bool {
    let endings = [".json", ".safetensors", ".jinja", ".model", ".tiktoken"];
    let names = ["README.md", "LICENSE", "merges.txt", "vocab.txt"];
    endings.iter().any(|ending| name.ends_with(ending)) || names.contains(&name)
}

fn absent(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
