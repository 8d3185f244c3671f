//! Models in the Hugging Face cache: `models--OWNER--NAME` with blobs, snapshots that link to them, and refs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{About, Condition, Form, Model, Owner, children, look_at_folder, look_at_gguf, n_file_bytes};
use crate::id::DEPTH_MAX;
use crate::resolve::snapshot;

const PREFIX: &str = "models--";
/// A pipeline of several networks that draw; its folders are no models of their own.
const PIPELINE: &str = "model_index.json";
/// Snapshots of one repository that are looked at.
const N_SNAPSHOTS_MAX: usize = 100;

/// Everything that was downloaded, or begun to be.
pub fn models(cache: &Path) -> Vec<Model> {
    let repositories = children(cache).into_iter().filter(|name| name.starts_with(PREFIX));
    repositories.flat_map(|name| repository(&cache.join(&name), &name)).collect()
}

/// The id of a repository by the name of its folder.
fn id(folder: &str) -> String {
    folder.trim_start_matches(PREFIX).replacen("--", "/", 1)
}

/// A repository is one model, or as many as it has GGUF files and folders with weights.
pub(super) fn repository(dir: &Path, folder: &str) -> Vec<Model> {
    let (id, n_bytes) = (id(folder), n_repository_bytes(dir));
    let Some(snapshot) = snapshot(dir) else {
        let parts = parts(&id, &snapshots(dir));
        if n_bytes == 0 || !parts.is_empty() {
            return parts;
        }
        let reason = "its download was not finished".to_owned();
        return vec![model(id, dir.to_owned(), (n_bytes, Condition::Partial { reason }))];
    };
    // What was downloaded of earlier commits is still there for whoever names it.
    let mut dirs = snapshots(dir);
    dirs.sort_by_key(|dir| *dir != snapshot);
    let mut parts = parts(&id, &dirs);
    let is_whole = snapshot.join("config.json").symlink_metadata().is_ok();
    if is_whole || parts.is_empty() {
        let (condition, about) = look_at_part(&snapshot);
        // What lies beside a model and is none is its own affair.
        parts.retain(|part| !matches!(part.condition, Condition::Broken { .. }));
        let n_bytes = parts.iter().fold(n_bytes, |n, part| n.saturating_sub(part.n_bytes));
        parts.insert(0, Model { about, ..model(id, snapshot, (n_bytes, condition)) });
    }
    parts
}

fn model(name: String, path: PathBuf, (n_bytes, condition): (u64, Condition)) -> Model {
    let form =
        if path.extension().is_some_and(|extension| extension == "gguf") { Form::Gguf } else { Form::Safetensors };
    Model { name, owner: Owner::HuggingFace, path, form, n_bytes, condition, about: None }
}

pub(super) fn snapshots(repository: &Path) -> Vec<PathBuf> {
    let dir = repository.join("snapshots");
    children(&dir).into_iter().take(N_SNAPSHOTS_MAX).map(|name| dir.join(name)).collect()
}

/// The models inside repositories: GGUF files, and folders with weights. The first snapshot that has one counts.
fn parts(id: &str, snapshots: &[PathBuf]) -> Vec<Model> {
    let (mut seen, mut models) = (BTreeSet::new(), Vec::new());
    for snapshot in snapshots.iter().filter(|dir| !dir.join(PIPELINE).exists()) {
        for inside in insides(snapshot, "", DEPTH_MAX) {
            if !seen.insert(inside.clone()) {
                continue;
            }
            let path = snapshot.join(&inside);
            let n_bytes =
                if path.is_dir() { n_linked_bytes(&path) } else { fs::metadata(&path).map_or(0, |meta| meta.len()) };
            let (condition, about) = look_at_part(&path);
            models.push(Model { about, ..model(format!("{id}/{inside}"), path, (n_bytes, condition)) });
        }
    }
    models
}

fn lacking(missing: &str) -> Condition {
    Condition::Partial { reason: format!("`{missing}` links to a file that is not there. Download it again.") }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn look_at_part(path: &Path) -> (Condition, Option<About>) {
    let is_dir = path.is_dir();
    let missing = if is_dir { dangling(path) } else { (!path.exists()).then(|| file_name(path)) };
    match missing {
        Some(missing) => (lacking(&missing), None),
        None if is_dir => look_at_folder(path),
        None => look_at_gguf(path),
    }
}

/// Paths of GGUF files and of folders with config.json and weights, below the top.
fn insides(dir: &Path, inside: &str, depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    for name in children(dir) {
        let path = dir.join(&name);
        let inside = if inside.is_empty() { name } else { format!("{inside}/{name}") };
        if path.is_dir() && !path.is_symlink() && depth > 0 {
            let names = children(&path);
            let is_model = names.iter().any(|name| name == "config.json")
                && names.iter().any(|name| name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json"));
            found.extend(is_model.then(|| inside.clone()));
            found.extend(insides(&path, &inside, depth - 1));
        } else if is_model_file(&path) {
            found.push(inside);
        }
    }
    found
}

/// `mmproj` files hold the eyes of a model, none of its words.
fn is_model_file(path: &Path) -> bool {
    let name = file_name(path);
    name.ends_with(".gguf") && !name.starts_with("mmproj")
}

/// Bytes of the files in a folder, those included that are linked.
fn n_linked_bytes(dir: &Path) -> u64 {
    let sizes = children(dir).into_iter().filter_map(|name| fs::metadata(dir.join(name)).ok());
    sizes.filter(fs::Metadata::is_file).map(|meta| meta.len()).fold(0, u64::saturating_add)
}

/// Bytes of all blobs, those of unfinished downloads included, and of files where the disk knows no links.
fn n_repository_bytes(dir: &Path) -> u64 {
    let snapshots = dir.join("snapshots");
    let plain = children(&snapshots).iter().map(|name| n_file_bytes(&snapshots.join(name))).sum::<u64>();
    n_file_bytes(&dir.join("blobs")).saturating_add(plain)
}

/// The first file of a snapshot whose bytes are gone.
fn dangling(snapshot: &Path) -> Option<String> {
    children(snapshot).into_iter().find(|name| {
        let path = snapshot.join(name);
        path.is_symlink() && !path.exists()
    })
}
