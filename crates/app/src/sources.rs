//! Where models come from: folders, GGUF files, the Hugging Face cache.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use directories::{BaseDirs, ProjectDirs};
use tokbar_hub::gguf::{self, Existing, ImportOptions, ImportReport};
use tokbar_hub::resolve::{cache_dir, resolve};

use crate::progress;

/// A checkpoint's folder.
pub struct Source {
    /// What to call the model.
    pub name: String,
    /// Where it is.
    pub dir: PathBuf,
}

/// Finds what `model` means. A GGUF file is imported once, into the cache folder of this user.
///
/// # Errors
/// When there is no such model, or its import fails.
pub fn folder(model: &str) -> Result<Source> {
    let home = BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
    let cache = cache_dir(env::var_os("HF_HUB_CACHE"), env::var_os("HF_HOME"), home);
    match resolve(model, cache.as_deref())? {
        tokbar_hub::resolve::Source::Folder(dir) => Ok(Source { name: name_of(model, &dir), dir }),
        tokbar_hub::resolve::Source::Gguf(file) => imported(&file),
    }
}

/// Imports `file` as `folder`, with a progress bar.
///
/// # Errors
/// When the file cannot be imported; nothing is left behind then.
pub fn import(file: &Path, folder: &Path, quantize: Option<u8>, existing: Existing) -> Result<ImportReport> {
    let options = ImportOptions { quantize: quantize.map(u32::from), existing, ..ImportOptions::default() };
    let bar = progress::bytes("Importing");
    let report = gguf::import(file, folder, &options, &mut |now| progress::show(&bar, now.n_bytes_done, now.n_bytes));
    bar.finish_and_clear();
    report.with_context(|| format!("cannot import {}", file.display()))
}

/// The folder of a GGUF file that was imported before and has not changed since, or of one that is imported now.
fn imported(file: &Path) -> Result<Source> {
    let name = file.file_stem().map_or_else(|| "model".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let dir = imports_dir()?.join(format!("{name}-{:016x}", stamp(file)?));
    if !dir.join("config.json").is_file() {
        import(file, &dir, None, Existing::ReplaceOurs)?;
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
