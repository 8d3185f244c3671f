//! The threads: one writes behind and evicts, others read ahead.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use super::index::{Index, Place};
use super::key::ChainKey;
use super::store::{Access, IdleSegment, Record, Store, read};
use super::{N_FETCHED_MAX, Shared, Standing, State};

/// A loss of power loses at most what was written since.
const SYNC_EVERY: Duration = Duration::from_millis(500);

/// How often the files learn when they were last of use.
const SAVE_USED_EVERY: Duration = Duration::from_secs(30);

/// Reading and checking keep one core busy each.
const N_READERS: usize = 2;

/// Starts the threads. Those that the system refuses are missing; without a reader nothing is fetched.
pub(super) fn start(store: Store, shared: &Arc<Shared>) -> Vec<JoinHandle<()>> {
    let mut threads = Vec::new();
    let mut start = |name: &str, body: Box<dyn FnOnce() + Send>| match Builder::new().name(name.to_owned()).spawn(body)
    {
        Ok(thread) => threads.push(thread),
        Err(error) => tracing::warn!(%error, "no thread for the KV cache on disk"),
    };
    for _ in 0..N_READERS {
        let shared = Arc::clone(shared);
        start("tier-read", Box::new(move || read_all(&shared)));
    }
    if store.access() == Access::Write {
        let n_idle = store.idle_segments().iter().map(|segment| segment.n_bytes).sum();
        let shared = Arc::clone(shared);
        let writer = Writer { shared, store, unsynced: None, used_saved: Instant::now(), n_idle };
        start("tier-write", Box::new(move || writer.run()));
    }
    threads
}

struct Writer {
    shared: Arc<Shared>,
    store: Store,
    /// Since when something is written and not yet synced.
    unsynced: Option<Instant>,
    used_saved: Instant,
    /// Bytes of other models' segments when last looked.
    n_idle: u64,
}

enum Job {
    Write(Arc<Record>),
    Tidy,
    Stop,
}

impl Writer {
    /// Works until told to stop and nothing waits any more.
    fn run(mut self) {
        loop {
            let job = self.next_job();
            let result = match &job {
                Job::Write(record) => self.write(record),
                Job::Tidy => self.tidy(),
                Job::Stop => self.store.sync().and_then(|()| self.save_used()),
            };
            if let Err(error) = result {
                self.failed(&error);
            }
            match job {
                Job::Stop => return,
                Job::Write(record) => {
                    self.shared.lock().forget_waiting(record.header.key);
                    // There is room again.
                    (self.shared.wake)();
                }
                Job::Tidy => {}
            }
        }
    }

    fn next_job(&mut self) -> Job {
        let mut state = self.shared.lock();
        loop {
            let is_due = self.unsynced.is_some_and(|since| since.elapsed() >= SYNC_EVERY);
            if is_due || self.used_saved.elapsed() >= SAVE_USED_EVERY {
                return Job::Tidy;
            }
            if let Some(key) = state.writes.pop_front() {
                match state.waiting.get(&key) {
                    Some(record) => return Job::Write(Arc::clone(record)),
                    None => continue,
                }
            }
            if state.is_stopped {
                return Job::Stop;
            }
            let patience = if self.unsynced.is_some() { SYNC_EVERY } else { SAVE_USED_EVERY };
            let waited = self.shared.to_writer.wait_timeout(state, patience);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        self.make_room(record.header.n_header() + record.payload.len() as u64)?;
        let place = self.store.append(record)?;
        self.unsynced.get_or_insert_with(Instant::now);
        let mut state = self.shared.lock();
        state.standing = Standing::On;
        state.stats.n_written += 1;
        self.grow(&mut state.index, place);
        state.index.settle(record.header.key, place);
        Ok(())
    }

    fn grow(&self, index: &mut Index, place: Place) {
        let n_bytes = self.store.open_segment().map_or(0, |(_, n_bytes)| n_bytes);
        index.set_segment(place.segment, n_bytes, SystemTime::now());
    }

    fn tidy(&mut self) -> io::Result<()> {
        if self.unsynced.take().is_some() {
            self.store.sync()?;
        }
        if self.used_saved.elapsed() >= SAVE_USED_EVERY {
            self.save_used()?;
        }
        Ok(())
    }

    fn save_used(&mut self) -> io::Result<()> {
        self.n_idle = self.store.idle_segments().iter().map(|segment| segment.n_bytes).sum();
        self.used_saved = Instant::now();
        let unsaved = self.shared.lock().index.take_unsaved();
        self.store.save_used(&unsaved)
    }

    /// Evicts the segments that were of use the longest ago, of this model and of idle ones, until `n_more` bytes fit.
    fn make_room(&mut self, n_more: u64) -> io::Result<()> {
        let n_own = self.shared.lock().index.n_bytes();
        if self.store.n_excess(n_own + self.n_idle, n_more)? == 0 {
            return Ok(());
        }
        let idle = self.store.idle_segments();
        self.n_idle = idle.iter().map(|segment| segment.n_bytes).sum();
        let mut n_excess = self.store.n_excess(n_own + self.n_idle, n_more)?;
        let open = self.store.open_segment().map(|(id, _)| id);
        let victims = victims(&self.shared.lock().index, idle, open);
        for victim in victims {
            if n_excess == 0 {
                break;
            }
            let n_bytes = self.evict(&victim)?;
            n_excess = n_excess.saturating_sub(n_bytes);
        }
        if n_excess == 0 {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::StorageFull, "the size cap or the free space leaves no room"))
    }

