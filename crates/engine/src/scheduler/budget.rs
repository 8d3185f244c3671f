//! Room: one budget of bytes for sequences' own positions, their states, blocks and snapshots.
//!
//! Positions in a block count once, with the block, however many sequences share it. What no sequence uses is evicted
//! when a running sequence needs room; after that, sequences are preempted. The first in the order of
//! [`precedence`] can always grow, so something always finishes.

use super::Scheduler;
use crate::sequence::{Leave, Sequence, Standing};
use crate::{Priority, SequenceId};

impl Scheduler {
    /// Grows a reservation to `n_positions`, preempting others if it must. False when room comes free only later.
    pub(super) fn reserve(&mut self, id: SequenceId, n_positions: usize) -> bool {
        loop {
            let n_growth = self.limits.n_kv_growth;
            let sequence = self.sequence_mut(id);
            let n_reserved = sequence.n_reserved;
            let n_wanted = sequence.reservation(n_positions, n_growth);
            if n_positions <= n_reserved {
                return true;
            }
            for n in [n_wanted, n_positions] {
                if self.make_room(self.token_bytes(n - n_reserved)) {
                    self.sequence_mut(id).n_reserved = n;
                    return true;
                }
            }
            match self.last_running() {
                Some(last) if last == id && self.n_holding() == 1 && self.give_up_path(id) => {}
                Some(last) if !self.has_leaving() => self.preempt(last),
                _ => return false,
            }
            if !self.sequences.get(&id).is_some_and(|s| s.standing == Standing::Running) {
                return false;
            }
        }
    }

    /// Evicts what no sequence uses until `n_bytes` are free. False, and nothing is evicted, when that is not enough.
    pub(super) fn make_room(&mut self, n_bytes: usize) -> bool {
        let n_snapshot = self.info.snapshot_bytes;
        let n_unlocked = self.token_bytes(self.tree.n_unlocked_positions());
        let n_evictable = n_unlocked + self.tree.n_unlocked_snapshots() * n_snapshot;
        let n_missing = self.held_bytes().saturating_add(n_bytes).saturating_sub(self.limits.kv_bytes);
        if n_evictable < n_missing {
            return false;
        }
        let n_kept = self.tree_bytes();
        while n_kept - self.tree_bytes() < n_missing {
            if !self.tree.evict() && !self.tree.evict_snapshot() {
                return false;
            }
        }
        true
    }

    fn tree_bytes(&self) -> usize {
        self.token_bytes(self.tree.n_positions()) + self.tree.n_snapshots() * self.info.snapshot_bytes
    }

    /// Evicts down to the bound on what no running sequence uses.
    pub(super) fn trim_kept(&mut self) {
        let n_kept_max = self.kept_bytes_max();
        while self.unused_bytes() > n_kept_max && (self.tree.evict() || self.tree.evict_snapshot()) {}
    }

    /// Most bytes that may be kept beyond running sequences, now.
    pub(super) fn kept_bytes_max(&self) -> usize {
        self.limits.kept_bytes.min(self.throttle.kept_bytes).min(self.hold.kept_bytes)
    }

    /// Sequences that may hold a cache, now. One always may, so that whoever waits is served.
    pub(super) fn n_places(&self) -> usize {
        self.throttle.n_rows.min(self.hold.n_rows.max(1))
    }

    /// Bytes kept that no running sequence uses.
    pub(super) fn unused_bytes(&self) -> usize {
        let n_snapshots = self.tree.n_unlocked_snapshots();
        self.token_bytes(self.tree.n_unlocked_positions()) + n_snapshots * self.info.snapshot_bytes
    }

    pub(super) fn free_bytes(&self) -> usize {
        self.limits.kv_bytes.saturating_sub(self.held_bytes())
    }

    /// Bytes that count against the budget now.
    pub(super) fn held_bytes(&self) -> usize {
        let n_block = self.limits.n_block;
        let is_holding = |s: &&Sequence| s.standing != Standing::Waiting;
        let holding = self.sequences.values().filter(is_holding);
        let n_own: usize = holding.clone().map(|s| s.n_own(n_block)).sum();
        let n_states = holding.count() + self.n_snapshots();
        self.token_bytes(n_own + self.tree.n_positions()) + n_states * self.info.snapshot_bytes
    }

    /// Snapshots taken and not forgotten.
    pub(super) fn n_snapshots(&self) -> usize {
        let n_loose: usize = self.sequences.values().map(|s| s.holdings.snapshots.len()).sum();
        self.tree.n_snapshots() + n_loose
    }

    pub(super) fn token_bytes(&self, n_tokens: usize) -> usize {
        n_tokens.saturating_mul(self.info.kv_bytes_per_token)
    }

    pub(super) fn respect_throttle(&mut self) {
        let n_running = self.sequences.values().filter(|s| s.standing == Standing::Running).count();
        for _ in self.throttle.n_rows..n_running {
            self.last_running().into_iter().for_each(|last| self.preempt(last));
        }
    }

    /// Takes a sequence's place away; what it has computed stays as long as there is room.
    pub(super) fn preempt(&mut self, id: SequenceId) {
        self.tally.n_preempted += 1;
        self.sequence_mut(id).standing = Standing::Leaving(Leave::Preempted);
        self.settle();
    }

    pub(super) fn has_leaving(&self) -> bool {
        self.sequences.values().any(|s| matches!(s.standing, Standing::Leaving(_)))
    }

    /// The one to preempt.
    pub(super) fn last_running(&self) -> Option<SequenceId> {
        let running = self.sequences.values().filter(|s| s.standing == Standing::Running);
        running.max_by_key(|s| precedence(s)).map(Sequence::id)
    }

    pub(super) fn n_holding(&self) -> usize {
        self.sequences.values().filter(|s| s.standing != Standing::Waiting).count()
    }
}

/// Who keeps its place, smallest first: paused sequences have the least use of it, then background ones, then late ones.
pub(super) fn precedence(sequence: &Sequence) -> (bool, Priority, SequenceId) {
    (sequence.is_paused, sequence.priority, sequence.id())
}
