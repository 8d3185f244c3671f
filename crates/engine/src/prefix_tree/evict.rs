//! Who goes first when room is needed: leaves without locks, least recently and least often used ones first.

use std::cmp::Reverse;

use super::PrefixTree;
use crate::{BlockId, Kept};

/// Each doubling of a block's hits is worth as much as being used this many uses later.
const HIT_BONUS: u64 = 64;

/// Order of eviction, smallest first: pinned blocks last, then by use, then tails before heads.
pub(super) type Rank = (bool, u64, Reverse<usize>);

impl PrefixTree {
    /// Drops the block that is missed least. False when all are locked.
    pub(crate) fn evict(&mut self) -> bool {
        let Some((_, id)) = self.evictable.first().copied() else { return false };
        self.remove(id);
        self.n_evicted += 1;
        true
    }

    /// Drops a block and all that continues it, locked or not, and names what was dropped: the backend does not hold it.
    pub(crate) fn remove_subtree(&mut self, id: BlockId) -> Vec<BlockId> {
        if !self.nodes.contains_key(&id) {
            return Vec::new();
        }
        let mut removed = vec![id];
        let mut at = 0;
        while let Some(id) = removed.get(at).copied() {
            removed.extend(self.nodes[&id].below.children.values());
            at += 1;
        }
        for id in removed.iter().rev() {
            let node = self.node_mut(*id);
            let n_locked = if node.n_locks > 0 { node.tokens.len() } else { 0 };
            node.n_locks = 0;
            self.n_locked_positions -= n_locked;
            self.remove(*id);
        }
        removed
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        let heads: Vec<_> = self.root.children.values().copied().collect();
        heads.into_iter().for_each(|id| drop(self.remove_subtree(id)));
    }

    /// Drops a leaf and the snapshots that no other block covers now.
    pub(super) fn remove(&mut self, id: BlockId) {
        let Some(node) = self.nodes.remove(&id) else { return };
        debug_assert!(node.below.children.is_empty() && node.n_locks == 0, "{id:?} is in use: {node:?}");
        if let Some(rank) = node.filed {
            self.evictable.remove(&(rank, id));
        }
        self.n_positions -= node.tokens.len();
        self.dropped.push(Kept::Block(id));
        self.branches_mut(node.parent).children.remove(&node.tokens);
        for snapshot in self.uncovered_snapshots(node.parent, &node.tokens) {
            self.remove_snapshot(snapshot);
        }
        node.parent.into_iter().for_each(|parent| self.refile(parent));
    }

    /// Every path to a block that nothing continues, with its positions; the ones used the longest ago first.
    pub(crate) fn leaf_paths(&self) -> Vec<(Vec<BlockId>, usize)> {
        let mut leaves: Vec<_> = self.nodes.iter().filter(|(_, node)| node.below.children.is_empty()).collect();
        leaves.sort_by_key(|(id, node)| (node.last_used, **id));
        let path = |(id, node): (&BlockId, &super::Node)| {
            let mut path: Vec<_> = std::iter::successors(Some(*id), |id| self.nodes[id].parent).collect();
            path.reverse();
            (path, node.depth * self.n_block + node.tokens.len())
        };
        leaves.into_iter().map(path).collect()
    }

    /// Counts as used now.
    pub(super) fn refresh(&mut self, id: BlockId) {
        let tick = self.tick;
        self.node_mut(id).last_used = tick;
        self.refile(id);
    }

    /// Files a block as evictable, or not, by what it is now.
    pub(super) fn refile(&mut self, id: BlockId) {
        let node = self.node_mut(id);
        let bonus = HIT_BONUS * u64::from((1 + node.n_hits).ilog2());
        let rank = (node.is_pinned, node.last_used.saturating_add(bonus), Reverse(node.depth));
        let is_evictable = node.n_locks == 0 && node.below.children.is_empty();
        let filed = std::mem::replace(&mut node.filed, is_evictable.then_some(rank));
        if let Some(rank) = filed {
            self.evictable.remove(&(rank, id));
        }
        if is_evictable {
            self.evictable.insert((rank, id));
        }
    }
}
