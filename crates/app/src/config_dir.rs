//! The folder of this user's settings.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use directories::ProjectDirs;

/// `TOKBAR_CONFIG_DIR`, or the usual folder of the system. It need not exist.
///
/// # Errors
/// When the user has no home folder.
pub fn place() -> Result<PathBuf> {
    if let Some(dir) = std::env::var_os("TOKBAR_CONFIG_DIR").filter(|dir| !dir.is_empty()) {
        return Ok(PathBuf::from(dir));
    }
    let dirs = ProjectDirs::from("", "", "tokbar");
    let dirs = dirs.ok_or_else(|| anyhow!("this user has no home folder; name a folder with TOKBAR_CONFIG_DIR"))?;
    Ok(dirs.config_dir().to_owned())
}
