//! What the control API reaches, joined to what this program knows: one module per part, one line for each here.

mod benches;
mod conversations;
mod preferences;
pub mod refusal;
mod shelves;
mod transfers;
mod upkeep;

use std::sync::Arc;

use tokbar_server::control::{Parts, Site, Toolbox};
use tokbar_server::{Keys, Models};

use crate::cli::CacheDirArgs;
use crate::cloud::Cloud;
use crate::connect::ClientsPart;
use crate::launch::{self, Ending};
use crate::logbook;

/// What the parts are made of.
pub struct Basis {
    /// Where the server is.
    pub site: Site,
    /// What it serves.
    pub models: Models,
    /// The key of the launch.
    pub token: String,
    /// Keys that are in no file.
    pub own_keys: Keys,
    /// Where the KV cache on disk is.
    pub cache_dir: CacheDirArgs,
    /// Where long prompts may go.
    pub cloud: Cloud,
    /// Tools that models may call here.
    pub toolbox: Option<Arc<dyn Toolbox>>,
    /// The way to end the server.
    pub ending: Ending,
}

/// All of them.
pub fn parts(basis: Basis) -> Parts {
    let Basis { site, models, token, own_keys, cache_dir, cloud, toolbox, ending } = basis;
    let listens = site.address;
    let address = listens.map(launch::host).unwrap_or_default();
    let server = (format!("http://{address}/v1"), token);
    Parts {
        site,
        shelves: Some(Arc::new(shelves::OnDisk)),
        preferences: Some(Arc::new(preferences::Kept::new())),
        key_ring: Some(Arc::new(preferences::Ring { own: own_keys })),
        transfers: Some(Arc::new(transfers::Queue::start())),
        logbook: Some(logbook::book()),
        benches: Some(Arc::new(benches::Bench::new(models.clone(), server))),
        clients: Some(Arc::new(ClientsPart::new(listens, models))),
        conversations: Some(Arc::new(conversations::InFile::default())),
        upkeep: Some(Arc::new(upkeep::Keep { cache_dir, ending })),
        cloud: Some(Arc::new(cloud)),
        cloud_key: Some(Arc::new(preferences::Secret)),
        toolbox,
    }
}
