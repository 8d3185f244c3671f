//! Downloads a checkpoint from the Hugging Face Hub into its standard cache, as `huggingface_hub` lays it out.
//!
//! Knows the Hub's model API and the layout of the cache; must not know the environment, which comes in as options.
//! A model appears in the cache when all of its files are there and their hashes agree. What an error leaves behind is
//! `.incomplete` files, where the next call goes on.

mod blob;
mod client;
mod error;
mod hub;
mod listing;
mod pace;
mod pieces;
mod search;
mod store;
mod worker;

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use self::blob::Partial;
use self::client::Endpoint;
pub use self::error::DownloadError;
use self::hub::Hub;
use self::listing::{HubFile, Listing};
pub use self::pace::Pace;
use self::pieces::Pieces;
pub use self::search::{Hit, search};
use self::store::Store;
pub use self::store::{free_bytes, is_writable};
use self::worker::Wanted;
use crate::id::HubId;

/// Where the Hub is unless told otherwise.
pub const DEFAULT_ENDPOINT: &str = "https://huggingface.co";

/// Bytes taken from the network at once.
const N_CHUNK_BYTES: usize = 256 << 10;
/// A connection that brought this much was worth it: failures are counted anew.
const N_PROGRESS_BYTES: u64 = 1 << 20;

/// Where to download from and to.
#[derive(Clone, Debug)]
pub struct DownloadOptions {
    /// Folder of the Hugging Face cache, see [`crate::resolve::cache_dir`].
    pub cache: PathBuf,
    /// Address of the Hub, or of a mirror.
    pub endpoint: String,
    /// Addresses that are asked, in turn, when that one cannot be reached or fails. The token is not sent there.
    pub mirrors: Vec<String>,
    /// Token of an account, for models that need one.
    pub token: Option<String>,
    /// Branch, tag or commit; `main` unless given.
    pub revision: Option<String>,
    /// When to give up.
    pub patience: Patience,
    /// How large files come.
    pub parallel: Parallel,
    /// What files are worth that are there already.
    pub present: Present,
}

/// What is made of files that the cache holds already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Present {
    /// They were checked when they came.
    #[default]
    Trusted,
    /// Disks forget: they are hashed again, and fetched again if they are wrong.
    Verified,
}

/// How large files come: in pieces, over several connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parallel {
    /// Connections at once; 1 takes files as one stream.
    pub n_connections: usize,
    /// Bytes of a piece. What came of a file counts only while this stays the same.
    pub n_piece_bytes: u64,
    /// Smaller files come as one stream.
    pub n_bytes_least: u64,
}

impl Default for Parallel {
    fn default() -> Self {
        Self { n_connections: 4, n_piece_bytes: 32 << 20, n_bytes_least: 64 << 20 }
    }
}

impl DownloadOptions {
    /// The main branch, from the Hub itself, without a token.
    pub fn new(cache: PathBuf) -> Self {
        let endpoint = DEFAULT_ENDPOINT.to_owned();
        let (patience, parallel, present) = (Patience::default(), Parallel::default(), Present::default());
        Self { cache, endpoint, mirrors: Vec::new(), token: None, revision: None, patience, parallel, present }
    }

    /// The Hub, then its mirrors.
    fn endpoints(&self) -> impl Iterator<Item = Endpoint<'_>> {
        let mirrors = self.mirrors.iter().map(|address| Endpoint { address, token: None });
        std::iter::once(Endpoint { address: &self.endpoint, token: self.token.as_deref() }).chain(mirrors)
    }
}

/// How long to wait for a server, and how often to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Longest silence of a server.
    pub stall: Duration,
    /// Failures in a row, without progress between them, that are tried again.
    pub n_retries: u32,
    /// Pause after the first failure; doubled after each further one.
    pub pause: Duration,
    /// Longest pause that a server may ask for.
    pub pause_asked_max: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let (stall, pause_asked_max) = (Duration::from_secs(30), Duration::from_secs(60));
        Self { stall, n_retries: 4, pause: Duration::from_secs(1), pause_asked_max }
    }
}

/// How far a download is, in bytes of all files. The total is 0 until the Hub has answered, and grows once when the weights
/// are known; a server that cannot resume sets a file back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Here so far, those of earlier calls included.
    pub n_bytes_done: u64,
    /// All of them.
    pub n_bytes: u64,
}

