//! What the app remembers between runs that is no setting: the models that were started. Replaced in one step, so that a kill
//! leaves the old file or the new one.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// A file with more is not ours.
const N_BYTES_MAX: u64 = 1 << 16;
const N_RECENTS_MAX: usize = 8;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Memo {
    /// Names of models that were started, the newest first.
    #[serde(default)]
    pub recents: Vec<String>,
}

impl Memo {
    /// What the file says. `None` when there is none yet, or it is damaged: then nothing of worth is lost.
    pub fn read(path: &Path) -> Option<Self> {
        let mut text = Vec::new();
        File::open(path).ok()?.take(N_BYTES_MAX).read_to_end(&mut text).ok()?;
        let memo = serde_json::from_slice(&text);
        memo.inspect_err(|error| tracing::warn!(%error, "{} is damaged and starts anew", path.display())).ok()
    }

    /// Puts a model first.
    pub fn started(&mut self, name: &str) {
        self.recents.retain(|other| other != name);
        self.recents.insert(0, name.to_owned());
        self.recents.truncate(N_RECENTS_MAX);
    }

    /// Writes the file.
    ///
    /// # Errors
    /// When the folder cannot be written; the old file stays then.
    pub fn write(&self, path: &Path) -> Result<()> {
        let dir = path.parent().context("the file has no folder")?;
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let wrong = || format!("cannot write {}", path.display());
        let mut file = tempfile::NamedTempFile::new_in(dir).with_context(wrong)?;
        file.write_all(&serde_json::to_vec_pretty(self)?).with_context(wrong)?;
        file.as_file().sync_all().with_context(wrong)?;
        file.persist(path).map_err(|error| error.error).with_context(wrong)?;
        Ok(())
    }
}

/// Where it is, in the folder of this user's settings.
pub fn place(config: &Path) -> PathBuf {
    config.join("desktop.json")
}

#[cfg(test)]
#[path = "memo_tests.rs"]
mod tests;
