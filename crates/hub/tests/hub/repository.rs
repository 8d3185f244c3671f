//! A small model as the Hub would hold it, and a Hub that serves it.

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use serde_json::{Value, json};

use super::loopback::{Answer, Asked};

pub const ID: &str = "org/tiny";
pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
pub const WEIGHTS: &str = "model.safetensors";

/// Files of a repository by name.
#[derive(Clone)]
pub struct Repository {
    pub files: Vec<(String, Vec<u8>)>,
}

impl Repository {
    /// A model with one tensor, among files that it does not need.
    pub fn new() -> Self {
        let files = [
            ("README.md", b"# Tiny".to_vec()),
            ("config.json", br#"{"model_type": "llama"}"#.to_vec()),
            ("tokenizer.json", b"{}".to_vec()),
            ("empty.json", Vec::new()),
            (WEIGHTS, weights(200_000)),
            ("pytorch_model.bin", b"never".to_vec()),
            ("consolidated.safetensors", b"twice".to_vec()),
            ("onnx/config.json", b"{}".to_vec()),
        ];
        Self { files: files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect() }
    }

    pub fn with(mut self, name: &str, bytes: &[u8]) -> Self {
        self.files.retain(|(other, _)| other != name);
        self.files.push((name.to_owned(), bytes.to_vec()));
        self
    }

    pub fn bytes(&self, name: &str) -> &[u8] {
        &self.files.iter().find(|(other, _)| other == name).unwrap().1
    }

    /// Name of a file in the cache.
    pub fn hash(&self, name: &str) -> String {
        if is_large(name) { sha256(self.bytes(name)) } else { git(self.bytes(name)) }
    }

    /// What the Hub says about the model.
    pub fn listing(&self) -> Value {
        let sibling = |(name, bytes): &(String, Vec<u8>)| {
            let mut sibling = json!({"rfilename": name, "size": bytes.len(), "blobId": git(bytes)});
            if is_large(name) {
                sibling["lfs"] = json!({"sha256": sha256(bytes), "size": bytes.len(), "pointerSize": 130});
            }
            sibling
        };
        let siblings: Vec<Value> = self.files.iter().map(sibling).collect();
        json!({"id": ID, "sha": COMMIT, "private": false, "gated": false, "siblings": siblings})
    }

    /// What the Hub answers.
    pub fn answer(&self, asked: &Asked) -> Answer {
        let path = asked.path.split('?').next().unwrap();
        if path.starts_with(&format!("/api/models/{ID}/tree/")) {
            return Answer::ok(self.tree().to_string().into_bytes());
        }
        if path.starts_with(&format!("/api/models/{ID}")) {
            return Answer::ok(self.listing().to_string().into_bytes());
        }
        let name = path.strip_prefix(&format!("/{ID}/resolve/{COMMIT}/"));
        match name.and_then(|name| self.files.iter().find(|(other, _)| other == name)) {
            Some((name, bytes)) => {
                let tag = format!("\"{}\"", self.hash(name));
                let linked = ("X-Linked-Size", bytes.len().to_string());
                let answer = part(bytes, asked).with("ETag", tag.clone()).with("X-Linked-Etag", tag);
                answer.with(linked.0, linked.1).with("X-Repo-Commit", COMMIT)
            }
            None => Answer::status(404),
        }
    }

    /// The same as the Hub's list of files.
    fn tree(&self) -> Value {
        let entry = |(name, bytes): &(String, Vec<u8>)| {
            let mut entry = json!({"type": "file", "path": name, "size": bytes.len(), "oid": git(bytes)});
            if is_large(name) {
                entry["lfs"] = json!({"oid": sha256(bytes), "size": bytes.len(), "pointerSize": 130});
            }
            entry
        };
        self.files.iter().map(entry).collect()
    }
}

/// Whether the Hub keeps it in large-file storage.
fn is_large(name: &str) -> bool {
    name.ends_with(".safetensors") || name.ends_with(".gguf")
}

/// The bytes asked for, as servers send parts.
fn part(bytes: &[u8], asked: &Asked) -> Answer {
    match asked.start {
        None => Answer::ok(bytes.to_vec()),
        Some(start) if start >= bytes.len() => {
            Answer::status(416).with("Content-Range", format!("bytes */{}", bytes.len()))
        }
        Some(start) => {
            let end = asked.last.map_or(bytes.len(), |last| bytes.len().min(last + 1)).max(start);
            let range = format!("bytes {start}-{}/{}", end - 1, bytes.len());
            Answer { status: 206, ..Answer::ok(bytes[start..end].to_vec()) }.with("Content-Range", range)
        }
    }
}

/// A safetensors file with one tensor of `n` floats.
pub fn weights(n: usize) -> Vec<u8> {
    let header = json!({"x.weight": {"dtype": "F32", "shape": [n], "data_offsets": [0, 4 * n]}}).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend((0..n).flat_map(|idx| (idx as f32).to_le_bytes()));
    bytes
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

fn git(bytes: &[u8]) -> String {
    let blob = [format!("blob {}\0", bytes.len()).as_bytes(), bytes].concat();
    hex(digest(&SHA1_FOR_LEGACY_USE_ONLY, &blob).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