/// Told of progress after every piece; `Break` cancels.
pub type OnProgress<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// Downloads what the model `id` needs, see [`HubId`]: documents, tokenizer and safetensors, or a GGUF file; never pickled files
/// or code. Returns its folder or file in the snapshot. Files that the cache holds already are not fetched again.
///
/// # Errors
/// When the Hub cannot be reached or refuses, or its files are not what it promised; all say what to do next.
pub fn download(id: &str, options: &DownloadOptions, progress: &mut OnProgress<'_>) -> Result<PathBuf, DownloadError> {
    let mut endpoints = options.endpoints().peekable();
    loop {
        let Some(endpoint) = endpoints.next() else { unreachable!("the Hub itself is the first") };
        match download_from(id, options, &endpoint, progress) {
            Err(error) if error.may_pass() && endpoints.peek().is_some() => {
                tracing::warn!(%error, "asking a mirror");
            }
            outcome => return outcome,
        }
    }
}

fn download_from(
    id: &str,
    options: &DownloadOptions,
    endpoint: &Endpoint<'_>,
    progress: &mut OnProgress<'_>,
) -> Result<PathBuf, DownloadError> {
    let name = HubId::parse(id).ok_or_else(|| DownloadError::BadId { id: id.to_owned() })?;
    let hub = Hub::new(&name, options, endpoint)?;
    let listing = Listing::parse(&ask(&hub, &options.patience, progress)?, hub.endpoint(), &name)?;
    let store = Store::new(&options.cache, &name, &listing.commit)?;
    let (patience, parallel, present) = (options.patience, options.parallel, options.present);
    let mut fetch = Fetch { hub, store, patience, parallel, present, progress, n_before: 0, n_bytes: 0 };

    let index = match listing.index() {
        Some(file) => {
            fetch.begin(std::slice::from_ref(file))?;
            fetch.file(file, &listing.commit)?;
            Some(fetch.document(file)?)
        }
        None => None,
    };
    let files = listing.needed(id, index.as_ref())?;
    fetch.begin(&files)?;
    for file in &files {
        fetch.file(file, &listing.commit)?;
    }
    let snapshot = fetch.store.publish(&files, fetch.hub.revision())?;
    Ok(match name.inside {
        Some(inside) => snapshot.join(inside),
        None => snapshot,
    })
}

/// The Hub's answer about the model. A Hub that cannot be reached at all is not tried again: most likely it stays so.
fn ask(hub: &Hub, patience: &Patience, progress: &mut OnProgress<'_>) -> Result<Vec<u8>, DownloadError> {
    let mut tries = Tries { patience: *patience, n_failed: 0 };
    loop {
        // Nothing is known of the model yet.
        let mut told = |n_bytes_done: u64| progress(Progress { n_bytes_done, n_bytes: 0 });
        match worker::while_told(hub, 0, &mut told, |_| hub.listing()) {
            Err(error) if !matches!(error, DownloadError::Network { .. }) => tries.pause(error, &mut || told(0))?,
            answer => return answer,
        }
    }
}

/// A download under way.
struct Fetch<'a, 'p> {
    hub: Hub,
    store: Store,
    patience: Patience,
    parallel: Parallel,
    present: Present,
    progress: &'a mut OnProgress<'p>,
    /// Bytes of the files that are done.
    n_before: u64,
    /// Bytes of all files.
    n_bytes: u64,
}

impl Fetch<'_, '_> {
    /// Counts anew, for `files`, after a look at the free disk space.
    fn begin(&mut self, files: &[HubFile]) -> Result<(), DownloadError> {
        let sum = files.iter().try_fold(0_u64, |sum, file| sum.checked_add(file.n_bytes));
        let too_large = || DownloadError::bad_answer(self.hub.endpoint(), "its files are larger than any disk");
        self.n_bytes = sum.ok_or_else(too_large)?;
        self.n_before = 0;
        self.store.check_disk(files)
    }

    /// Makes sure that the blob of `file` is in the store.
    fn file(&mut self, file: &HubFile, commit: &str) -> Result<(), DownloadError> {
        let blob = self.store.blob(file);
        if self.present == Present::Verified && blob.is_there() && !Partial::open(&blob.path, file)?.is_right() {
            tracing::warn!(name = file.name, "what is here is damaged, and is fetched again");
            std::fs::remove_file(&blob.path).map_err(DownloadError::io("remove", &blob.path))?;
        }
        if !blob.is_there() {
            let _lock = blob.lock(&file.name)?;
            if !blob.is_there() {
                if self.parallel.n_connections > 1 && file.n_bytes >= self.parallel.n_bytes_least {
                    self.pieces(&blob.incomplete(), file, commit)?;
                }
                let mut partial = Partial::open(&blob.incomplete(), file)?;
                self.fill(&mut partial, file, commit)?;
                partial.finish(&blob.path)?;
            }
        }
        self.n_before += file.n_bytes;
        self.report(0)
    }

