//! Models in plain folders: LM Studio's `publisher/model`, and whatever a person added.

use std::fs;
use std::path::Path;

use super::{Form, Model, N_MODELS_MAX, Owner, children, look_at_folder, look_at_gguf, n_file_bytes};

/// Folders inside folders that are looked into: a drive, a publisher, a model.
const DEPTH_MAX: usize = 3;

/// What lies in `root` or in folders inside it. Names are paths from `root`, or its own name.
pub fn models(root: &Path, owner: Owner) -> Vec<Model> {
    let mut models = Vec::new();
    let own = root.file_name().map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned());
    look(root, &own, owner, &mut models);
    walk(root, "", owner, DEPTH_MAX, &mut models);
    models
}

fn walk(dir: &Path, name: &str, owner: Owner, depth: usize, models: &mut Vec<Model>) {
    if depth == 0 {
        return;
    }
    for child in children(dir) {
        let path = dir.join(&child);
        // A link may lead round in circles; a linked checkpoint is still looked at, not what is below it.
        if models.len() >= N_MODELS_MAX || !path.is_dir() {
            continue;
        }
        let name = if name.is_empty() { child } else { format!("{name}/{child}") };
        let n_before = models.len();
        look(&path, &name, owner, models);
        if models.len() == n_before && !path.is_symlink() {
            walk(&path, &name, owner, depth - 1, models);
        }
    }
}

/// The checkpoint or the GGUF files of one folder.
fn look(dir: &Path, name: &str, owner: Owner, models: &mut Vec<Model>) {
    let names = children(dir);
    if names.iter().any(|name| name == "config.json" || name.ends_with(".safetensors")) {
        let (condition, about) = look_at_folder(dir);
        let n_bytes = n_file_bytes(dir);
        models.push(Model {
            name: name.to_owned(),
            owner,
            path: dir.to_owned(),
            form: Form::Safetensors,
            n_bytes,
            condition,
            about,
        });
        return;
    }
    // `mmproj` files hold the eyes of a model, none of its words.
    let is_model = |name: &String| name.ends_with(".gguf") && !name.starts_with("mmproj");
    for file in names.iter().filter(|name| is_model(name)) {
        let path = dir.join(file);
        let (condition, about) = look_at_gguf(&path);
        let n_bytes = fs::metadata(&path).map_or(0, |meta| meta.len());
        let name = format!("{name}/{file}");
        models.push(Model { name, owner, path, form: Form::Gguf, n_bytes, condition, about });
    }
}
