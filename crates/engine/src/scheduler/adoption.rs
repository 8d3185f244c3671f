//! Kept state that comes from elsewhere: for whom it is wanted, and its place in the tree.

use super::Scheduler;
use crate::prefix_tree::Insertion;
use crate::sequence::{Lookup, Sequence, Standing};
use crate::{BlockId, SequenceId, SnapshotId, TokenId};

/// Where kept state ends for a sequence that waits.
#[derive(Debug)]
pub(crate) struct Gap<'a> {
    /// What is worth having, from position 0 on.
    pub tokens: &'a [TokenId],
    /// Full blocks that are kept.
    pub n_path: usize,
    /// Tokens that it could start from now.
    pub n_hit: usize,
}

/// What may make place for adopted state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Nothing.
    Free,
    /// What no sequence uses, coldest first.
    Unused,
}

impl Scheduler {
    /// Waiting sequences that are new here or were preempted since the last call, the oldest first.
    pub(crate) fn take_arrivals(&mut self) -> Vec<SequenceId> {
        let is_new = |s: &&mut Sequence| s.standing == Standing::Waiting && s.lookup == Lookup::Due;
        let arrivals = self.sequences.values_mut().filter(is_new).map(|sequence| {
            sequence.lookup = Lookup::Done;
            sequence.id()
        });
        arrivals.collect()
    }

    /// Where kept state ends for a sequence.
    pub(crate) fn gap(&self, id: SequenceId) -> Gap<'_> {
        let tokens = self.sequences[&id].reusable();
        let n_path = self.tree.find(tokens).n_tokens / self.limits.n_block;
        Gap { tokens, n_path, n_hit: self.hit(id).n_tokens }
    }

    /// Lets a waiting sequence wait until [`release`](Self::release).
    pub(crate) fn hold(&mut self, id: SequenceId) {
        self.sequence_mut(id).lookup = Lookup::Held;
    }

    /// Undoes [`hold`](Self::hold).
    pub(crate) fn release(&mut self, id: SequenceId) {
        if let Some(sequence) = self.sequences.get_mut(&id) {
            sequence.lookup = Lookup::Done;
        }
    }

    /// Whether a sequence still waits for state from elsewhere.
    pub(crate) fn is_held(&self, id: SequenceId) -> bool {
        let is_held = |s: &Sequence| s.standing == Standing::Waiting && s.lookup == Lookup::Held;
        self.sequences.get(&id).is_some_and(is_held)
    }

    /// Adds a block that the backend is about to import, after the path to `parent`. `None` when `parent` is gone or there
    /// is no room.
    pub(crate) fn adopt_block(&mut self, parent: Option<BlockId>, tokens: &[TokenId], room: Room) -> Option<Insertion> {
        let is_block = !tokens.is_empty() && tokens.len() <= self.limits.n_block;
        let has_room = is_block && self.has_adoption_room(parent, self.token_bytes(tokens.len()), room);
        has_room.then(|| self.tree.insert(parent, tokens))
    }

    /// A name for a snapshot that the backend is about to import; [`file_snapshot`](Self::file_snapshot) follows. `None` when
    /// there is no room.
    pub(crate) fn adopt_snapshot(&mut self, parent: Option<BlockId>, room: Room) -> Option<SnapshotId> {
        self.has_adoption_room(parent, self.info.snapshot_bytes, room).then(|| self.tree.next_snapshot())
    }

    /// The backend holds an adopted snapshot: files it after the path to `parent`, `tokens` further on.
    pub(crate) fn file_snapshot(&mut self, id: SnapshotId, parent: Option<BlockId>, tokens: &[TokenId]) {
        self.tree.attach(id, parent, tokens);
    }

    /// The backend did not take an adopted block.
    pub(crate) fn block_refused(&mut self, id: BlockId) {
        self.tree.remove_subtree(id);
    }

    /// Every chain of kept blocks with its positions, those adopted first first.
    pub(crate) fn chains(&self) -> Vec<(Vec<BlockId>, usize)> {
        self.tree.leaf_paths()
    }

    /// Whether a block is still indexed.
    pub(crate) fn is_kept(&self, id: BlockId) -> bool {
        self.tree.contains(id)
    }

    fn has_adoption_room(&mut self, parent: Option<BlockId>, n_bytes: usize, room: Room) -> bool {
        if parent.is_some_and(|parent| !self.tree.contains(parent)) {
            return false;
        }
        // What is adopted must not go for what is adopted next.
        parent.into_iter().for_each(|parent| self.tree.freshen(parent));
        let n_kept_max = self.kept_bytes_max();
        let has_room = match room {
            Room::Free => self.unused_bytes().saturating_add(n_bytes) <= n_kept_max && n_bytes <= self.free_bytes(),
            Room::Unused => n_bytes <= n_kept_max && self.make_room(n_bytes),
        };
        has_room && parent.is_none_or(|parent| self.tree.contains(parent))
    }
}
