//! Which kept blocks hold which tokens: a radix tree over blocks of a fixed number of positions. A pure index.
//!
//! A node is one kept block. Only full blocks have children, so a path from the root is a run of full blocks and at most
//! one partial block at its end. Siblings may begin alike: a hit has token granularity and ends inside a block, partial
//! ones too. A partial block is subsumed by a fuller one that begins with it. Locks are held on whole paths, so that
//! what is not locked can always be evicted from the tail on.
//!
//! Knows token ids and ids of kept state; the bytes are the backend's.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use crate::tier::{ChainKey, Kind, Link};
use crate::{BlockId, Kept, SnapshotId, TokenId};

mod evict;
mod snapshots;

use evict::Rank;
use snapshots::Place;

/// All kept state.
#[derive(Debug)]
pub(crate) struct PrefixTree {
    n_block: usize,
    root: Branches,
    nodes: HashMap<BlockId, Node>,
    places: HashMap<SnapshotId, Place>,
    /// Leaves that no one locks, first to go first.
    evictable: BTreeSet<(Rank, BlockId)>,
    /// Kept state that is no longer indexed and is to be forgotten.
    dropped: Vec<Kept>,
    n_ids: u64,
    /// Counts uses; orders them.
    tick: u64,
    n_positions: usize,
    n_locked_positions: usize,
    n_evicted: u64,
}

/// What continues a path.
#[derive(Debug, Default)]
struct Branches {
    children: BTreeMap<Arc<[TokenId]>, BlockId>,
    /// Snapshots inside the next block, by the tokens between the path's end and the snapshot: at least one, at most a block.
    snapshots: BTreeMap<Arc<[TokenId]>, SnapshotId>,
}

/// A kept block.
#[derive(Debug)]
struct Node {
    parent: Option<BlockId>,
    tokens: Arc<[TokenId]>,
    key: ChainKey,
    /// Blocks before it.
    depth: usize,
    n_locks: usize,
    last_used: u64,
    n_hits: u32,
    /// Whether it holds what many prompts begin with.
    is_pinned: bool,
    /// As filed in `evictable`.
    filed: Option<Rank>,
    below: Branches,
}

/// What a prompt may start from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hit {
    /// From the root on; the last may be used in part.
    pub blocks: Vec<BlockId>,
    pub n_tokens: usize,
    /// Taken at `n_tokens`, if it was asked for.
    pub snapshot: Option<SnapshotId>,
}

/// Outcome of [`PrefixTree::insert`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// The block is to be kept under this id.
    New(BlockId),
    /// A block with these tokens and maybe more is kept already.
    Held(BlockId),
}

impl PrefixTree {
    /// `n_block` positions to a full block, at least 1.
    pub(crate) fn new(n_block: usize) -> Self {
        assert!(n_block > 0, "blocks hold positions");
        Self {
            n_block,
            root: Branches::default(),
            nodes: HashMap::new(),
            places: HashMap::new(),
            evictable: BTreeSet::new(),
            dropped: Vec::new(),
            n_ids: 0,
            tick: 0,
            n_positions: 0,
            n_locked_positions: 0,
            n_evicted: 0,
        }
    }

    /// The longest kept beginning of `tokens`.
    pub(crate) fn find(&self, tokens: &[TokenId]) -> Hit {
        let mut hit = Hit::default();
        while let Some((id, n_tokens)) = self.branches(hit.blocks.last().copied()).longest(&tokens[hit.n_tokens..]) {
            hit.blocks.push(id);
            hit.n_tokens += n_tokens;
            if n_tokens < self.n_block {
                break;
            }
        }
        hit
    }

    /// Counts a use of every block of a hit.
    pub(crate) fn touch(&mut self, blocks: &[BlockId]) {
        self.tick += 1;
        for id in blocks {
            let node = self.node_mut(*id);
            node.n_hits = node.n_hits.saturating_add(1);
            self.refresh(*id);
        }
    }

    /// Blocks that hold what many prompts begin with are evicted last.
    pub(crate) fn pin(&mut self, blocks: &[BlockId]) {
        for id in blocks {
            self.node_mut(*id).is_pinned = true;
            self.refile(*id);
        }
    }

    /// Keeps blocks from eviction until [`unlock`](Self::unlock). A path is locked from the root on.
    pub(crate) fn lock(&mut self, blocks: &[BlockId]) {
        for id in blocks {
            let node = self.node_mut(*id);
            node.n_locks += 1;
            if node.n_locks == 1 {
                self.n_locked_positions += self.nodes[id].tokens.len();
                self.refile(*id);
            }
        }
    }

    /// Undoes one [`lock`](Self::lock).
    pub(crate) fn unlock(&mut self, blocks: &[BlockId]) {
        for id in blocks {
            let node = self.node_mut(*id);
            assert!(node.n_locks > 0, "{id:?} is unlocked more often than it was locked");
            node.n_locks -= 1;
            if node.n_locks == 0 {
                self.n_locked_positions -= self.nodes[id].tokens.len();
                self.refresh(*id);
            }
        }
    }

