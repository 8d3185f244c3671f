//! What the control API reaches, joined to what this program knows: one module per part, one line for each here.

use tokbar_server::control::{Parts, Site};
use tokbar_server::{Keys, Models};

use crate::cli::CacheDirArgs;
use crate::launch::Ending;

/// What the parts are made of.
pub struct Basis {
    /// Where the server is.
    pub site: Site,
    /// What it serves.
    pub models: Models,
    /// Keys that are in no file.
    pub own_keys: Keys,
    /// Where the KV cache on disk is.
    pub cache_dir: CacheDirArgs,
    /// The way to end the server.
    pub ending: Ending,
}

/// All of them.
pub fn parts(basis: Basis) -> Parts {
    Parts { site: basis.site, ..Parts::default() }
}
