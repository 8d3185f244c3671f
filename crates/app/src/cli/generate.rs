//! Options of `generate`.

use std::path::PathBuf;

use clap::Args;

/// Options of `generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// The folder, which has to be there.
    pub folder: PathBuf,
}
