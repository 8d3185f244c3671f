//! Which records there are and where. Pure: no files, no clock.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

use super::key::{ChainKey, Kind};
use super::record::Header;
use crate::TokenId;

/// Bounds the index's memory: about 500 bytes each.
const N_ENTRIES_MAX: usize = 1 << 18;

/// Snapshots with other tokens that a look-up passes over.
const N_SNAPSHOTS_TRIED: usize = 64;

/// In place of a segment: the record waits to be written.
pub(crate) const QUEUED: u64 = u64::MAX;

/// Where a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its file.
    pub segment: u64,
    /// Where it starts there.
    pub offset: u64,
}

/// A record without its payload.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub kind: Kind,
    pub parent: ChainKey,
    pub start: u64,
    pub tokens: Arc<[TokenId]>,
    pub n_payload: u64,
    pub place: Place,
}

/// One file of records.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub n_bytes: u64,
    /// When one of its records was last written or of use.
    pub used: SystemTime,
    /// Whether the file says so too.
    pub is_used_saved: bool,
    keys: Vec<ChainKey>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Index {
    entries: HashMap<ChainKey, Entry>,
    /// Children of a key in the order of their tokens, so that the one with the longest common start is a neighbour.
    children: BTreeMap<(ChainKey, Kind, Arc<[TokenId]>), ChainKey>,
    segments: BTreeMap<u64, Segment>,
}

impl Index {
    /// Adds an empty file, or sets its size.
    pub(crate) fn set_segment(&mut self, id: u64, n_bytes: u64, used: SystemTime) {
        let new = || Segment { n_bytes, used, is_used_saved: true, keys: Vec::new() };
        let segment = self.segments.entry(id).or_insert_with(new);
        segment.n_bytes = n_bytes;
        segment.used = segment.used.max(used);
    }

    /// Adds a record of a known segment. False when the key is known already, or there is no room for more.
    pub(crate) fn insert(&mut self, header: Header, place: Place) -> bool {
        if self.entries.len() >= N_ENTRIES_MAX || self.entries.contains_key(&header.key) {
            return false;
        }
        if !self.claim(header.key, place) {
            return false;
        }
        let Header { kind, key, parent, start, tokens, n_payload, .. } = header;
        let tokens: Arc<[TokenId]> = tokens.into();
        self.children.insert((parent, kind, Arc::clone(&tokens)), key);
        self.entries.insert(key, Entry { kind, parent, start, tokens, n_payload, place });
        true
    }

    /// The record has been written. False when it is not known any more.
    pub(crate) fn settle(&mut self, key: ChainKey, place: Place) -> bool {
        let is_known = self.entries.contains_key(&key) && self.claim(key, place);
        if is_known && let Some(entry) = self.entries.get_mut(&key) {
            entry.place = place;
        }
        is_known
    }

    /// Lists the key under its segment; false when there is no such segment.
    fn claim(&mut self, key: ChainKey, place: Place) -> bool {
        if place.segment == QUEUED {
            return true;
        }
        let segment = self.segments.get_mut(&place.segment);
        segment.map(|segment| segment.keys.push(key)).is_some()
    }

    pub(crate) fn get(&self, key: ChainKey) -> Option<&Entry> {
        self.entries.get(&key)
    }

    /// Forgets one record, whose bytes stay until its segment goes.
    pub(crate) fn remove(&mut self, key: ChainKey) {
        if let Some(entry) = self.entries.remove(&key) {
            self.children.remove(&(entry.parent, entry.kind, entry.tokens));
        }
    }

    /// Forgets a file and all its records.
    pub(crate) fn remove_segment(&mut self, id: u64) -> usize {
        let keys = self.segments.remove(&id).map_or(Vec::new(), |segment| segment.keys);
        let mut n_removed = 0;
        for key in keys {
            if self.entries.get(&key).is_some_and(|entry| entry.place.segment == id) {
                self.remove(key);
                n_removed += 1;
            }
        }
        n_removed
    }

