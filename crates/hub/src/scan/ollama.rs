//! Models in Ollama's store: manifests name blobs by hash, and the blob of the weights is a GGUF file. Nothing here is ever
//! changed: blobs are shared between models, and only Ollama counts who uses them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Condition, Form, Model, Owner, children, look_at_gguf};

/// Largest manifest that is read, in bytes.
const N_MANIFEST_BYTES_MAX: u64 = 1 << 20;
/// Kind of the layer that holds the weights.
const WEIGHTS: &str = "application/vnd.ollama.image.model";
/// What Ollama leaves out of names.
const USUAL_REGISTRY: &str = "registry.ollama.ai";
const USUAL_NAMESPACE: &str = "library";

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
struct Layer {
    #[serde(rename = "mediaType")]
    media_type: String,
    digest: String,
    size: u64,
}

/// What the manifests name: `manifests/REGISTRY/NAMESPACE/MODEL/TAG`.
pub fn models(store: &Path) -> Vec<Model> {
    let root = store.join("manifests");
    let mut models = Vec::new();
    for registry in children(&root) {
        for namespace in children(&root.join(&registry)) {
            let dir = root.join(&registry).join(&namespace);
            for name in children(&dir) {
                for tag in children(&dir.join(&name)) {
                    let shown = shown(&registry, &namespace, &format!("{name}:{tag}"));
                    models.extend(model(store, &dir.join(&name).join(&tag), shown));
                }
            }
        }
    }
    models
}

fn shown(registry: &str, namespace: &str, name: &str) -> String {
    match (registry, namespace) {
        (USUAL_REGISTRY, USUAL_NAMESPACE) => name.to_owned(),
        (USUAL_REGISTRY, _) => format!("{namespace}/{name}"),
        _ => format!("{registry}/{namespace}/{name}"),
    }
}

/// The model of one manifest; `None` when it names no weights of this kind (a cloud model, an MLX one).
fn model(store: &Path, manifest: &Path, name: String) -> Option<Model> {
    let of = |path: PathBuf, n_bytes: u64, condition: Condition| {
        let (owner, form) = (Owner::Ollama, Form::Gguf);
        Model { name: name.clone(), owner, path, form, n_bytes, condition, about: None }
    };
    let parsed = match read(manifest) {
        Ok(parsed) => parsed,
        Err(reason) => return Some(of(manifest.to_owned(), 0, Condition::Broken { reason })),
    };
    let layer = parsed.layers.into_iter().find(|layer| layer.media_type == WEIGHTS)?;
    let Some(hex) = layer.digest.strip_prefix("sha256:").filter(|hex| is_hash(hex)) else {
        let reason = "its manifest names no blob by SHA-256. Pull it again with Ollama.".to_owned();
        return Some(of(manifest.to_owned(), 0, Condition::Broken { reason }));
    };
    let blob = store.join("blobs").join(format!("sha256-{hex}"));
    match blob.metadata().map(|meta| meta.len()) {
        Err(_) => {
            let reason = "its weights are not there. Pull it again with Ollama.".to_owned();
            Some(of(blob, 0, Condition::Partial { reason }))
        }
        Ok(n_bytes) if n_bytes != layer.size => {
            let reason = format!("its weights have {n_bytes} of {} bytes. Pull it again with Ollama.", layer.size);
            Some(of(blob, n_bytes, Condition::Partial { reason }))
        }
        Ok(n_bytes) => {
            let (condition, about) = look_at_gguf(&blob);
            Some(Model { about, ..of(blob, n_bytes, condition) })
        }
    }
}

fn read(path: &Path) -> Result<Manifest, String> {
    let unread = |problem: String| format!("its manifest cannot be read: {problem}. Pull it again with Ollama.");
    if !path.is_file() {
        return Err(unread("it is no plain file".to_owned()));
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(N_MANIFEST_BYTES_MAX).read_to_end(&mut bytes));
    read.map_err(|error| unread(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| unread(error.to_string()))
}

fn is_hash(hex: &str) -> bool {
    hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}
