//! The Hub's answer about a model: which files there are, and which of them a model needs.
//!
//! Nothing in it is trusted: names, sizes and hashes are checked before anything is made of them.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::error::DownloadError;
use crate::id::{DEPTH_MAX, HubId};

/// Largest file, other than weights, that is downloaded, in bytes.
pub const N_DOCUMENT_BYTES_MAX: u64 = 256 << 20;
const N_FILES_MAX: usize = 10_000;
const N_NAME_BYTES_MAX: usize = 255;
const INDEX: &str = "model.safetensors.index.json";
const CONFIG: &str = "config.json";
/// Most models of a repository that an error names.
const N_CHOICES_MAX: usize = 12;

/// A file of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubFile {
    /// Name in the repository, with the folders that it lies in.
    pub name: String,
    /// Size.
    pub n_bytes: u64,
    /// Hash of its bytes, which is also its name in the cache.
    pub hash: Hash,
}

/// What is promised about a file's bytes, in lower-case hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-256 of a file in large-file storage.
    Sha256(String),
    /// Git's name for a file: SHA-1 over a header and the bytes.
    Git(String),
}

impl Hash {
    /// The hexadecimal digits.
    pub fn hex(&self) -> &str {
        match self {
            Self::Sha256(hex) | Self::Git(hex) => hex,
        }
    }
}

/// The files of one commit that a model may need.
#[derive(Debug)]
pub struct Listing {
    /// Full hexadecimal id of the commit.
    pub commit: String,
    /// Where the model lies in the repository: empty, or folders with a slash at the end.
    folder: String,
    files: Vec<HubFile>,
    /// What the repository holds, to be named in its place: folders with weights, and GGUF files.
    choices: Vec<String>,
    has_pickle: bool,
}

#[derive(Deserialize)]
struct Answer {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    #[serde(rename = "blobId")]
    blob_id: Option<String>,
    lfs: Option<Lfs>,
}

#[derive(Deserialize)]
struct Lfs {
    sha256: Option<String>,
    size: Option<u64>,
}

impl Listing {
    /// Reads the JSON that `endpoint` sent about the repository of `id`.
    pub fn parse(json: &[u8], endpoint: &str, id: &HubId<'_>) -> Result<Self, DownloadError> {
        let bad = |problem: String| DownloadError::bad_answer(endpoint, problem);
        let answer: Answer = serde_json::from_slice(json).map_err(|error| bad(error.to_string()))?;
        if !is_hex(&answer.sha, 40) {
            return Err(bad("it names no commit".to_owned()));
        }
        let ends = |ending: &str| answer.siblings.iter().any(|file| file.rfilename.ends_with(ending));
        let has_pickle = ends(".bin") || ends(".pt") || ends(".pth");
        let choices = choices(&answer.siblings.iter().map(|file| file.rfilename.as_str()).collect::<Vec<_>>());
        let folder = folder(id);
        let mut files = Vec::new();
        let mut names = BTreeSet::new();
        for sibling in answer.siblings {
            if !may_be_needed(&sibling.rfilename, &folder)? {
                continue;
            }
            let name = sibling.rfilename.clone();
            if !names.insert(name.clone()) {
                return Err(bad(format!("it lists `{name}` twice")));
            }
            let file = sibling.file().ok_or_else(|| bad(format!("it gives no size or hash of `{name}`")))?;
            if !is_weights(&name) && file.n_bytes > N_DOCUMENT_BYTES_MAX {
                return Err(bad(format!("`{name}` has {} bytes, too many for its kind", file.n_bytes)));
            }
            files.push(file);
        }
        if files.len() > N_FILES_MAX {
            return Err(bad(format!("it lists {} files", files.len())));
        }
        Ok(Self { commit: answer.sha, folder, files, choices, has_pickle })
    }

    /// The file that says where each tensor is, if the weights are split.
    pub fn index(&self) -> Option<&HubFile> {
        self.file(INDEX)
    }

    /// What to download: a GGUF file that `id` names or that is the only one; else all documents of the model's folder, and the
    /// weights that `index` names, or `model*.safetensors` without one.
    pub fn needed(&self, id: &str, index: Option<&Value>) -> Result<Vec<HubFile>, DownloadError> {
        if let Some(file) = HubId::parse(id).and_then(|id| id.gguf()) {
            let found = self.files.iter().find(|other| other.name == file);
            let problem = if is_model_gguf(file) { "there is no such file" } else { "it is no whole model" };
            let found = found.filter(|_| is_model_gguf(file));
            return Ok(vec![found.ok_or_else(|| self.no_weights(id, problem.to_owned()))?.clone()]);
        }
        if self.file(CONFIG).is_none() {
            let only = self.only_gguf().map(|file| vec![file.clone()]);
            return only.ok_or_else(|| self.no_weights(id, "it has no config.json".to_owned()));
        }
        let (weights, mut needed): (Vec<_>, Vec<_>) =
            self.files.iter().filter(|file| !is_gguf(&file.name)).cloned().partition(|file| is_weights(&file.name));
        let n_documents = needed.len();
        let model = format!("{}model", self.folder);
        match index {
            None => needed.extend(weights.into_iter().filter(|file| file.name.starts_with(&model))),
            Some(index) => {
                for shard in shards(index) {
                    let name = format!("{}{shard}", self.folder);
                    let file = weights.iter().find(|file| file.name == name);
                    let missing = || self.no_weights(id, format!("its index names {shard:?}, which is not there"));
                    needed.push(file.ok_or_else(missing)?.clone());
                }
            }
        }
        if needed.len() == n_documents {
            return Err(self.no_weights(id, "it has no model*.safetensors".to_owned()));
        }
        Ok(needed)
    }

