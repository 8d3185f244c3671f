//! Kept state on disk: what outlives the memory budget and the process.
//!
//! Knows bytes, files and chains of tokens as names. Must not know tensors, what tokens mean, or the schedule. One thread
//! writes behind, others read ahead; the caller never waits for a disk. Whatever goes wrong here costs computing again,
//! never a request.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

mod archive;
mod index;
mod key;
mod media;
mod record;
mod scan;
mod stats;
mod store;
mod worker;

pub use archive::{ArchiveError, ModelSummary, Transfer, clear, export, import, summaries};
pub use key::{ChainKey, Fingerprint, Kind};
pub use scan::Flaws;
pub use stats::TierStats;

use index::{Index, Place, QUEUED};
use media::{Media, RealMedia, Space};
use record::Header;
use store::{Access, Bounds, Opened, Record, Store};

use crate::TokenId;

/// Most bytes read and not yet taken.
const N_FETCHED_MAX: usize = 256 << 20;

/// Most reads that wait.
const N_READS_MAX: usize = 4096;

/// After an error the disk is tried again when this has passed: it may have room by then.
const RETRY_AFTER: Duration = Duration::from_secs(300);

/// The share of a disk that stays free when nothing else is said, and the most that this comes to in bytes.
const FREE_SHARE: u64 = 20;
const N_FREE_DEFAULT: u64 = 5 << 30;

/// The most that the size cap is when nothing else is said.
const N_BYTES_DEFAULT: u64 = 32 << 30;

/// Where and how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierOptions {
    /// Folder of all models' records.
    pub dir: PathBuf,
    /// The model's name, for people.
    pub label: String,
    /// Most bytes in `dir`.
    pub n_bytes_max: u64,
    /// Bytes of the disk that stay free; `None` = 5 GiB, or a twentieth of a smaller disk.
    pub n_free_min: Option<u64>,
    /// Most bytes that wait to be written; beyond it the oldest are dropped.
    pub n_queue_max: usize,
}

impl TierOptions {
    /// The usual bounds.
    pub fn new(dir: PathBuf, label: String, n_bytes_max: u64) -> Self {
        Self { dir, label, n_bytes_max, n_free_min: None, n_queue_max: 256 << 20 }
    }

    /// With a size cap of a tenth of the disk, at most 32 GiB.
    pub fn with_usual_size(dir: PathBuf, label: String) -> Self {
        let n_bytes_max = space(&dir).map_or(N_BYTES_DEFAULT, |space| (space.n_total / 10).min(N_BYTES_DEFAULT));
        Self::new(dir, label, n_bytes_max)
    }

    fn bounds(&self) -> Bounds {
        let n_free_min = self.n_free_min.unwrap_or_else(|| default_reserve(&self.dir));
        Bounds { n_bytes_max: self.n_bytes_max, n_free_min }
    }
}

/// What one record holds and where it stands in its chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The record's name.
    pub key: ChainKey,
    /// What the payload is.
    pub kind: Kind,
    /// The record before it.
    pub parent: ChainKey,
    /// Position of the first token.
    pub start: usize,
    /// The tokens it covers.
    pub tokens: Arc<[TokenId]>,
}

/// A payload that was asked for, or `None` when there is no sound one.
pub type Fetched = (ChainKey, Option<Vec<u8>>);

/// A model's records. Dropping it writes what waits and joins the threads.
pub struct Tier {
    shared: Arc<Shared>,
    fingerprint: Fingerprint,
    n_queue_max: usize,
    threads: Vec<JoinHandle<()>>,
}

/// What the handle and the threads share.
struct Shared {
    dir: PathBuf,
    state: Mutex<State>,
    /// Something to write, or a stop.
    to_writer: Condvar,
    /// Something to read, room for it, or a stop.
    to_readers: Condvar,
    /// Tells the owner that a payload is there, or that there is room to write.
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct State {
    index: Index,
    /// Oldest first; all are in `waiting` too.
    writes: VecDeque<ChainKey>,
    waiting: HashMap<ChainKey, Arc<Record>>,
    n_waiting_bytes: usize,
    reads: VecDeque<ChainKey>,
    /// Asked for and not yet taken.
    wanted: HashSet<ChainKey>,
    fetched: Vec<Fetched>,
    n_fetched_bytes: usize,
    stats: TierStats,
    standing: Standing,
    is_stopped: bool,
}

/// Whether records are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Standing {
    On,
    /// Another process writes, or there is no folder.
    #[default]
    Off,
    /// The disk failed then.
    Failed(Instant),
}

