use std::collections::HashMap;

use proptest::prelude::*;

use super::{Hit, Insertion, Node, PrefixTree};
use crate::tier::{ChainKey, Kind};
use crate::{BlockId, Kept, TokenId};

const N_BLOCK: usize = 4;

impl PrefixTree {
    /// Checks everything that the index says twice.
    pub(crate) fn assert_sound(&self) {
        let n_children: usize = self.nodes.values().map(|node| node.below.children.len()).sum();
        assert_eq!(self.nodes.len(), n_children + self.root.children.len(), "every node has its place");
        let branches = self.nodes.values().map(|node| &node.below).chain([&self.root]);
        let n_snapshots: usize = branches.clone().map(|branches| branches.snapshots.len()).sum();
        assert_eq!(self.places.len(), n_snapshots);
        for branches in branches {
            assert!(branches.snapshots.keys().all(|tokens| branches.beginning_with(tokens).is_some()), "{branches:?}");
        }
        for (id, node) in &self.nodes {
            assert_eq!(self.branches(node.parent).children.get(&node.tokens), Some(id));
            let parent = node.parent.map(|parent| &self.nodes[&parent]);
            assert!(parent.is_none_or(|parent| parent.tokens.len() == self.n_block && parent.n_locks >= node.n_locks));
            assert_eq!(node.key, parent.map_or(ChainKey::ROOT, |parent| parent.key).then(Kind::Block, &node.tokens));
            let is_evictable = node.n_locks == 0 && node.below.children.is_empty();
            assert_eq!(node.filed.is_some(), is_evictable, "{node:?}");
        }
        let filed: Vec<_> = self.nodes.iter().filter_map(|(id, node)| Some((node.filed?, *id))).collect();
        assert!(filed.len() == self.evictable.len() && filed.iter().all(|entry| self.evictable.contains(entry)));
        let n_positions = |nodes: &mut dyn Iterator<Item = &Node>| nodes.map(|node| node.tokens.len()).sum::<usize>();
        assert_eq!(self.n_positions, n_positions(&mut self.nodes.values()));
        assert_eq!(self.n_locked_positions, n_positions(&mut self.nodes.values().filter(|node| node.n_locks > 0)));
    }
}

/// Keeps all of `tokens` and returns the path's blocks.
fn keep(tree: &mut PrefixTree, tokens: &[TokenId]) -> Vec<BlockId> {
    let mut path = Vec::new();
    for block in tokens.chunks(tree.n_block) {
        let (Insertion::New(id) | Insertion::Held(id)) = tree.insert(path.last().copied(), block);
        path.push(id);
    }
    tree.touch(&path);
    path
}

fn tree(kept: &[&[TokenId]]) -> PrefixTree {
    let mut tree = PrefixTree::new(N_BLOCK);
    kept.iter().for_each(|tokens| drop(keep(&mut tree, tokens)));
    tree.assert_sound();
    tree
}

fn check_hits(tree: &PrefixTree, cases: &[(&[TokenId], usize)]) {
    for (tokens, expected) in cases {
        let hit = tree.find(tokens);
        assert_eq!(hit.n_tokens, *expected, "{tokens:?}");
        assert_eq!(hit.blocks.len(), expected.div_ceil(N_BLOCK), "{tokens:?}");
    }
}

#[test]
fn a_hit_ends_where_the_tokens_part_even_inside_a_block() {
    let tree = tree(&[&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[1, 2, 3, 4, 5, 9, 9, 9], &[1, 3, 3]]);
    check_hits(
        &tree,
        &[
            (&[], 0),
            (&[2, 2], 0),
            (&[1], 1),
            (&[1, 2, 3, 5], 3),
            (&[1, 3, 3, 4], 3),
            (&[1, 2, 3, 4, 5, 6, 6], 6),
            (&[1, 2, 3, 4, 5, 9, 9, 8], 7),
            (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 10),
        ],
    );
}