    fn file(&self, name: &str) -> Option<&HubFile> {
        self.files.iter().find(|file| file.name.strip_prefix(&self.folder) == Some(name))
    }

    fn only_gguf(&self) -> Option<&HubFile> {
        let mut files = self.files.iter().filter(|file| is_model_gguf(&file.name));
        files.next().filter(|_| files.next().is_none())
    }

    fn no_weights(&self, id: &str, problem: String) -> DownloadError {
        let advice = if !self.choices.is_empty() {
            let repository = HubId::parse(id).map_or(id, |id| id.repository);
            let shown = self.choices.iter().take(N_CHOICES_MAX).map(|choice| format!("`{repository}/{choice}`"));
            let names = shown.collect::<Vec<_>>().join(", ");
            let rest = if self.choices.len() > N_CHOICES_MAX { ", and more" } else { "" };
            format!("Name what is in the repository: {names}{rest}.")
        } else if self.has_pickle {
            "It has pickled weights only, which can run code and are never loaded: look for a safetensors version."
                .to_owned()
        } else {
            "Choose a model in safetensors format, for example one of mlx-community.".to_owned()
        };
        DownloadError::NoWeights { id: id.to_owned(), problem, advice }
    }
}

/// Where the files of a model lie in its repository.
fn folder(id: &HubId<'_>) -> String {
    match (id.gguf(), id.inside) {
        (Some(file), _) => file.rsplit_once('/').map_or_else(String::new, |(folder, _)| format!("{folder}/")),
        (None, Some(folder)) => format!("{folder}/"),
        (None, None) => String::new(),
    }
}

/// Folders that hold config.json and weights, and GGUF files, as far as they can be named.
fn choices(names: &[&str]) -> Vec<String> {
    let folder =
        |name: &str, ending: &str| name.strip_suffix(ending).and_then(|rest| rest.strip_suffix('/')).map(str::to_owned);
    let has_weights = |folder: &String| {
        let is_in = |name: &&str| name.rsplit_once('/').is_some_and(|(dir, _)| dir == folder);
        names.iter().any(|name| is_in(name) && name.ends_with(".safetensors"))
    };
    let folders = names.iter().filter_map(|name| folder(name, CONFIG)).filter(has_weights);
    let files = names.iter().filter(|name| is_model_gguf(name)).map(|name| (*name).to_owned());
    let is_shallow = |name: &String| name.split('/').count() <= DEPTH_MAX + 1;
    let mut choices: Vec<String> = folders.chain(files).filter(is_shallow).take(N_FILES_MAX).collect();
    choices.sort();
    choices
}

impl Sibling {
    /// Size and hash, if both are there and well formed.
    fn file(self) -> Option<HubFile> {
        let (n_bytes, hash) = match self.lfs {
            Some(lfs) => {
                let hex = lfs.sha256.filter(|hex| is_hex(hex, 64))?;
                (lfs.size.or(self.size)?, Hash::Sha256(hex))
            }
            None => (self.size?, Hash::Git(self.blob_id.filter(|hex| is_hex(hex, 40))?)),
        };
        Some(HubFile { name: self.rfilename, n_bytes, hash })
    }
}

/// Whether a model in `folder` may need a file of this name: a document, tokenizer or weights there, not in folders below.
/// A name that Git cannot hold was made up to write elsewhere.
fn may_be_needed(name: &str, folder: &str) -> Result<bool, DownloadError> {
    let is_hostile = name.is_empty()
        || name.starts_with('/')
        || name.split(['/', '\\']).any(|part| part == "..")
        || name.chars().any(char::is_control);
    if is_hostile {
        return Err(DownloadError::BadName { name: name.chars().take(N_NAME_BYTES_MAX).collect() });
    }
    let Some(name) = name.strip_prefix(folder) else { return Ok(false) };
    let is_plain = !name.contains(['/', '\\', ':']) && !name.starts_with('.') && name.len() <= N_NAME_BYTES_MAX;
    let is_document = name.ends_with(".json") && !name.ends_with(".bin.index.json") || name.ends_with(".jinja");
    Ok(is_plain && (is_document || is_weights(name) || name == "tokenizer.model"))
}

fn is_weights(name: &str) -> bool {
    name.ends_with(".safetensors") || is_gguf(name)
}

fn is_gguf(name: &str) -> bool {
    name.ends_with(".gguf")
}

/// Whether it is a model by itself: `mmproj` files hold the eyes of one, and parts such as `-00001-of-00002.gguf` are imported
/// only after they were merged.
fn is_model_gguf(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    let n_parts = || file.strip_suffix(".gguf")?.rsplit_once("-of-")?.1.parse::<u32>().ok();
    is_gguf(name) && !file.starts_with("mmproj") && n_parts().is_none_or(|n| n == 1)
}

/// Names of the files in an index, each once.
fn shards(index: &Value) -> BTreeSet<String> {
    let map = index.get("weight_map").and_then(Value::as_object);
    map.into_iter().flat_map(|map| map.values()).filter_map(Value::as_str).map(str::to_owned).collect()
}

fn is_hex(text: &str, n_digits: usize) -> bool {
    text.len() == n_digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
