//! Models in the Hugging Face cache: `models--OWNER--NAME` with blobs, snapshots that link to them, and refs.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Condition, Form, Model, Owner, children, look_at_folder, look_at_gguf, n_file_bytes};
use crate::resolve::snapshot;

const PREFIX: &str = "models--";

/// Everything that was downloaded, or begun to be.
pub fn models(cache: &Path) -> Vec<Model> {
    let repositories = children(cache).into_iter().filter(|name| name.starts_with(PREFIX));
    repositories.flat_map(|name| repository(&cache.join(&name), &name)).collect()
}

/// The id of a repository by the name of its folder.
fn id(folder: &str) -> String {
    folder.trim_start_matches(PREFIX).replacen("--", "/", 1)
}

/// A repository is one model, or as many as it has GGUF files.
fn repository(dir: &Path, folder: &str) -> Vec<Model> {
    let n_bytes = n_repository_bytes(dir);
    let of = |path: PathBuf, form: Form, condition: Condition| Model {
        name: id(folder),
        owner: Owner::HuggingFace,
        path,
        form,
        n_bytes,
        condition,
        about: None,
    };
    let Some(snapshot) = snapshot(dir) else {
        if n_bytes == 0 {
            return Vec::new();
        }
        let reason = "its download was not finished".to_owned();
        return vec![of(dir.to_owned(), Form::Safetensors, Condition::Partial { reason })];
    };
    if let Some(missing) = dangling(&snapshot) {
        let reason = format!("`{missing}` links to a file that is not there. Download it again.");
        return vec![of(snapshot, Form::Safetensors, Condition::Partial { reason })];
    }
    let gguf: Vec<String> = children(&snapshot).into_iter().filter(|name| name.ends_with(".gguf")).collect();
    if snapshot.join("config.json").is_file() || gguf.is_empty() {
        let (condition, about) = look_at_folder(&snapshot);
        return vec![Model { about, ..of(snapshot, Form::Safetensors, condition) }];
    }
    let file = |name: String| {
        let path = snapshot.join(&name);
        let (condition, about) = look_at_gguf(&path);
        let n_bytes = fs::metadata(&path).map_or(0, |meta| meta.len());
        Model { name: format!("{}/{name}", id(folder)), n_bytes, about, ..of(path, Form::Gguf, condition) }
    };
    gguf.into_iter().map(file).collect()
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
