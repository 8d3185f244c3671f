//! The models that have short names: the built-in list with this user's own entries.

use std::fs::File;
use std::io::{self, Read};

use anyhow::{Context, Result};
use tokbar_hub::catalog::{Catalog, Entry, N_BYTES_MAX};

use crate::config_dir;

/// The built-in list, and `models.json` of this user's settings.
///
/// # Errors
/// When the user's list is damaged.
pub fn catalog() -> Result<Catalog> {
    let path = config_dir::place()?.join("models.json");
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Catalog::built_in()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let mut json = Vec::new();
    file.take(N_BYTES_MAX).read_to_end(&mut json).with_context(|| format!("cannot read {}", path.display()))?;
    let own = Catalog::read(&json).with_context(|| format!("{} cannot be used", path.display()))?;
    Ok(Catalog::built_in().with(own))
}

/// Whether this build can run it, as far as anybody knows.
pub fn can_run(entry: &Entry) -> bool {
    entry.family.as_deref().is_some_and(tokbar_models::is_known)
}

/// The name that people use for it.
pub fn short(entry: &Entry) -> &str {
    entry.aliases.first().unwrap_or(&entry.name)
}

/// What is meant by a short name: an id on the Hub. `None` where it is no short name.
///
/// # Errors
/// When the user's list is damaged.
pub fn id_of(name: &str) -> Result<Option<String>> {
    if name.contains('/') {
        return Ok(None);
    }
    Ok(catalog()?.find(name).map(|entry| entry.id().into_owned()))
}
