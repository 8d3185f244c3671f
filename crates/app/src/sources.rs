//! Where models come from: folders, GGUF files, the Hugging Face cache, and the Hub itself.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use directories::ProjectDirs;
use tokbar_hub::checkpoint::{Checkpoint, CheckpointError};
use tokbar_hub::gguf::{self, ImportOptions, ImportReport};
use tokbar_hub::resolve::{self, ResolveError, resolve};
use tokbar_hub::scan::{Condition, Form, Owner};

use crate::{hub, known, progress, shelf};

/// A checkpoint's folder.
pub struct Source {
    /// What to call the model.
    pub name: String,
    /// Where it is.
    pub dir: PathBuf,
}

/// Finds what `model` means. A GGUF file is imported once, into the cache folder of this user; a model of the Hub is
/// downloaded once, into the Hugging Face cache.
///
/// # Errors
/// When there is no such model, or its import or download fails.
pub fn folder(model: &str) -> Result<Source> {
    let cache = hub::cache();
    let repository = listed(model)?;
    match present(repository.as_deref().unwrap_or(model), cache.as_deref())? {
        resolve::Source::Folder(dir) => Ok(Source { name: name_of(model, &dir), dir }),
        resolve::Source::Gguf(file) => {
            let source = imported(&file)?;
            // Ollama's files are named by their hashes.
            Ok(if Path::new(model).exists() { source } else { Source { name: model.to_owned(), ..source } })
        }
    }
}

/// As [`folder`], without a download: `None` when the model is not whole on this machine.
///
/// # Errors
/// When a path leads nowhere, or an import fails.
pub fn here(model: &str) -> Result<Option<Source>> {
    let id = listed(model)?;
    let name = id.as_deref().unwrap_or(model);
    let found = resolve(name, hub::cache().as_deref());
    // Short names that nobody knows are no paths.
    if !lacks_files(name, &found) && (found.is_ok() || name.contains('/')) {
        return folder(model).map(Some);
    }
    Ok(if shelf::elsewhere(name)?.is_some() { Some(folder(model)?) } else { None })
}

/// The folder of a checkpoint that is on this machine; nothing is downloaded or imported but a GGUF file.
///
/// # Errors
/// When it is not here.
pub fn folder_here(model: &str) -> Result<PathBuf> {
    match resolve(model, hub::cache().as_deref())? {
        resolve::Source::Folder(dir) => Ok(dir),
        resolve::Source::Gguf(file) => Ok(imported(&file)?.dir),
    }
}

/// What to load for a name that a call gives: an id of the Hugging Face cache or a path. `None` when no model of that name
/// is whole on this machine. Paths are names only where a model was found.
pub fn known_here(name: &str) -> Option<String> {
    let repository = listed(name).ok().flatten();
    let name = repository.as_deref().unwrap_or(name);
    let shelves = shelf::shelves().ok()?;
    let models = shelves.iter().flat_map(|shelf| &shelf.models);
    let mut ready = models
        .filter(|model| (model.name == name || model.path == Path::new(name)) && model.condition == Condition::Ready);
    let model = ready.next()?;
    let is_cached = model.owner == Owner::HuggingFace && model.form == Form::Safetensors;
    Some(if is_cached { model.name.clone() } else { model.path.to_string_lossy().into_owned() })
}

/// The id on the Hub that a short name of the list stands for. What is on this machine under the very name comes before it.
fn listed(name: &str) -> Result<Option<String>> {
    let id = if Path::new(name).exists() { None } else { known::id_of(name)? };
    Ok(if id.is_some() && shelf::elsewhere(name)?.is_some() { None } else { id })
}

