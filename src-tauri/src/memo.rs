//! What the app remembers between runs that is no setting: the models that were started. Replaced in one step, so that a kill
//! leaves the old file or the new one.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tokbar_app::json_file;

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
        json_file::read(path).inspect_err(|error| tracing::warn!("what was started is forgotten: {error:#}")).ok()?
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
        json_file::write(path, self)
    }
}

/// Where it is, in the folder of this user's settings.
pub fn place(config: &Path) -> PathBuf {
    config.join("desktop.json")
}

#[cfg(test)]
#[path = "memo_tests.rs"]
mod tests;
