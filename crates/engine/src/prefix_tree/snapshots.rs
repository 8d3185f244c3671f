//! Snapshots in the tree: each stands at a position that some block covers.

use std::sync::Arc;

use super::{Hit, PrefixTree};
use crate::tier::{Kind, Link};
use crate::{BlockId, Kept, SnapshotId, TokenId};

/// Where a snapshot is filed.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The path that its block continues.
    parent: Option<BlockId>,
    /// From the path's end to the snapshot.
    tokens: Arc<[TokenId]>,
    n_locks: usize,
    last_used: u64,
}

impl PrefixTree {
    /// Cuts a hit back to its deepest snapshot; without one nothing is left of it.
    pub(crate) fn find_snapshot(&self, hit: Hit, tokens: &[TokenId]) -> Hit {
        for idx in (0..hit.blocks.len()).rev() {
            let start = idx * self.n_block;
            let rest = &tokens[start..hit.n_tokens.min(start + self.n_block)];
            let branches = self.branches(idx.checked_sub(1).map(|before| hit.blocks[before]));
            if let Some(id) = branches.prefixes_of(rest, |branches| &branches.snapshots).first() {
                let n_tokens = start + self.places[id].tokens.len();
                return Hit { blocks: hit.blocks[..=idx].to_vec(), n_tokens, snapshot: Some(*id) };
            }
        }
        Hit::default()
    }

    /// A new id for a snapshot.
    pub(crate) fn next_snapshot(&mut self) -> SnapshotId {
        SnapshotId(self.next_id())
    }

    /// Whether a block holds the positions `tokens` after the path to `parent`.
    pub(crate) fn is_covered(&self, parent: Option<BlockId>, tokens: &[TokenId]) -> bool {
        self.branches(parent).beginning_with(tokens).is_some()
    }

    /// Files a snapshot under the path to `parent`, `tokens` further on. A snapshot that is there already stays and the
    /// new one is dropped, as is one that no block covers.
    pub(crate) fn attach(&mut self, id: SnapshotId, parent: Option<BlockId>, tokens: &[TokenId]) {
        let branches = self.branches(parent);
        let held = branches.snapshots.get(tokens).copied();
        if held.is_some() || !self.is_covered(parent, tokens) {
            self.dropped.push(Kept::Snapshot(id));
            held.into_iter().for_each(|held| self.touch_snapshot(held));
            return;
        }
        let tokens: Arc<[TokenId]> = tokens.into();
        self.branches_mut(parent).snapshots.insert(Arc::clone(&tokens), id);
        self.places.insert(id, Place { parent, tokens, n_locks: 0, last_used: self.tick });
    }

    /// What a filed snapshot holds, by names that mean the same everywhere.
    pub(crate) fn snapshot_link(&self, id: SnapshotId) -> Option<Link> {
        let place = self.places.get(&id)?;
        let (parent, tokens) = (self.key_of(place.parent), Arc::clone(&place.tokens));
        let start = place.parent.map_or(0, |id| (self.nodes[&id].depth + 1) * self.n_block);
        Some(Link { key: parent.then(Kind::Snapshot, &tokens), kind: Kind::Snapshot, parent, start, tokens })
    }

    /// Keeps at most `n_max` snapshots along a path: the first and the newest stay, and of the others those go first that
    /// leave the smallest gap.
    pub(crate) fn thin(&mut self, path: &[BlockId], tokens: &[TokenId], n_max: usize) {
        let mut line = self.snapshots_along(path, tokens);
        while line.len() > n_max.max(2) {
            let gap = |at: &usize| line[at + 1].0 - line[at - 1].0;
            let is_free = |at: &usize| self.places[&line[*at].1].n_locks == 0;
            let Some(at) = (1..line.len() - 1).filter(is_free).min_by_key(gap) else { return };
            let (_, id) = line.remove(at);
            self.remove_snapshot(id);
        }
    }

    /// Position and id of every snapshot along a path and in the block that continues it.
    pub(super) fn snapshots_along(&self, path: &[BlockId], tokens: &[TokenId]) -> Vec<(usize, SnapshotId)> {
        let mut line = Vec::new();
        for idx in 0..=path.len() {
            let start = idx * self.n_block;
            let Some(rest) = tokens.get(start..).filter(|rest| !rest.is_empty()) else { break };
            let rest = &rest[..rest.len().min(self.n_block)];
            let branches = self.branches(idx.checked_sub(1).map(|before| path[before]));
            let found = branches.prefixes_of(rest, |branches| &branches.snapshots);
            line.extend(found.into_iter().rev().map(|id| (start + self.places[&id].tokens.len(), id)));
        }
        line
    }

    /// Keeps a snapshot until [`unlock_snapshot`](Self::unlock_snapshot).
    pub(crate) fn lock_snapshot(&mut self, id: SnapshotId) {
        self.touch_snapshot(id);
        self.place_mut(id).n_locks += 1;
    }

    /// Undoes one [`lock_snapshot`](Self::lock_snapshot). One that the backend turned out not to hold is gone by now.
    pub(crate) fn unlock_snapshot(&mut self, id: SnapshotId) {
        if let Some(place) = self.places.get_mut(&id) {
            place.n_locks -= 1;
        }
    }

    /// Drops the least recently used snapshot. False when there is none or all are locked.
    pub(crate) fn evict_snapshot(&mut self) -> bool {
        let free = self.places.iter().filter(|(_, place)| place.n_locks == 0);
        let oldest = free.min_by_key(|(id, place)| (place.last_used, **id)).map(|(id, _)| *id);
        oldest.into_iter().for_each(|id| self.remove_snapshot(id));
        oldest.is_some()
    }

    /// Drops a snapshot.
    pub(crate) fn remove_snapshot(&mut self, id: SnapshotId) {
        if let Some(place) = self.places.remove(&id) {
            self.branches_mut(place.parent).snapshots.remove(&place.tokens);
            self.dropped.push(Kept::Snapshot(id));
        }
    }

    /// Snapshots filed.
    pub(crate) fn n_snapshots(&self) -> usize {
        self.places.len()
    }

    /// Snapshots filed that no one locks.
    pub(crate) fn n_unlocked_snapshots(&self) -> usize {
        self.places.values().filter(|place| place.n_locks == 0).count()
    }

    /// Snapshots inside a block that is gone, unless another block covers them too.
    pub(super) fn uncovered_snapshots(&self, parent: Option<BlockId>, tokens: &[TokenId]) -> Vec<SnapshotId> {
        let branches = self.branches(parent);
        let mut inside = branches.prefixes_of(tokens, |branches| &branches.snapshots);
        inside.retain(|id| branches.beginning_with(&self.places[id].tokens).is_none());
        inside
    }

    fn touch_snapshot(&mut self, id: SnapshotId) {
        let tick = self.tick;
        self.place_mut(id).last_used = tick;
    }

    fn place_mut(&mut self, id: SnapshotId) -> &mut Place {
        self.places.get_mut(&id).expect("snapshots in use are filed")
    }
}