    /// Brings a large file over several connections, if the server sends parts; what it then is, is still to be checked.
    fn pieces(&mut self, partial: &Path, file: &HubFile, commit: &str) -> Result<(), DownloadError> {
        let Parallel { n_connections, n_piece_bytes, .. } = self.parallel;
        if partial.metadata().is_ok_and(|meta| meta.len() == file.n_bytes) {
            return Ok(());
        }
        let pieces = Pieces::open(partial, file, n_piece_bytes)?;
        let (n_before, n_bytes) = (self.n_before, self.n_bytes);
        let progress = &mut *self.progress;
        let mut told = |n: u64| progress(Progress { n_bytes_done: n_before.saturating_add(n), n_bytes });
        let wanted = Wanted { hub: &self.hub, file, commit, patience: self.patience };
        if worker::fill(&wanted, &pieces, n_connections, &mut told)? {
            pieces.into_partial(partial)
        } else {
            pieces.discard()
        }
    }

    /// Brings all bytes that `partial` lacks.
    fn fill(&mut self, partial: &mut Partial, file: &HubFile, commit: &str) -> Result<(), DownloadError> {
        let mut tries = Tries { patience: self.patience, n_failed: 0 };
        self.report(partial.n_bytes())?;
        loop {
            let n_before = partial.n_bytes();
            match self.connection(partial, file, commit) {
                Ok(()) if partial.is_right() => return Ok(()),
                // What an earlier call left may be damaged; a whole download by this one has no such excuse.
                Ok(()) if partial.is_resumed() => partial.restart()?,
                Ok(()) => return Err(partial.discard()),
                Err(error) => {
                    if partial.n_bytes() >= n_before.saturating_add(N_PROGRESS_BYTES) {
                        tries.n_failed = 0;
                    }
                    tries.pause(error, &mut || self.tell(partial.n_bytes()))?;
                }
            }
        }
    }

    /// Takes what one connection gives.
    fn connection(&mut self, partial: &mut Partial, file: &HubFile, commit: &str) -> Result<(), DownloadError> {
        if partial.n_bytes() == file.n_bytes {
            return Ok(());
        }
        let (n_before, n_bytes) = (self.n_before, self.n_bytes);
        let progress = &mut *self.progress;
        let mut told = |n: u64| progress(Progress { n_bytes_done: n_before.saturating_add(n), n_bytes });
        worker::rest(&Wanted { hub: &self.hub, file, commit, patience: self.patience }, partial, &mut told)
    }

    /// Reads a document that is in the store.
    fn document(&self, file: &HubFile) -> Result<Value, DownloadError> {
        let path = self.store.blob(file).path;
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(listing::N_DOCUMENT_BYTES_MAX).read_to_end(&mut bytes));
        read.map_err(DownloadError::io("read", &path))?;
        let damaged = |error| DownloadError::bad_answer(self.hub.endpoint(), format!("`{}`: {error}", file.name));
        serde_json::from_slice(&bytes).map_err(damaged)
    }

    fn tell(&mut self, n_bytes: u64) -> ControlFlow<()> {
        (self.progress)(Progress { n_bytes_done: self.n_before.saturating_add(n_bytes), n_bytes: self.n_bytes })
    }

    fn report(&mut self, n_bytes: u64) -> Result<(), DownloadError> {
        match self.tell(n_bytes) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(DownloadError::Cancelled),
        }
    }
}

/// Failures in a row.
struct Tries {
    patience: Patience,
    n_failed: u32,
}

impl Tries {
    /// Waits before another try, or gives `error` back when there is to be none. `told` is asked meanwhile, and may break
    /// off.
    fn pause(&mut self, error: DownloadError, told: &mut dyn FnMut() -> ControlFlow<()>) -> Result<(), DownloadError> {
        if !error.may_pass() || self.n_failed >= self.patience.n_retries {
            return Err(error);
        }
        tracing::info!(%error, "trying again");
        let asked = match &error {
            DownloadError::Refused { retry_after: Some(asked), .. } => (*asked).min(self.patience.pause_asked_max),
            _ => Duration::ZERO,
        };
        let mut left = self.patience.pause.saturating_mul(1 << self.n_failed.min(6)).max(asked);
        while !left.is_zero() {
            if told().is_break() {
                return Err(DownloadError::Cancelled);
            }
            let part = left.min(worker::LOOK);
            thread::sleep(part);
            left -= part;
        }
        self.n_failed += 1;
        Ok(())
    }
}
