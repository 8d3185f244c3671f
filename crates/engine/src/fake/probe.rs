//! What a test sees of a fake backend that another thread owns, and how it holds it still.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What a fake backend holds and has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Open sequences.
    pub n_open: usize,
    /// Positions held by open sequences, shared ones counted for each.
    pub n_tokens: usize,
    /// Positions in memory, held by sequences or blocks, shared ones counted once.
    pub n_live: usize,
    /// Most positions ever in memory.
    pub n_live_max: usize,
    /// Blocks kept.
    pub n_blocks: usize,
    /// Snapshots kept.
    pub n_snapshots: usize,
    /// Bytes of positions in memory, of snapshots, and of open sequences' own states.
    pub kv_bytes: usize,
    /// Most such bytes ever.
    pub kv_bytes_max: usize,
    /// Most rows of a step.
    pub n_rows_max: usize,
    /// Most input positions of a step.
    pub n_step_tokens_max: usize,
    /// Input positions of all steps.
    pub n_computed: usize,
    /// Calls of `open` so far.
    pub n_opens: usize,
    /// Calls of `submit` so far.
    pub n_submits: usize,
    /// Calls of `collect` that began so far.
    pub n_collects: usize,
    /// Calls of `collect` that were let through so far; a held one is not.
    pub n_collected: usize,
    /// When the newest of them was.
    pub collected_at: Option<Instant>,
    /// Calls of `keep` so far.
    pub n_keeps: usize,
    /// Calls of `snapshot` so far.
    pub n_snapshot_calls: usize,
    /// Whether the backend was dropped.
    pub is_dropped: bool,
    is_held: bool,
}

/// Shared with a [`FakeBackend`](super::FakeBackend).
#[derive(Debug, Default)]
pub struct Probe {
    seen: Mutex<Seen>,
    changed: Condvar,
}

impl Probe {
    /// The state now.
    pub fn seen(&self) -> Seen {
        *self.lock()
    }

    /// Lets no `collect` return until [`release`](Self::release).
    pub fn hold(&self) {
        self.update(|seen| seen.is_held = true);
    }

    /// Undoes [`hold`](Self::hold).
    pub fn release(&self) {
        self.update(|seen| seen.is_held = false);
    }

    /// Waits until `is_met` holds.
    pub fn wait_until(&self, mut is_met: impl FnMut(&Seen) -> bool) -> Seen {
        let wait = self.changed.wait_while(self.lock(), |seen| !is_met(seen));
        *wait.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn update<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let value = change(&mut self.lock());
        self.changed.notify_all();
        value
    }

    /// Adds one to a count and returns what it was.
    pub(super) fn count(&self, counter: impl FnOnce(&mut Seen) -> &mut usize) -> usize {
        self.update(|seen| {
            let n_calls = counter(seen);
            *n_calls += 1;
            *n_calls - 1
        })
    }

    /// Waits while held.
    pub(super) fn pass(&self) {
        let wait = self.changed.wait_while(self.lock(), |seen| seen.is_held);
        let mut seen = wait.unwrap_or_else(PoisonError::into_inner);
        seen.n_collected += 1;
        seen.collected_at = Some(Instant::now());
        drop(seen);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