impl Tier {
    /// Opens the records of the model with this fingerprint. Never fails: without a usable folder it holds nothing, says
    /// so once, and counts it. `wake` is called from other threads when [`take_fetched`](Self::take_fetched) has something.
    pub fn start(options: &TierOptions, fingerprint: &str, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let fingerprint = Fingerprint::of(fingerprint);
        let opened = Store::open(&options.dir, fingerprint, &options.label, options.bounds());
        Self::with_store(opened, (fingerprint, options), Box::new(wake))
    }

    fn with_store(
        opened: std::io::Result<Opened>,
        (fingerprint, options): (Fingerprint, &TierOptions),
        wake: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        let mut state = State::default();
        let store = match opened {
            Ok(Opened { store, index, flaws }) => {
                (state.index, state.stats.flaws) = (index, flaws);
                state.standing = said_access(&store);
                Some(store)
            }
            Err(error) => {
                tracing::warn!("no KV cache on disk, as {} cannot be used: {error}", options.dir.display());
                state.stats.n_errors += 1;
                None
            }
        };
        let dir = store.as_ref().map_or_else(|| options.dir.clone(), |store| store.dir().to_owned());
        let (state, to_writer, to_readers) = (Mutex::new(state), Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { dir, state, to_writer, to_readers, wake });
        let threads = store.map_or_else(Vec::new, |store| worker::start(store, &shared));
        Self { shared, fingerprint, n_queue_max: options.n_queue_max, threads }
    }

    /// Whether the record is there or about to be written.
    pub fn has(&self, key: ChainKey) -> bool {
        self.shared.lock().index.get(key).is_some()
    }

    /// Whether records are taken now.
    pub fn is_writing(&self) -> bool {
        self.shared.lock().is_writing()
    }

    /// Whether another record can be queued without dropping one, unless it is unusually long.
    pub fn has_room(&self) -> bool {
        let state = self.shared.lock();
        state.is_writing() && state.n_waiting_bytes <= self.n_queue_max / 2
    }

    /// Does not offer a record any more, as what it holds turned out to be of no use.
    pub fn forget(&self, key: ChainKey) {
        self.shared.lock().index.remove(key);
    }

    /// Queues a record to be written; one that is there already is left. Under pressure the oldest that wait are dropped.
    pub fn put(&self, link: &Link, payload: Vec<u8>) {
        let tokens = link.tokens.to_vec();
        let header = Header::new(link.kind, self.fingerprint, (link.parent, link.start as u64), tokens);
        let mut state = self.shared.lock();
        if !state.is_writing() {
            return;
        }
        let place = Place { segment: QUEUED, offset: 0 };
        let listed = Header { n_payload: payload.len() as u64, ..header.clone() };
        if !state.index.insert(listed, place) {
            return;
        }
        state.n_waiting_bytes += payload.len();
        state.writes.push_back(header.key);
        state.waiting.insert(header.key, Arc::new(Record { header, payload }));
        while state.n_waiting_bytes > self.n_queue_max && state.writes.len() > 1 {
            state.drop_oldest();
        }
        self.shared.to_writer.notify_one();
    }

    /// The block after `parent` that shares the most tokens with `tokens` from the start, and how many; at least one.
    pub fn block_after(&self, parent: ChainKey, tokens: &[TokenId]) -> Option<(ChainKey, usize)> {
        self.shared.lock().index.next(parent, Kind::Block, tokens)
    }

    /// The snapshot that follows `parent` with the most of `tokens`, and with how many.
    pub fn snapshot_after(&self, parent: ChainKey, tokens: &[TokenId]) -> Option<(ChainKey, usize)> {
        self.shared.lock().index.snapshot(parent, tokens)
    }

    /// What is known of a record.
    pub fn link(&self, key: ChainKey) -> Option<Link> {
        self.shared.lock().link(key)
    }