#[test]
fn a_fuller_block_takes_the_place_of_a_partial_one() {
    let mut tree = tree(&[&[1, 2, 3, 4, 5]]);
    let path = keep(&mut tree, &[1, 2, 3, 4, 5, 6]);
    assert_eq!((tree.n_blocks(), tree.n_positions()), (2, 6));
    assert_eq!(tree.take_dropped().len(), 1);
    assert_eq!(tree.insert(Some(path[0]), &[5]), Insertion::Held(path[1]));
    keep(&mut tree, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!((tree.n_blocks(), tree.n_positions()), (3, 9));
    assert_eq!(tree.take_dropped(), [Kept::Block(path[1])]);
    tree.assert_sound();
}

#[test]
fn a_partial_block_in_use_stays_beside_the_fuller_one() {
    let mut tree = PrefixTree::new(N_BLOCK);
    let partial = keep(&mut tree, &[1, 2]);
    tree.lock(&partial);
    keep(&mut tree, &[1, 2, 3, 4]);
    assert_eq!((tree.n_blocks(), tree.take_dropped().len()), (2, 0));
    tree.unlock(&partial);
    tree.assert_sound();
    check_hits(&tree, &[(&[1, 2, 3, 4], 4)]);
}

/// Evicts all, and says in which order blocks with these tokens go.
fn eviction_order(tree: &mut PrefixTree) -> Vec<Vec<TokenId>> {
    let mut order = Vec::new();
    while let Some((_, id)) = tree.evictable.first().copied() {
        order.push(tree.nodes[&id].tokens.to_vec());
        assert!(tree.evict());
        tree.assert_sound();
    }
    order
}

#[test]
fn the_least_recently_used_goes_first_and_tails_before_heads() {
    let mut tree = tree(&[&[1, 1, 1, 1, 2, 2], &[3, 3, 3, 3, 4, 4]]);
    let hit = tree.find(&[1, 1, 1, 1]);
    tree.touch(&hit.blocks);
    let order = eviction_order(&mut tree);
    assert_eq!(order, [vec![2, 2], vec![4, 4], vec![3, 3, 3, 3], vec![1, 1, 1, 1]]);
    assert_eq!((tree.n_blocks(), tree.n_positions(), tree.n_evicted()), (0, 0, 4));
}

#[test]
fn what_is_used_often_outlives_what_was_used_since() {
    let mut tree = tree(&[&[1, 1]]);
    for _ in 0..7 {
        let hit = tree.find(&[1, 1]);
        tree.touch(&hit.blocks);
    }
    for other in 2..40 {
        keep(&mut tree, &[other]);
    }
    let order = eviction_order(&mut tree);
    assert_eq!(order.last(), Some(&vec![1, 1]));
}

#[test]
fn pinned_paths_go_last_and_locked_ones_stay() {
    let mut tree = tree(&[&[1, 1, 1, 1], &[2, 2, 2, 2, 5], &[3]]);
    let (pinned, locked) = (tree.find(&[1, 1, 1, 1]).blocks, tree.find(&[2, 2, 2, 2, 5]).blocks);
    tree.pin(&pinned);
    tree.lock(&locked);
    assert_eq!(tree.n_unlocked_positions(), 5);
    assert_eq!(eviction_order(&mut tree), [vec![3], vec![1, 1, 1, 1]]);
    assert_eq!(tree.n_unlocked_positions(), 0);
    tree.unlock(&locked);
    assert_eq!(eviction_order(&mut tree), [vec![5], vec![2, 2, 2, 2]]);
}

#[test]
fn a_block_that_was_not_kept_takes_all_that_continues_it_along() {
    let mut tree = tree(&[&[1, 1, 1, 1, 2, 2, 2, 2, 3], &[1, 1, 1, 1, 4]]);
    let path = tree.find(&[1, 1, 1, 1, 2, 2, 2, 2, 3]).blocks;
    tree.lock(&path);
    assert_eq!(tree.remove_subtree(path[1]), path[1..]);
    tree.assert_sound();
    assert_eq!((tree.n_blocks(), tree.n_unlocked_positions()), (2, 1));
    assert_eq!(tree.remove_subtree(path[1]), []);
    tree.unlock(&path[..1]);
    tree.clear();
    tree.assert_sound();
    assert_eq!((tree.n_blocks(), tree.n_positions(), tree.take_dropped().len()), (0, 0, 4));
}

#[test]
fn keys_name_the_tokens_from_the_start_on() {
    let tree = tree(&[&[1, 1, 1, 1, 2], &[3, 3, 3, 3, 2]]);
    let key = |tokens: &[TokenId]| tree.link(*tree.find(tokens).blocks.last().unwrap()).unwrap().key;
    assert_ne!(key(&[1, 1, 1, 1, 2]), key(&[3, 3, 3, 3, 2]));
    assert_eq!(key(&[1, 1, 1, 1, 2]), ChainKey::ROOT.then(Kind::Block, &[1, 1, 1, 1]).then(Kind::Block, &[2]));
}

/// A tree with `tokens` kept and snapshots at the given positions.
fn with_snapshots(tokens: &[TokenId], at: &[usize]) -> (PrefixTree, Vec<BlockId>) {
    let mut tree = PrefixTree::new(N_BLOCK);
    let path = keep(&mut tree, tokens);
    for at in at {
        let idx = (at - 1) / N_BLOCK;
        let id = tree.next_snapshot();
        tree.attach(id, idx.checked_sub(1).map(|before| path[before]), &tokens[idx * N_BLOCK..*at]);
    }
    tree.assert_sound();
    (tree, path)
}

#[test]
fn a_hit_is_cut_back_to_its_deepest_snapshot() {
    let tokens = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    let (tree, path) = with_snapshots(&tokens, &[2, 4, 7, 10]);
    for (n_tokens, expected) in [(1, 0), (2, 2), (3, 2), (4, 4), (6, 4), (7, 7), (8, 7), (9, 7), (10, 10)] {
        let hit = tree.find_snapshot(tree.find(&tokens[..n_tokens]), &tokens[..n_tokens]);
        assert_eq!((hit.n_tokens, hit.snapshot.is_some()), (expected, expected > 0), "{n_tokens}");
        assert_eq!(hit.blocks, path[..expected.div_ceil(N_BLOCK)], "{n_tokens}");
    }
    let parted = [1, 2, 3, 4, 5, 6, 7, 9];
    assert_eq!(tree.find_snapshot(tree.find(&parted), &parted).n_tokens, 7, "another branch shares what it passed");
    assert_eq!(tree.find_snapshot(Hit::default(), &[]), Hit::default());
}

#[test]
fn snapshots_go_with_the_last_block_that_covers_them() {
    let (mut tree, path) = with_snapshots(&[1, 2, 3, 4, 5, 6], &[3, 5, 6]);
    keep(&mut tree, &[1, 2, 3, 4, 5, 9]);
    tree.take_dropped();
    tree.remove_subtree(path[1]);
    tree.assert_sound();
    assert_eq!(tree.n_snapshots(), 2, "the other branch covers the one at 5");
    while tree.evict() {}
    tree.assert_sound();
    assert_eq!((tree.n_snapshots(), tree.take_dropped().len()), (0, 6));
}

#[test]
fn thinning_keeps_the_first_and_the_newest_and_drops_the_smallest_gaps() {
    let tokens: Vec<TokenId> = (0..40).collect();
    for (n_max, expected) in [(9, vec![1, 9, 10, 20, 30, 40]), (5, vec![1, 10, 20, 30, 40]), (3, vec![1, 20, 40])] {
        let (mut tree, path) = with_snapshots(&tokens, &[1, 9, 10, 20, 30, 40]);
        tree.thin(&path, &tokens, n_max);
        let line: Vec<_> = tree.snapshots_along(&path, &tokens).into_iter().map(|(at, _)| at).collect();
        assert_eq!(line, expected, "{n_max}");
        tree.assert_sound();
    }
}

#[test]
fn a_snapshot_in_use_is_neither_thinned_nor_evicted() {
    let tokens: Vec<TokenId> = (0..12).collect();
    let (mut tree, path) = with_snapshots(&tokens, &[2, 6, 12]);
    let locked = tree.find_snapshot(tree.find(&tokens[..6]), &tokens[..6]).snapshot.unwrap();
    tree.lock_snapshot(locked);
    tree.thin(&path, &tokens, 2);
    assert!(tree.evict_snapshot() && tree.evict_snapshot() && !tree.evict_snapshot());
    tree.unlock_snapshot(locked);
    assert!(tree.evict_snapshot());
    assert_eq!(tree.n_snapshots(), 0);
}

/// What a plain list of everything kept says, of which nothing was evicted.
fn expected_hit(kept: &[Vec<TokenId>], tokens: &[TokenId]) -> usize {
    let n_common = |other: &Vec<TokenId>| other.iter().zip(tokens).take_while(|(a, b)| a == b).count();
    kept.iter().map(n_common).max().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hits_are_those_of_a_plain_list(
        kept in prop::collection::vec(prop::collection::vec(0u32..3, 1..16), 0..24),
        asked in prop::collection::vec(prop::collection::vec(0u32..3, 0..18), 1..12),
        n_evicted in 0usize..20,
    ) {
        let mut tree = PrefixTree::new(N_BLOCK);
        for (idx, tokens) in kept.iter().enumerate() {
            keep(&mut tree, tokens);
            prop_assert_eq!(tree.find(tokens).n_tokens, tokens.len());
            for asked in &asked {
                prop_assert_eq!(tree.find(asked).n_tokens, expected_hit(&kept[..=idx], asked));
            }
        }
        tree.assert_sound();
        let held: HashMap<_, _> = asked.iter().map(|asked| (asked, tree.find(asked))).collect();
        held.values().for_each(|hit| tree.lock(&hit.blocks));
        let n_evicted = (0..n_evicted).take_while(|_| tree.evict()).count();
        prop_assert_eq!(tree.n_evicted(), n_evicted as u64);
        tree.assert_sound();
        for (asked, hit) in &held {
            prop_assert_eq!(tree.find(asked).n_tokens, hit.n_tokens, "locked");
        }
        held.values().for_each(|hit| tree.unlock(&hit.blocks));
        while tree.evict() {}
        tree.assert_sound();
        prop_assert_eq!(tree.n_blocks(), 0);
    }
}