    /// Adds the block that continues the path to `parent` by `tokens`, at most a block's length.
    pub(crate) fn insert(&mut self, parent: Option<BlockId>, tokens: &[TokenId]) -> Insertion {
        assert!(!tokens.is_empty() && tokens.len() <= self.n_block, "{} positions for a block", tokens.len());
        if let Some(held) = self.branches(parent).beginning_with(tokens) {
            self.refresh(held);
            return Insertion::Held(held);
        }
        let tokens: Arc<[TokenId]> = tokens.into();
        let (key, depth) = match parent.map(|id| &self.nodes[&id]) {
            Some(parent) => (parent.key.then(Kind::Block, &tokens), parent.depth + 1),
            None => (ChainKey::ROOT.then(Kind::Block, &tokens), 0),
        };
        let id = BlockId(self.next_id());
        let subsumed = self.branches(parent).prefixes_of(&tokens, |branches| &branches.children);
        self.branches_mut(parent).children.insert(Arc::clone(&tokens), id);
        self.n_positions += tokens.len();
        let below = Branches::default();
        let (n_locks, n_hits, is_pinned, filed) = (0, 0, false, None);
        let last_used = self.tick;
        self.nodes.insert(id, Node { parent, tokens, key, depth, n_locks, last_used, n_hits, is_pinned, filed, below });
        self.refresh(id);
        parent.into_iter().for_each(|parent| self.refile(parent));
        for partial in subsumed {
            if self.nodes[&partial].n_locks == 0 {
                self.remove(partial);
            }
        }
        Insertion::New(id)
    }

    /// What a block holds, by names that mean the same everywhere. `None` when it is not indexed.
    pub(crate) fn link(&self, id: BlockId) -> Option<Link> {
        let node = self.nodes.get(&id)?;
        let tokens = Arc::clone(&node.tokens);
        Some(Link {
            key: node.key,
            kind: Kind::Block,
            parent: self.key_of(node.parent),
            start: node.depth * self.n_block,
            tokens,
        })
    }

    /// Chain hash of a path: the same tokens have the same, and nothing else has.
    pub(super) fn key_of(&self, at: Option<BlockId>) -> ChainKey {
        at.map_or(ChainKey::ROOT, |id| self.nodes[&id].key)
    }

    pub(crate) fn contains(&self, id: BlockId) -> bool {
        self.nodes.contains_key(&id)
    }

    /// Counts as used later than everything else.
    pub(crate) fn freshen(&mut self, id: BlockId) {
        self.tick += 1;
        self.refresh(id);
    }

    /// Positions kept.
    pub(crate) fn n_positions(&self) -> usize {
        self.n_positions
    }

    /// Positions kept that no one locks; all of them can be evicted.
    pub(crate) fn n_unlocked_positions(&self) -> usize {
        self.n_positions - self.n_locked_positions
    }

    pub(crate) fn n_blocks(&self) -> usize {
        self.nodes.len()
    }

    /// Blocks evicted so far.
    pub(crate) fn n_evicted(&self) -> u64 {
        self.n_evicted
    }

    /// What is to be forgotten since the last call.
    pub(crate) fn take_dropped(&mut self) -> Vec<Kept> {
        std::mem::take(&mut self.dropped)
    }

    fn next_id(&mut self) -> u64 {
        self.n_ids += 1;
        self.n_ids
    }

    fn node_mut(&mut self, id: BlockId) -> &mut Node {
        self.nodes.get_mut(&id).expect("blocks in use are indexed")
    }

    fn branches(&self, at: Option<BlockId>) -> &Branches {
        at.map_or(&self.root, |id| &self.nodes[&id].below)
    }

    fn branches_mut(&mut self, at: Option<BlockId>) -> &mut Branches {
        match at {
            Some(id) => &mut self.node_mut(id).below,
            None => &mut self.root,
        }
    }
}

impl Branches {
    /// The child that begins like `tokens` for longest, and for how long. In their order, that is a neighbour of `tokens`.
    fn longest(&self, tokens: &[TokenId]) -> Option<(BlockId, usize)> {
        let before = self.children.range::<[TokenId], _>((Bound::Unbounded, Bound::Included(tokens))).next_back();
        let after = self.children.range::<[TokenId], _>((Bound::Excluded(tokens), Bound::Unbounded)).next();
        let neighbours = before.into_iter().chain(after).map(|(key, id)| (*id, n_common(key, tokens)));
        neighbours.max_by_key(|(_, n_common)| *n_common).filter(|(_, n_common)| *n_common > 0)
    }

    /// A child whose tokens begin with `tokens`.
    fn beginning_with(&self, tokens: &[TokenId]) -> Option<BlockId> {
        let next = self.children.range::<[TokenId], _>((Bound::Included(tokens), Bound::Unbounded)).next();
        next.filter(|(key, _)| key.starts_with(tokens)).map(|(_, id)| *id)
    }

    /// Entries whose keys are beginnings of `tokens`, longest first.
    fn prefixes_of<T: Copy>(
        &self,
        tokens: &[TokenId],
        entries: impl Fn(&Self) -> &BTreeMap<Arc<[TokenId]>, T>,
    ) -> Vec<T> {
        let mut found = Vec::new();
        let mut bound = Bound::Included(tokens);
        while let Some((key, value)) = entries(self).range::<[TokenId], _>((Bound::Unbounded, bound)).next_back() {
            // Whatever is before `key` and begins `tokens` is no longer than what the two have in common.
            match n_common(key, tokens) {
                0 => break,
                n if n == key.len() => {
                    found.push(*value);
                    bound = Bound::Excluded(&tokens[..n]);
                }
                n => bound = Bound::Included(&tokens[..n]),
            }
        }
        found
    }
}

/// How many tokens two runs have in common from the start on.
pub(crate) fn n_common(a: &[TokenId], b: &[TokenId]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
#[path = "prefix_tree_tests.rs"]
mod tests;