    /// The most recently used chains, parents first, in at most `n_bytes` of payload.
    pub fn hottest(&self, n_bytes: u64) -> Vec<Link> {
        let state = self.shared.lock();
        state.index.hottest(n_bytes).into_iter().filter_map(|key| state.link(key)).collect()
    }

    /// Marks records as of use, so that others go first.
    pub fn touch(&self, keys: &[ChainKey]) {
        self.shared.lock().index.touch(keys, SystemTime::now());
    }

    /// Asks for payloads; each comes once by [`take_fetched`](Self::take_fetched), in any order. False when too many
    /// are waiting already, and none was taken on.
    pub fn fetch(&self, keys: &[ChainKey]) -> bool {
        let mut state = self.shared.lock();
        if self.threads.is_empty() || state.reads.len() + keys.len() > N_READS_MAX {
            return false;
        }
        for key in keys {
            if state.wanted.insert(*key) {
                state.reads.push_back(*key);
            }
        }
        self.shared.to_readers.notify_all();
        true
    }

    /// Whether a payload was asked for and has yet to be taken.
    pub fn is_coming(&self, key: ChainKey) -> bool {
        self.shared.lock().wanted.contains(&key)
    }

    /// Payloads that have come since the last call.
    pub fn take_fetched(&self) -> Vec<Fetched> {
        let mut state = self.shared.lock();
        let fetched = std::mem::take(&mut state.fetched);
        state.n_fetched_bytes = 0;
        for (key, _) in &fetched {
            state.wanted.remove(key);
        }
        self.shared.to_readers.notify_all();
        fetched
    }

    /// What there is and what happened.
    pub fn stats(&self) -> TierStats {
        self.shared.lock().stats()
    }
}

impl Drop for Tier {
    fn drop(&mut self) {
        self.shared.lock().is_stopped = true;
        self.shared.to_writer.notify_all();
        self.shared.to_readers.notify_all();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the KV cache on disk panicked");
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether records are taken. After a failure that is some time ago they are again.
    fn is_writing(&self) -> bool {
        match self.standing {
            Standing::On => true,
            Standing::Off => false,
            Standing::Failed(since) => since.elapsed() >= RETRY_AFTER,
        }
    }

    /// Gives up a record that waits, as there is no room for newer ones.
    fn drop_oldest(&mut self) {
        if let Some(key) = self.writes.pop_front() {
            self.forget_waiting(key);
            self.index.remove(key);
            self.stats.n_dropped += 1;
        }
    }

    fn forget_waiting(&mut self, key: ChainKey) {
        if let Some(record) = self.waiting.remove(&key) {
            self.n_waiting_bytes -= record.payload.len();
        }
    }

    fn link(&self, key: ChainKey) -> Option<Link> {
        let entry = self.index.get(key)?;
        let tokens = Arc::clone(&entry.tokens);
        Some(Link { key, kind: entry.kind, parent: entry.parent, start: usize::try_from(entry.start).ok()?, tokens })
    }

    fn stats(&self) -> TierStats {
        TierStats {
            is_writing: self.is_writing(),
            n_blocks: self.index.count(Kind::Block),
            n_snapshots: self.index.count(Kind::Snapshot),
            n_bytes: self.index.n_bytes(),
            n_waiting_bytes: self.n_waiting_bytes as u64,
            ..self.stats
        }
    }
}

fn said_access(store: &Store) -> Standing {
    match store.access() {
        Access::Write => Standing::On,
        Access::Read => {
            tracing::warn!(
                "another process writes to the KV cache in {}: this one only reads what is there now",
                store.dir().display()
            );
            Standing::Off
        }
    }
}

/// Bytes of a disk that stay free unless the settings say otherwise.
fn default_reserve(dir: &Path) -> u64 {
    space(dir).map_or(N_FREE_DEFAULT, |space| (space.n_total / FREE_SHARE).min(N_FREE_DEFAULT))
}

/// Of the disk where a folder is or is to be.
fn space(dir: &Path) -> Option<Space> {
    dir.ancestors()
        .map(|dir| if dir.as_os_str().is_empty() { Path::new(".") } else { dir })
        .find_map(|dir| RealMedia.space(dir).ok())
}

#[cfg(test)]
#[path = "tier_tests.rs"]
mod tests;