    fn evict(&mut self, victim: &Victim) -> io::Result<u64> {
        match victim {
            Victim::Own(id, n_bytes) => {
                let n_evicted = self.shared.lock().index.remove_segment(*id);
                self.shared.lock().stats.n_evicted += n_evicted as u64;
                self.store.remove_segment(*id)?;
                Ok(*n_bytes)
            }
            Victim::Idle(path, n_bytes) => match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => {
                    self.n_idle = self.n_idle.saturating_sub(*n_bytes);
                    Ok(*n_bytes)
                }
            },
        }
    }

    /// Stops writing for a while. Says so once.
    fn failed(&mut self, error: &io::Error) {
        self.unsynced = None;
        let mut state = self.shared.lock();
        if state.stats.n_errors == 0 {
            let dir = self.store.dir().display();
            tracing::warn!("the KV cache on disk is off for now, as {dir} cannot be written: {error}");
        }
        state.stats.n_errors += 1;
        state.standing = Standing::Failed(Instant::now());
        state.writes.clear();
        let waiting: Vec<_> = state.waiting.keys().copied().collect();
        state.stats.n_dropped += waiting.len() as u64;
        for key in waiting {
            state.forget_waiting(key);
            state.index.remove(key);
        }
    }
}

/// A segment that may go, with its bytes.
enum Victim {
    Own(u64, u64),
    Idle(PathBuf, u64),
}

/// All but the one that grows. Coldest first; of equally cold ones the newest, as chains begin in older ones.
fn victims(index: &Index, idle: Vec<IdleSegment>, open: Option<u64>) -> Vec<Victim> {
    let own = index.segments().filter(|(id, _)| Some(*id) != open);
    let own = own.map(|(id, segment)| (segment.used, u64::MAX - id, Victim::Own(id, segment.n_bytes)));
    let idle = idle.into_iter().map(|segment| (segment.used, 0, Victim::Idle(segment.path, segment.n_bytes)));
    let mut all: Vec<_> = own.chain(idle).collect();
    all.sort_by_key(|(used, rank, _)| (*used, *rank));
    all.into_iter().map(|(_, _, victim)| victim).collect()
}

/// Reads what is asked for until told to stop.
fn read_all(shared: &Shared) {
    while let Some(key) = next_read(shared) {
        let payload = fetch(shared, key);
        let mut state = shared.lock();
        state.n_fetched_bytes += payload.as_ref().map_or(0, Vec::len);
        state.stats.n_read += u64::from(payload.is_some());
        state.fetched.push((key, payload));
        drop(state);
        (shared.wake)();
    }
}

fn next_read(shared: &Shared) -> Option<ChainKey> {
    let mut state = shared.lock();
    loop {
        if state.is_stopped {
            return None;
        }
        if state.n_fetched_bytes < N_FETCHED_MAX
            && let Some(key) = state.reads.pop_front()
        {
            return Some(key);
        }
        state = shared.to_readers.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

/// A payload from the queue or the disk. A record that is not sound is forgotten and counted.
fn fetch(shared: &Shared, key: ChainKey) -> Option<Vec<u8>> {
    let state = shared.lock();
    if let Some(record) = state.waiting.get(&key) {
        return Some(record.payload.clone());
    }
    let entry = state.index.get(key)?.clone();
    drop(state);
    match read(&shared.dir, key, &entry) {
        Ok(payload) => Some(payload),
        Err(error) => {
            tracing::debug!(%error, "a record of the KV cache on disk was not read");
            count_unread(&mut shared.lock(), key, &error);
            None
        }
    }
}

fn count_unread(state: &mut State, key: ChainKey, error: &io::Error) {
    state.index.remove(key);
    match error.kind() {
        io::ErrorKind::InvalidData => state.stats.flaws.n_corrupt += 1,
        io::ErrorKind::UnexpectedEof => state.stats.flaws.n_truncated += 1,
        // Evicted meanwhile, by this process or by the one that writes.
        io::ErrorKind::NotFound => {}
        _ => state.stats.n_errors += 1,
    }
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
