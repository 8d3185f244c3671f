use std::time::Duration;

use super::super::key::Fingerprint;
use super::*;

const ROOT: ChainKey = ChainKey([0; 32]);

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Adds a record of 10 bytes and returns its key.
fn add(index: &mut Index, kind: Kind, (parent, start): (ChainKey, u64), tokens: &[TokenId], segment: u64) -> ChainKey {
    let header = Header::new(kind, Fingerprint::of("m"), (parent, start), tokens.to_vec()).sealed(&[7; 10]);
    let key = header.key;
    assert!(index.insert(header, Place { segment, offset: 0 }));
    key
}

fn index(n_segments: u64) -> Index {
    let mut index = Index::default();
    (0..n_segments).for_each(|id| index.set_segment(id, 100, at(id)));
    index
}

#[test]
fn the_longest_common_start_wins() {
    let mut index = index(1);
    let runs: [&[TokenId]; 5] = [&[1, 2, 3, 4], &[1, 2, 9, 9], &[1, 5, 0, 0], &[2, 2, 2, 2], &[1, 2, 3, 9]];
    let keys = runs.map(|run| add(&mut index, Kind::Block, (ROOT, 0), run, 0));
    let check = |tokens: &[TokenId], n_common: usize| {
        let found = index.next(ROOT, Kind::Block, tokens);
        assert_eq!(found.map_or(0, |(_, n)| n), n_common, "{tokens:?}");
        let run = found.and_then(|(key, _)| index.get(key)).map(|entry| &entry.tokens[..n_common]);
        assert_eq!(run.unwrap_or_default(), &tokens[..n_common]);
    };
    check(&[1, 2, 3, 4], 4);
    check(&[1, 2, 9, 1], 3);
    check(&[1, 5], 2);
    check(&[2, 2, 2, 2], 4);
    check(&[1, 2, 3, 8], 3);
    check(&[3, 1, 1, 1], 0);
    check(&[], 0);
    assert_eq!(index.next(keys[0], Kind::Block, &[1, 2, 3, 4]), None, "another parent has no children");
    assert_eq!(index.next(ROOT, Kind::Snapshot, &[1, 2, 3, 4]), None);
}

#[test]
fn the_deepest_snapshot_that_fits_is_found() {
    let mut index = index(1);
    let runs: [&[TokenId]; 4] = [&[], &[1], &[1, 2, 3], &[1, 2, 4]];
    let keys = runs.map(|run| add(&mut index, Kind::Snapshot, (ROOT, 0), run, 0));
    assert_eq!(index.snapshot(ROOT, &[1, 2, 3, 9]), Some((keys[2], 3)));
    assert_eq!(index.snapshot(ROOT, &[1, 2]), Some((keys[1], 1)));
    assert_eq!(index.snapshot(ROOT, &[7]), Some((keys[0], 0)));
    assert_eq!(index.snapshot(keys[0], &[1]), None);
}

#[test]
fn the_hottest_are_whole_chains_parents_first() {
    let mut index = index(3);
    let cold = add(&mut index, Kind::Block, (ROOT, 0), &[1], 0);
    let hot = add(&mut index, Kind::Block, (cold, 1), &[2], 2);
    let other = add(&mut index, Kind::Block, (ROOT, 0), &[3], 1);
    let _orphan = add(&mut index, Kind::Block, (ChainKey([9; 32]), 4), &[4], 2);
    assert_eq!(index.hottest(100), [cold, hot, other]);
    assert_eq!(index.hottest(20), [cold, hot]);
    assert_eq!(index.hottest(15), []);
    index.touch(&[other], at(50));
    assert_eq!(index.hottest(30)[0], other);
    assert_eq!(index.take_unsaved(), [(1, at(50))]);
    assert_eq!(index.take_unsaved(), []);
}

#[test]
fn a_segment_takes_its_records_along() {
    let mut index = index(2);
    let old = add(&mut index, Kind::Block, (ROOT, 0), &[1], 0);
    let new = add(&mut index, Kind::Block, (ROOT, 0), &[2], QUEUED);
    assert!(index.settle(new, Place { segment: 1, offset: 4096 }));
    assert_eq!(index.remove_segment(0), 1);
    assert!(index.get(old).is_none() && index.next(ROOT, Kind::Block, &[1]).is_none());
    assert_eq!(index.get(new).map(|entry| entry.place.offset), Some(4096));
    assert!(!index.settle(old, Place { segment: 1, offset: 0 }));
    assert_eq!((index.n_bytes(), index.count(Kind::Block)), (100, 1));
}
