//! What is kept of sequences: full blocks as they are computed, the rest when a sequence leaves, and snapshots.

use super::Scheduler;
use crate::plan::{Chore, Keep};
use crate::prefix_tree::Insertion;
use crate::sequence::{Keeping, Locks, PathBlock};
use crate::{Kept, SequenceId, SnapshotId};

/// Most snapshots along one path.
const N_SNAPSHOTS_MAX: usize = 8;

impl Scheduler {
    /// Keeps the blocks that a sequence has filled since the last time.
    pub(super) fn keep_blocks(&mut self, id: SequenceId) {
        let n_block = self.limits.n_block;
        let Some(sequence) = self.sequences.get(&id) else { return };
        if sequence.holdings.keeping != Keeping::Running {
            return;
        }
        let n_full = sequence.n_keepable() / n_block;
        for idx in sequence.holdings.path().len()..n_full {
            let block = self.keep_block(id, idx * n_block, (idx + 1) * n_block);
            let (PathBlock::Shared(locked) | PathBlock::Twin(locked)) = block;
            self.tree.lock(&[locked]);
            self.sequence_mut(id).holdings.push(block);
        }
        self.attach_snapshots(id);
    }

    /// Keeps the positions from `start` to `end` as one block, unless they are kept already.
    fn keep_block(&mut self, id: SequenceId, start: usize, end: usize) -> PathBlock {
        let sequence = &self.sequences[&id];
        let parent = sequence.holdings.path().last().copied();
        match self.tree.insert(parent, &sequence.tokens()[start..end]) {
            Insertion::New(block) => {
                self.next.indexed.extend(self.tree.link(block).map(|link| (Kept::Block(block), link)));
                self.forget_dropped();
                self.next.chores.push(Chore::Keep(Keep::Block { id, block, positions: start..end }));
                PathBlock::Shared(block)
            }
            Insertion::Held(block) => PathBlock::Twin(block),
        }
    }

    /// Keeps what follows a sequence's last full block, for others that begin alike.
    pub(super) fn keep_tail(&mut self, id: SequenceId) {
        let sequence = &self.sequences[&id];
        let start = sequence.holdings.path().len() * self.limits.n_block;
        let end = sequence.n_keepable();
        let has_tail = sequence.holdings.keeping == Keeping::Running && end > start;
        if has_tail && self.make_room(self.token_bytes(end - start)) {
            self.keep_block(id, start, end);
        }
    }

    /// Keeps everything that a leaving sequence has computed, and gives its locks back. No row of it is in flight.
    pub(super) fn let_go(&mut self, id: SequenceId) {
        let n_block = self.limits.n_block;
        let sequence = self.sequence_mut(id);
        sequence.n_reserved = sequence.n_reserved.min(sequence.n_computed);
        let n_keepable = sequence.n_keepable();
        let is_at_end = n_keepable > 0 && n_keepable == sequence.n_computed;
        if n_keepable > 0 && sequence.holdings.keeping != Keeping::Never {
            sequence.holdings.keeping = Keeping::Running;
            self.keep_blocks(id);
            if is_at_end && self.info.snapshot_bytes > 0 {
                self.keep_state(id);
            }
            // The tail's positions pass from the sequence to the tree.
            self.sequence_mut(id).n_reserved = 0;
            self.keep_tail(id);
            self.attach_snapshots(id);
        }
        let sequence = self.sequence_mut(id);
        sequence.n_reserved = 0;
        let loose = std::mem::take(&mut sequence.holdings.snapshots);
        let locks = sequence.holdings.release(n_block);
        self.forget_loose(&loose);
        self.unlock(locks);
    }

    /// Lets all kept state go, once every sequence is gone.
    pub(crate) fn forget_all(&mut self) -> Vec<Kept> {
        self.tree.clear();
        self.tree.take_dropped()
    }

    /// Gives locks back.
    pub(super) fn unlock(&mut self, locks: Locks) {
        self.tree.unlock(&locks.blocks);
        locks.snapshot.into_iter().for_each(|snapshot| self.tree.unlock_snapshot(snapshot));
    }

