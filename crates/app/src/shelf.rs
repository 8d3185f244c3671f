//! The models on this machine, and the folders that this user added to the usual places.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use directories::BaseDirs;
use tokbar_hub::scan::{Environment, Model, Owner, Place, Shelf, scan, usual_places};

use crate::{config_dir, environment, json_file};

/// Everything in all places.
///
/// # Errors
/// When the list of added folders is damaged.
pub fn shelves() -> Result<Vec<Shelf>> {
    Ok(scan(&places()?))
}

/// The usual places and the added folders.
///
/// # Errors
/// As [`shelves`].
pub fn places() -> Result<Vec<Place>> {
    let environment = Environment {
        home: BaseDirs::new().map(|dirs| dirs.home_dir().to_owned()),
        hf_hub_cache: environment::var_os("HF_HUB_CACHE"),
        hf_home: environment::var_os("HF_HOME"),
        ollama_models: environment::var_os("OLLAMA_MODELS"),
        added: added(&list()?)?,
    };
    Ok(usual_places(&environment))
}

/// Models of that name or path, in all places but, where another owner's is the same, the first.
pub fn find(shelves: &[Shelf], name: &str) -> Vec<Model> {
    let is_it = |model: &&Model| model.name == name || model.path == Path::new(name);
    shelves.iter().flat_map(|shelf| &shelf.models).filter(is_it).cloned().collect()
}

/// The first loadable model of that name outside the Hugging Face cache, where a download would put it.
///
/// # Errors
/// As [`shelves`].
pub fn elsewhere(name: &str) -> Result<Option<Model>> {
    let places: Vec<Place> = places()?.into_iter().filter(|place| place.owner != Owner::HuggingFace).collect();
    let is_ready = |model: &Model| model.condition == tokbar_hub::scan::Condition::Ready;
    Ok(find(&scan(&places), name).into_iter().find(is_ready))
}

/// Looks into `dir` from now on.
///
/// # Errors
/// When it is no folder, or the list cannot be written.
pub fn add(dir: &Path) -> Result<()> {
    let dir = dir.canonicalize().with_context(|| format!("cannot find {}", dir.display()))?;
    if !dir.is_dir() {
        bail!("{} is no folder; give the folder that models lie in", dir.display());
    }
    let path = list()?;
    let _alone = json_file::Alone::with(&path)?;
    let mut dirs = added(&path)?;
    if !dirs.contains(&dir) {
        dirs.push(dir);
        json_file::write(&path, &dirs)?;
    }
    Ok(())
}

/// Looks no more into `dir`, which may be gone.
///
/// # Errors
/// When it was not added, or the list cannot be written.
pub fn forget(dir: &Path) -> Result<()> {
    let path = list()?;
    let _alone = json_file::Alone::with(&path)?;
    let mut dirs = added(&path)?;
    let whole = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let n_before = dirs.len();
    dirs.retain(|known| *known != whole && known != dir);
    if dirs.len() == n_before {
        bail!("{} was not added; `tokbar ls` shows the folders that were", dir.display());
    }
    json_file::write(&path, &dirs)
}

fn list() -> Result<PathBuf> {
    Ok(config_dir::place()?.join("folders.json"))
}

fn added(path: &Path) -> Result<Vec<PathBuf>> {
    Ok(json_file::read(path)?.unwrap_or_default())
}