/// Where the files of `model` are, after a download if they were not there.
fn present(model: &str, cache: Option<&Path>) -> Result<resolve::Source> {
    let found = resolve(model, cache);
    let lacks_files = lacks_files(model, &found);
    if (lacks_files || found.is_err() && !is_path(model))
        && let Some(model) = shelf::elsewhere(model)?
    {
        return Ok(resolve(&model.path.to_string_lossy(), None)?);
    }
    let Some(cache) = cache.filter(|_| lacks_files) else {
        let missing = || format!("there is no file or folder {model}");
        return if is_path(model) { found.with_context(missing) } else { Ok(found?) };
    };
    if hub::is_offline() {
        return found.with_context(|| format!("HF_HUB_OFFLINE forbids to download `{model}`"));
    }
    hub::pull_with_bar(model, &hub::options()?)?;
    Ok(resolve(model, Some(cache))?)
}

/// Whether `model` means something on this disk rather than a Hub id: its folder exists, or it is a dangling link.
fn is_path(model: &str) -> bool {
    let path = Path::new(model);
    path.is_symlink() || path.parent().is_some_and(|parent| parent.is_dir() && parent != Path::new(""))
}

/// Whether the Hub may have what is missing: the cache knows nothing of the model, or has a part of it.
fn lacks_files(model: &str, found: &Result<resolve::Source, ResolveError>) -> bool {
    match found {
        Err(ResolveError::NotInCache { .. } | ResolveError::Incomplete { .. }) => !is_path(model),
        // Other programs make the folder first and fill it then.
        Ok(resolve::Source::Folder(dir)) if !Path::new(model).exists() => matches!(
            Checkpoint::open(dir),
            Err(CheckpointError::NoWeights { .. } | CheckpointError::MissingShard { .. })
        ),
        _ => false,
    }
}

/// Imports `file` as `folder`, with a progress bar. `go_on` is asked after every piece; `Break` cancels.
///
/// # Errors
/// When the file cannot be imported or the import was cancelled; nothing is left behind then.
pub fn import(
    file: &Path,
    folder: &Path,
    options: &ImportOptions,
    go_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<ImportReport> {
    let bar = progress::bytes("Importing");
    let report = import_watched(file, folder, options, &mut |n_done, n_bytes| {
        progress::show(&bar, n_done, n_bytes);
        go_on()
    });
    bar.finish_and_clear();
    report
}

/// The same without a bar; `watch` hears of the bytes done and of all bytes.
///
/// # Errors
/// As [`import`].
pub fn import_watched(
    file: &Path,
    folder: &Path,
    options: &ImportOptions,
    watch: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<ImportReport> {
    let report = gguf::import(file, folder, options, &mut |now| watch(now.n_bytes_done, now.n_bytes));
    report.with_context(|| format!("cannot import {}", file.display()))
}

/// The folder of a GGUF file that was imported before and has not changed since, or of one that is imported now.
fn imported(file: &Path) -> Result<Source> {
    let name = file.file_stem().map_or_else(|| "model".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let dir = imports_dir()?.join(format!("{name}-{:016x}", stamp(file)?));
    if !dir.join("config.json").is_file() {
        import(file, &dir, &ImportOptions::default(), &mut || ControlFlow::Continue(()))?;
    }
    Ok(Source { name, dir })
}

fn imports_dir() -> Result<PathBuf> {
    let dirs = ProjectDirs::from("", "", "tokbar")
        .ok_or_else(|| anyhow!("this user has no home folder; import the file with `tokbar import`"))?;
    let imports = dirs.cache_dir().join("imports");
    std::fs::create_dir_all(&imports).with_context(|| format!("cannot make {}", imports.display()))?;
    Ok(imports)
}

/// Tells two states of a file apart by place, size and time of change.
fn stamp(file: &Path) -> Result<u64> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let place = file.canonicalize().with_context(|| format!("cannot find {}", file.display()))?;
    let metadata = place.metadata().with_context(|| format!("cannot read {}", place.display()))?;
    let mut hasher = DefaultHasher::new();
    (place, metadata.len(), metadata.modified().ok()).hash(&mut hasher);
    Ok(hasher.finish())
}

/// A repository's name as it was given, or the last part of a path.
fn name_of(model: &str, path: &Path) -> String {
    if !Path::new(model).exists() {
        return model.to_owned();
    }
    let absolute = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    absolute.file_name().map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}
