//! Where the system has no keychain that is always there: a file that only its owner can read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;

use super::Store;
use crate::json_file;

/// See the module.
pub struct SecretsFile {
    path: PathBuf,
}

impl SecretsFile {
    /// At `path`; it need not be there yet.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    fn all(&self) -> Result<BTreeMap<String, String>> {
        Ok(json_file::read(&self.path)?.unwrap_or_default())
    }

    /// Writes nothing where nothing changes.
    fn change(&self, change: impl Fn(&mut BTreeMap<String, String>)) -> Result<()> {
        let changed = || -> Result<Option<BTreeMap<String, String>>> {
            let before = self.all()?;
            let mut after = before.clone();
            change(&mut after);
            Ok((after != before).then_some(after))
        };
        if changed()?.is_none() {
            return Ok(());
        }
        let _alone = json_file::Alone::with(&self.path)?;
        changed()?.map_or(Ok(()), |after| json_file::write(&self.path, &after))
    }
}

impl Store for SecretsFile {
    fn get(&self, name: &str) -> Result<Option<String>> {
        Ok(self.all()?.remove(name))
    }

    fn set(&self, name: &str, secret: &str) -> Result<()> {
        self.change(|all| drop(all.insert(name.to_owned(), secret.to_owned())))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.change(|all| drop(all.remove(name)))
    }
}
