//! What a sequence has to do with kept state: where it starts, which blocks of its path are kept, which snapshots it took.

use crate::prefix_tree::Hit;
use crate::{BlockId, Prefix, SnapshotId};

/// Fewer positions than this are not worth a snapshot of their own.
const N_CUT_GAP_MIN: usize = 16;

/// Message ends at which snapshots are taken, the last ones of the prompt.
const N_BOUNDARIES_MAX: usize = 4;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    /// Locked full blocks that hold its tokens from the start on.
    path: Vec<BlockId>,
    /// Of each block of the path, whether it has the block's storage; otherwise it holds the same positions once more.
    is_shared: Vec<bool>,
    n_shared: usize,
    /// What it is opened with; locked until then.
    start: Hit,
    /// Snapshots of it that no kept block covers yet, ascending by position.
    pub snapshots: Vec<(usize, SnapshotId)>,
    pub keeping: Keeping,
}

/// Whether blocks of a sequence are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// As they fill.
    #[default]
    Running,
    /// When it leaves: its path was given up for room.
    Leaving,
    /// No more: the backend refused.
    Never,
}

impl Holdings {
    /// Starts from a hit, whose blocks and snapshot are locked.
    pub(crate) fn begin(&mut self, hit: Hit, n_block: usize) {
        self.path = hit.blocks[..hit.n_tokens / n_block].to_vec();
        self.is_shared = vec![true; self.path.len()];
        self.n_shared = self.path.len();
        self.start = hit;
    }

    /// What the backend opens the sequence with.
    pub(crate) fn prefix(&self) -> Prefix<'_> {
        Prefix { blocks: &self.start.blocks, n_tokens: self.start.n_tokens, snapshot: self.start.snapshot }
    }

    /// The sequence is open: gives the locks back that it no longer needs.
    pub(crate) fn opened(&mut self, n_block: usize) -> Locks {
        let mut start = std::mem::take(&mut self.start);
        let blocks = start.blocks.split_off(start.n_tokens / n_block);
        Locks { blocks, snapshot: start.snapshot }
    }

    /// Gives all locks back.
    pub(crate) fn release(&mut self, n_block: usize) -> Locks {
        let mut locks = self.opened(n_block);
        locks.blocks.append(&mut self.path);
        self.is_shared.clear();
        self.n_shared = 0;
        locks
    }

    /// Whether it was to start from one of `blocks`.
    pub(crate) fn starts_from(&self, blocks: &[BlockId]) -> bool {
        self.start.blocks.iter().any(|id| blocks.contains(id))
    }

    /// Whether it was to start from a snapshot.
    pub(crate) fn starts_at(&self, snapshot: SnapshotId) -> bool {
        self.start.snapshot == Some(snapshot)
    }

    /// Blocks whose storage it shares.
    pub(crate) fn n_shared(&self) -> usize {
        self.n_shared
    }

    /// Locked full blocks that hold its tokens from the start on.
    pub(crate) fn path(&self) -> &[BlockId] {
        &self.path
    }

    /// Adds a locked block to the path: one that shares its storage with the sequence, or one with the same tokens.
    pub(crate) fn push(&mut self, block: PathBlock) {
        let (id, is_shared) = match block {
            PathBlock::Shared(id) => (id, true),
            PathBlock::Twin(id) => (id, false),
        };
        self.path.push(id);
        self.is_shared.push(is_shared);
        self.n_shared += usize::from(is_shared);
    }

    /// Cuts `removed` blocks, which are not locked any more, off the path, and keeps nothing further.
    pub(crate) fn cut_off(&mut self, removed: &[BlockId]) {
        if let Some(first) = self.path.iter().position(|id| removed.contains(id)) {
            self.path.truncate(first);
            self.is_shared.truncate(first);
            self.n_shared = self.is_shared.iter().filter(|is_shared| **is_shared).count();
            self.keeping = Keeping::Never;
        }
    }
}

/// A full block of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathBlock {
    /// Has the sequence's storage.
    Shared(BlockId),
    /// Holds the same tokens in storage of its own.
    Twin(BlockId),
}

/// Locks on kept state that are given back.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    pub blocks: Vec<BlockId>,
    pub snapshot: Option<SnapshotId>,
}

/// Positions at which a prompt is worth a snapshot: where messages end, and just before its end, where the same prompt
/// resumes. Ascending, and not too close to one another.
pub(crate) fn cuts(boundaries: &[usize], n_prompt: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = (n_prompt > 1).then_some(n_prompt - 1).into_iter().collect();
    for boundary in boundaries.iter().rev() {
        let next = cuts.last().copied().unwrap_or(n_prompt);
        if *boundary >= N_CUT_GAP_MIN && boundary + N_CUT_GAP_MIN <= next && cuts.len() <= N_BOUNDARIES_MAX {
            cuts.push(*boundary);
        }
    }
    cuts.reverse();
    cuts
}