    /// The record after `parent` that shares the most tokens with `tokens` from the start, and how many; at least one.
    pub(crate) fn next(&self, parent: ChainKey, kind: Kind, tokens: &[TokenId]) -> Option<(ChainKey, usize)> {
        let wanted = (parent, kind, Arc::from(tokens));
        let before = self.children.range(..=&wanted).next_back();
        let after = self.children.range(&wanted..).next();
        let shared = |((of, other, run), key): (&(ChainKey, Kind, Arc<[TokenId]>), &ChainKey)| {
            let n_shared = run.iter().zip(tokens).take_while(|(a, b)| a == b).count();
            (*of == parent && *other == kind && n_shared > 0).then_some((*key, n_shared))
        };
        [before, after].into_iter().flatten().filter_map(shared).max_by_key(|(_, n_shared)| *n_shared)
    }

    /// Marks the records' files as of use.
    pub(crate) fn touch(&mut self, keys: &[ChainKey], now: SystemTime) {
        for key in keys {
            let segment = self.entries.get(key).map(|entry| entry.place.segment);
            if let Some(segment) = segment.and_then(|id| self.segments.get_mut(&id))
                && segment.used < now
            {
                segment.used = now;
                segment.is_used_saved = false;
            }
        }
    }

    /// Files whose last use their disk does not know, and then does.
    pub(crate) fn take_unsaved(&mut self) -> Vec<(u64, SystemTime)> {
        let unsaved = self.segments.iter_mut().filter(|(_, segment)| !segment.is_used_saved);
        let take = |(id, segment): (&u64, &mut Segment)| {
            segment.is_used_saved = true;
            (*id, segment.used)
        };
        unsaved.map(take).collect()
    }

    pub(crate) fn segments(&self) -> impl Iterator<Item = (u64, &Segment)> {
        self.segments.iter().map(|(id, segment)| (*id, segment))
    }

    pub(crate) fn n_bytes(&self) -> u64 {
        self.segments.values().map(|segment| segment.n_bytes).sum()
    }

    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.entries.values().filter(|entry| entry.kind == kind).count()
    }

    /// The deepest snapshot after `parent` and some of `tokens`, and how many of them it has seen.
    pub(crate) fn snapshot(&self, parent: ChainKey, tokens: &[TokenId]) -> Option<(ChainKey, usize)> {
        let from: (_, _, Arc<[TokenId]>) = (parent, Kind::Snapshot, Arc::from([]));
        let to = (parent, Kind::Snapshot, Arc::from(tokens));
        let nearest = self.children.range(from..=to).rev().take(N_SNAPSHOTS_TRIED);
        let mut fitting = nearest.filter(|((_, _, run), _)| tokens.starts_with(run));
        fitting.next().map(|((_, _, run), key)| (*key, run.len()))
    }

    /// The most recently used blocks and snapshots whose chain is whole, parents first, in at most `n_bytes` of payload.
    pub(crate) fn hottest(&self, n_bytes: u64) -> Vec<ChainKey> {
        let used = |entry: &Entry| self.segments.get(&entry.place.segment).map(|segment| segment.used);
        let mut order: Vec<_> = self.entries.iter().filter(|(_, entry)| entry.kind != Kind::Label).collect();
        order.sort_by_key(|(key, entry)| (std::cmp::Reverse(used(entry)), entry.start, **key));
        let (mut chosen, mut is_whole, mut n_chosen) = (Vec::new(), HashMap::new(), 0);
        for (key, _) in order {
            let chain = self.new_links(*key, &mut is_whole);
            let n_more: u64 = chain.iter().filter_map(|key| self.entries.get(key)).map(|entry| entry.n_payload).sum();
            n_chosen += n_more;
            if n_chosen > n_bytes {
                break;
            }
            chosen.extend(chain);
        }
        chosen
    }

    /// The record and those before it that `is_whole` does not know, parents first; none when the chain has a gap.
    fn new_links(&self, key: ChainKey, is_whole: &mut HashMap<ChainKey, bool>) -> Vec<ChainKey> {
        let mut chain = Vec::new();
        let mut at = key;
        let is_sound = loop {
            if let Some(known) = is_whole.get(&at) {
                break *known;
            }
            let Some(entry) = self.entries.get(&at) else { break false };
            chain.push(at);
            if entry.start == 0 {
                break true;
            }
            at = entry.parent;
        };
        is_whole.extend(chain.iter().map(|key| (*key, is_sound)));
        chain.reverse();
        if is_sound { chain } else { Vec::new() }
    }
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
