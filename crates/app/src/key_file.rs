//! The file of API keys: names, scopes and hashes, readable by this user only. Secrets are shown once and kept nowhere.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use tokbar_server::{Key, KeyScope, Keys, sha256_hex};

use crate::{config_dir, json_file};

const N_NAME_MAX: usize = 64;

/// One key.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Entry {
    /// Names it in listings and logs.
    pub name: String,
    /// `inference` or `manage`.
    pub scope: String,
    /// Of its secret.
    sha256: String,
    /// When it was made.
    pub created: String,
}

/// Where the keys of this user are; `TOKBAR_CONFIG_DIR` names another folder.
///
/// # Errors
/// When the user has no home folder.
pub fn place() -> Result<PathBuf> {
    Ok(config_dir::place()?.join("keys.json"))
}

/// All keys of the file; none if there is no file.
///
/// # Errors
/// When the file cannot be read or is damaged: a server must not open for less than it was closed for.
pub fn read(path: &Path) -> Result<Vec<Entry>> {
    let entries: Vec<Entry> = json_file::read(path)?.unwrap_or_default();
    if entries.iter().any(|entry| entry.key().is_none()) {
        bail!("{} is damaged; delete it and make new keys with `tokbar key add`", path.display());
    }
    Ok(entries)
}

/// The keys that a server asks for.
pub fn keys(entries: &[Entry]) -> Keys {
    Keys(entries.iter().filter_map(Entry::key).collect())
}

/// Adds a key and returns its secret.
///
/// # Errors
/// When the name is taken or no name, or the file cannot be written.
pub fn add(path: &Path, name: &str, scope: KeyScope) -> Result<String> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > N_NAME_MAX || !name.chars().all(is_plain) {
        bail!("{name:?} is no name for a key; use up to {N_NAME_MAX} letters, digits, '-', '_' and '.'");
    }
    let _alone = json_file::Alone::with(path)?;
    let mut entries = read(path)?;
    if entries.iter().any(|entry| entry.name == name) {
        bail!("there is a key named {name:?} already; choose another name, or remove it first");
    }
    let secret = secret()?;
    let sha256 = sha256_hex(secret.as_bytes());
    let scope = scope.as_str().to_owned();
    entries.push(Entry { name: name.to_owned(), scope, sha256, created: Timestamp::now().to_string() });
    json_file::write(path, &entries)?;
    Ok(secret)
}

/// A secret that nobody can guess.
///
/// # Errors
/// When the system gives no random numbers.
pub fn secret() -> Result<String> {
    let mut random = [0; 32];
    SystemRandom::new().fill(&mut random).map_err(|_| anyhow!("the system gives no random numbers"))?;
    Ok(format!("tk-{}", URL_SAFE_NO_PAD.encode(random)))
}

/// Removes a key.
///
/// # Errors
/// When there is none of that name, or the file cannot be written.
pub fn remove(path: &Path, name: &str) -> Result<()> {
    let _alone = json_file::Alone::with(path)?;
    let mut entries = read(path)?;
    let n_before = entries.len();
    entries.retain(|entry| entry.name != name);
    if entries.len() == n_before {
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        bail!("there is no key named {name:?}; the keys are: {}", names.join(", "));
    }
    json_file::write(path, &entries)
}

impl Entry {
    fn key(&self) -> Option<Key> {
        let scope = match self.scope.as_str() {
            "inference" => KeyScope::Inference,
            "manage" => KeyScope::Manage,
            _ => return None,
        };
        Key::from_hash(&self.name, scope, &self.sha256)
    }
}

#[cfg(test)]
#[path = "key_file_tests.rs"]
mod tests;