    /// Counts all positions of a sequence as its own, so that its blocks can be evicted, and lets its loose snapshots go.
    /// False when that was done before.
    pub(super) fn give_up_path(&mut self, id: SequenceId) -> bool {
        let n_block = self.limits.n_block;
        let sequence = self.sequence_mut(id);
        debug_assert!(sequence.is_open, "{id:?} has yet to start from its path");
        let holdings = &mut sequence.holdings;
        if holdings.keeping == Keeping::Leaving {
            return false;
        }
        if holdings.keeping == Keeping::Running {
            holdings.keeping = Keeping::Leaving;
        }
        let locks = holdings.release(n_block);
        let loose = std::mem::take(&mut holdings.snapshots);
        let is_some = !locks.blocks.is_empty() || !loose.is_empty();
        self.forget_loose(&loose);
        self.unlock(locks);
        is_some
    }

    fn forget_loose(&mut self, snapshots: &[(usize, SnapshotId)]) {
        self.next.chores.extend(snapshots.iter().map(|(_, id)| Chore::Forget(Kept::Snapshot(*id))));
    }

    /// Has the backend forget what is no longer indexed, before anything else is kept in its room.
    pub(super) fn forget_dropped(&mut self) {
        self.next.chores.extend(self.tree.take_dropped().into_iter().map(Chore::Forget));
    }

    /// Positions until a chunk of a sequence has to end, as a snapshot is taken there.
    pub(super) fn n_to_cut(&self, id: SequenceId) -> usize {
        match self.info.snapshot_bytes {
            0 => usize::MAX,
            _ => self.sequences[&id].n_to_cut(self.limits.n_snapshot_gap),
        }
    }

    /// Takes a snapshot at the end of a sequence's newest row, if it is a place for one and there is room.
    pub(super) fn plan_snapshot(&mut self, id: SequenceId) -> Option<SnapshotId> {
        let sequence = &self.sequences[&id];
        let is_wanted = self.info.snapshot_bytes > 0 && sequence.is_at_cut(self.limits.n_snapshot_gap);
        if !is_wanted || sequence.holdings.keeping != Keeping::Running || !self.make_room(self.info.snapshot_bytes) {
            return None;
        }
        let snapshot = self.new_snapshot(id);
        self.next.snapshots.push((id, snapshot));
        Some(snapshot)
    }

    /// Keeps the state of a sequence that leaves.
    fn keep_state(&mut self, id: SequenceId) {
        if self.make_room(self.info.snapshot_bytes) {
            let snapshot = self.new_snapshot(id);
            self.forget_dropped();
            self.next.chores.push(Chore::Keep(Keep::Snapshot { id, snapshot }));
        }
    }

    fn new_snapshot(&mut self, id: SequenceId) -> SnapshotId {
        let snapshot = self.tree.next_snapshot();
        let sequence = self.sequence_mut(id);
        sequence.holdings.snapshots.push((sequence.n_computed, snapshot));
        self.tally.n_snapshots += 1;
        snapshot
    }

    /// Files the snapshots of a sequence that kept blocks cover by now.
    pub(super) fn attach_snapshots(&mut self, id: SequenceId) {
        let n_block = self.limits.n_block;
        let sequence = &self.sequences[&id];
        let path = sequence.holdings.path().to_vec();
        let n_confirmed = sequence.n_keepable();
        let tokens = sequence.tokens()[..n_confirmed].to_vec();
        let mut loose = Vec::new();
        let snapshots = std::mem::take(&mut self.sequence_mut(id).holdings.snapshots);
        for (at, snapshot) in snapshots {
            let idx = (at - 1) / n_block;
            let parent = idx.checked_sub(1).map(|before| path.get(before).copied());
            let is_placed = at <= n_confirmed && parent != Some(None);
            if is_placed && self.tree.is_covered(parent.flatten(), &tokens[idx * n_block..at]) {
                self.tree.attach(snapshot, parent.flatten(), &tokens[idx * n_block..at]);
                let link = self.tree.snapshot_link(snapshot);
                self.next.indexed.extend(link.map(|link| (Kept::Snapshot(snapshot), link)));
                self.tree.thin(&path, &tokens, N_SNAPSHOTS_MAX);
            } else {
                loose.push((at, snapshot));
            }
        }
        self.sequence_mut(id).holdings.snapshots = loose;
    }
}
