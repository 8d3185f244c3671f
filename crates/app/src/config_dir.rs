//! The folders of this user's settings and data.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use directories::ProjectDirs;

/// `TOKBAR_CONFIG_DIR`, or the usual folder of the system. It need not exist.
///
/// # Errors
/// When the user has no home folder.
pub fn place() -> Result<PathBuf> {
    named().map_or_else(|| Ok(usual()?.config_dir().to_owned()), Ok)
}

/// Where what people made is kept, such as conversations: `TOKBAR_CONFIG_DIR`, or the usual folder of the system. It need
/// not exist.
///
/// # Errors
/// As [`place`].
pub fn data() -> Result<PathBuf> {
    named().map_or_else(|| Ok(usual()?.data_dir().to_owned()), Ok)
}

fn named() -> Option<PathBuf> {
    std::env::var_os("TOKBAR_CONFIG_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from)
}

fn usual() -> Result<ProjectDirs> {
    let dirs = ProjectDirs::from("", "", "tokbar");
    dirs.ok_or_else(|| anyhow!("this user has no home folder; name a folder with TOKBAR_CONFIG_DIR"))
}
