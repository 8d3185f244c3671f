//! The Hub's answer about a model: which files there are, and which of them a model needs.
//!
//! Nothing in it is trusted: names, sizes and hashes are checked before anything is made of them.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::error::DownloadError;

/// Largest file, other than weights, that is downloaded, in bytes.
pub const N_DOCUMENT_BYTES_MAX: u64 = 256 << 20;
const N_FILES_MAX: usize = 10_000;
const N_NAME_BYTES_MAX: usize = 255;
const INDEX: &str = "model.safetensors.index.json";
const CONFIG: &str = "config.json";

/// A file of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubFile {
    /// Name in the folder of the model; has no folders in it.
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
    files: Vec<HubFile>,
    has_gguf: bool,
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
    /// Reads the JSON that `endpoint` sent.
    pub fn parse(json: &[u8], endpoint: &str) -> Result<Self, DownloadError> {
        let bad = |problem: String| DownloadError::bad_answer(endpoint, problem);
        let answer: Answer = serde_json::from_slice(json).map_err(|error| bad(error.to_string()))?;
        if !is_hex(&answer.sha, 40) {
            return Err(bad("it names no commit".to_owned()));
        }
        let ends = |ending: &str| answer.siblings.iter().any(|file| file.rfilename.ends_with(ending));
        let (has_gguf, has_pickle) = (ends(".gguf"), ends(".bin") || ends(".pt") || ends(".pth"));
        let mut files = Vec::new();
        let mut names = BTreeSet::new();
        for sibling in answer.siblings {
            if !may_be_needed(&sibling.rfilename)? {
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
        Ok(Self { commit: answer.sha, files, has_gguf, has_pickle })
    }

    /// The file that says where each tensor is, if the weights are split.
    pub fn index(&self) -> Option<&HubFile> {
        self.files.iter().find(|file| file.name == INDEX)
    }

    /// What to download: all documents, and the weights that `index` names, or `model*.safetensors` without one.
    pub fn needed(&self, id: &str, index: Option<&Value>) -> Result<Vec<HubFile>, DownloadError> {
        if !self.files.iter().any(|file| file.name == CONFIG) {
            return Err(self.no_weights(id, "it has no config.json".to_owned()));
        }
        let (weights, mut needed): (Vec<_>, Vec<_>) =
            self.files.iter().cloned().partition(|file| is_weights(&file.name));
        let n_documents = needed.len();
        match index {
            None => needed.extend(weights.into_iter().filter(|file| file.name.starts_with("model"))),
            Some(index) => {
                for shard in shards(index) {
                    let file = weights.iter().find(|file| file.name == shard);
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

    fn no_weights(&self, id: &str, problem: String) -> DownloadError {
        let advice = if self.has_gguf {
            "It has GGUF files: download one of them and give its path."
        } else if self.has_pickle {
            "It has pickled weights only, which can run code and are never loaded: look for a safetensors version."
        } else {
            "Choose a model in safetensors format, for example one of mlx-community."
        };
        DownloadError::NoWeights { id: id.to_owned(), problem, advice: advice.to_owned() }
    }
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

/// Whether a model may need a file of this name: a document, tokenizer or weights at the top of the repository.
/// A name that Git cannot hold was made up to write elsewhere.
fn may_be_needed(name: &str) -> Result<bool, DownloadError> {
    let is_hostile = name.is_empty()
        || name.starts_with('/')
        || name.split(['/', '\\']).any(|part| part == "..")
        || name.chars().any(char::is_control);
    if is_hostile {
        return Err(DownloadError::BadName { name: name.chars().take(N_NAME_BYTES_MAX).collect() });
    }
    let is_plain = !name.contains(['/', '\\', ':']) && !name.starts_with('.') && name.len() <= N_NAME_BYTES_MAX;
    let is_document = name.ends_with(".json") && !name.ends_with(".bin.index.json") || name.ends_with(".jinja");
    Ok(is_plain && (is_document || is_weights(name) || name == "tokenizer.model"))
}

fn is_weights(name: &str) -> bool {
    name.ends_with(".safetensors")
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
