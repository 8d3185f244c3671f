//! From what a person calls a model to where its files are: a folder, a GGUF file, or an id in the Hugging Face cache.
//!
//! Looks only at the disk; the environment comes in as arguments.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::id::HubId;

/// Where a model's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A folder with config.json.
    Folder(PathBuf),
    /// A GGUF file, to be imported.
    Gguf(PathBuf),
}

/// Why a model was not found.
#[allow(missing_docs)]
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error(
        "there is no file or folder {path}. Check the path, or give a model id such as `mlx-community/Qwen3-0.6B-4bit`."
    )]
    NoSuchPath { path: PathBuf },
    #[error("{path} is neither a model folder nor a GGUF file. Give a folder with config.json, or a .gguf file.")]
    NotAModel { path: PathBuf },
    #[error("{path} holds several GGUF files ({names}). Name one of them.")]
    SeveralGguf { path: PathBuf, names: String },
    #[error("`{id}` is not in the Hugging Face cache ({cache}). Download it there first, or give a folder.")]
    NotInCache { id: String, cache: PathBuf },
    #[error("`{id}` is in the Hugging Face cache ({cache}) but not completely. Download it again.")]
    Incomplete { id: String, cache: PathBuf },
}

/// Folder of the Hugging Face cache, from the values of `HF_HUB_CACHE`, `HF_HOME` and the home directory, in that order.
pub fn cache_dir(hf_hub_cache: Option<OsString>, hf_home: Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    let given = |value: Option<OsString>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
    given(hf_hub_cache)
        .or_else(|| given(hf_home).map(|dir| dir.join("hub")))
        .or_else(|| home.map(|home| home.join(".cache/huggingface/hub")))
}

/// Finds `model`: an existing path first, then a Hub id in `cache`.
pub fn resolve(model: &str, cache: Option<&Path>) -> Result<Source, ResolveError> {
    let path = Path::new(model);
    if path.exists() {
        return at_path(path);
    }
    match cache {
        Some(cache) => match HubId::parse(model) {
            Some(id) => in_cache(model, id, cache),
            None => Err(ResolveError::NoSuchPath { path: path.to_owned() }),
        },
        None => Err(ResolveError::NoSuchPath { path: path.to_owned() }),
    }
}

fn at_path(path: &Path) -> Result<Source, ResolveError> {
    let not_a_model = || ResolveError::NotAModel { path: path.to_owned() };
    if path.is_file() {
        return if is_gguf(path) { Ok(Source::Gguf(path.to_owned())) } else { Err(not_a_model()) };
    }
    if path.join("config.json").is_file() {
        return Ok(Source::Folder(path.to_owned()));
    }
    let entries = fs::read_dir(path).map_err(|_| not_a_model())?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = paths.filter(|file| is_gguf(file)).collect();
    files.sort();
    match files.as_slice() {
        [] => Err(not_a_model()),
        [file] => Ok(Source::Gguf(file.clone())),
        files => {
            let names: Vec<_> = files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
            Err(ResolveError::SeveralGguf { path: path.to_owned(), names: names.join(", ") })
        }
    }
}

/// Whether a file begins like a GGUF file, whatever it is called.
fn is_gguf(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = |mut file: fs::File| file.read_exact(&mut magic).is_ok();
    path.is_file() && fs::File::open(path).is_ok_and(read) && magic == *b"GGUF"
}

fn in_cache(name: &str, id: HubId<'_>, cache: &Path) -> Result<Source, ResolveError> {
    let repository = cache.join(id.cache_folder());
    let absent = || ResolveError::NotInCache { id: name.to_owned(), cache: cache.to_owned() };
    let incomplete = || ResolveError::Incomplete { id: name.to_owned(), cache: cache.to_owned() };
    if !repository.is_dir() {
        return Err(absent());
    }
    let place = match id.inside {
        None => snapshot(&repository).ok_or_else(incomplete)?,
        Some(inside) => inside_of(&repository, inside).ok_or_else(absent)?,
    };
    at_path(&place).map_err(|error| match error {
        ResolveError::SeveralGguf { .. } => error,
        _ => incomplete(),
    })
}

/// A folder or file of a repository: in the snapshot that `main` points to, else, as another part may have been downloaded
/// later from a newer commit, in whichever has it.
fn inside_of(repository: &Path, inside: &str) -> Option<PathBuf> {
    let place = |snapshot: PathBuf| Some(snapshot.join(inside)).filter(|path| path.exists());
    let newest = || {
        let snapshots = fs::read_dir(repository.join("snapshots")).ok()?;
        let places = snapshots.filter_map(|entry| place(entry.ok()?.path()));
        places.max_by_key(|path| path.symlink_metadata().and_then(|meta| meta.modified()).ok())
    };
    snapshot(repository).and_then(place).or_else(newest)
}

/// The snapshot that `main` points to, or the only one there is.
pub(crate) fn snapshot(repository: &Path) -> Option<PathBuf> {
    let snapshots = repository.join("snapshots");
    let main = repository.join("refs/main");
    if main.exists() {
        let mut commit = String::new();
        fs::File::open(main).ok()?.take(256).read_to_string(&mut commit).ok()?;
        let commit = commit.trim();
        let is_plain = !commit.is_empty() && commit.chars().all(|c| c.is_ascii_alphanumeric());
        return is_plain.then(|| snapshots.join(commit)).filter(|dir| dir.is_dir());
    }
    let paths = fs::read_dir(snapshots).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut dirs = paths.filter(|path| path.is_dir());
    let only = dirs.next()?;
    dirs.next().is_none().then_some(only)
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
