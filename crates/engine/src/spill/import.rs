//! One chain of records on its way back into memory.

use std::time::{Duration, Instant};

use super::Spill;
use crate::prefix_tree::Insertion;
use crate::scheduler::{Gap, Room, Scheduler};
use crate::tier::{ChainKey, Kind, Link};
use crate::{Backend, BlockId, Kept, SequenceId};

/// Records asked for ahead of the one that is next.
const N_AHEAD: usize = 16;

/// A sequence waits no longer without progress, and no longer in all; then it computes.
const STALLED_MAX: Duration = Duration::from_secs(2);
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Fewer tokens are computed as fast as fetched.
const N_WORTH: usize = 16;

/// See the module.
#[derive(Debug)]
pub(super) struct Import {
    /// Who waits for it.
    sequence: Option<SequenceId>,
    /// Parents first.
    links: Vec<Link>,
    n_done: usize,
    n_asked: usize,
    since: Instant,
    moved: Instant,
}

/// What became of an attempt to take in the next record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Moved,
    Waits,
    /// All is there, or no more can come.
    Ended,
}

/// Why a record was not taken in.
enum Miss {
    /// The chain ends here.
    Unsound,
    /// There is no room for it, or for anything else.
    NoRoom,
}

impl Import {
    /// For a sequence that waits.
    pub(super) fn asked(id: SequenceId, links: Vec<Link>, now: Instant) -> Self {
        Self { sequence: Some(id), links, n_done: 0, n_asked: 0, since: now, moved: now }
    }

    /// Chains that nobody waits for.
    pub(super) fn unasked(links: Vec<Link>, now: Instant) -> Self {
        Self { sequence: None, links, n_done: 0, n_asked: 0, since: now, moved: now }
    }

    pub(super) fn sequence(&self) -> Option<SequenceId> {
        self.sequence
    }

    /// Whether a payload with this key is still to be taken in.
    pub(super) fn expects(&self, key: ChainKey) -> bool {
        self.links[self.n_done..self.n_asked].iter().any(|link| link.key == key)
    }

    /// Takes in the next record, if it has come.
    pub(super) fn advance(
        &mut self,
        spill: &mut Spill,
        backend: &mut dyn Backend,
        scheduler: &mut Scheduler,
    ) -> Progress {
        let is_obsolete = self.sequence.is_some_and(|id| !scheduler.is_held(id));
        let Some(link) = self.links.get(self.n_done).filter(|_| !is_obsolete) else { return Progress::Ended };
        if spill.is_in_memory(link, scheduler) {
            return self.step();
        }
        if !self.ask(spill) {
            return Progress::Ended;
        }
        let link = &self.links[self.n_done];
        match spill.stash.remove(&link.key) {
            Some(payload) => match spill.take_in(link, payload, (backend, scheduler), self.room()) {
                Ok(()) => self.step(),
                // What follows has lost its start, but other chains have not.
                Err(Miss::Unsound) if self.sequence.is_none() => self.step(),
                Err(_) => Progress::Ended,
            },
            None if self.is_overdue() => Progress::Ended,
            None => {
                // Another import took it and had no use for it.
                if !spill.tier.is_coming(link.key) {
                    self.n_asked = self.n_done;
                }
                Progress::Waits
            }
        }
    }

    fn step(&mut self) -> Progress {
        self.n_done += 1;
        self.n_asked = self.n_asked.max(self.n_done);
        self.moved = Instant::now();
        if self.n_done < self.links.len() { Progress::Moved } else { Progress::Ended }
    }

    /// Asks for the next records. False when the tier takes no more on.
    fn ask(&mut self, spill: &Spill) -> bool {
        let n_ahead = (self.n_done + N_AHEAD).min(self.links.len());
        if self.n_asked >= n_ahead {
            return true;
        }
        let wanted = self.links[self.n_asked..n_ahead].iter().map(|link| link.key);
        let wanted: Vec<_> =
            wanted.filter(|key| !spill.blocks.contains_key(key) && !spill.stash.contains_key(key)).collect();
        let is_taken_on = spill.tier.fetch(&wanted);
        if is_taken_on {
            self.n_asked = n_ahead;
        }
        is_taken_on
    }

    fn room(&self) -> Room {
        if self.sequence.is_some() { Room::Unused } else { Room::Free }
    }

    fn is_overdue(&self) -> bool {
        self.sequence.is_some() && (self.moved.elapsed() > STALLED_MAX || self.since.elapsed() > WAIT_MAX)
    }
}

impl Spill {
    /// The records on disk that a sequence could start from beyond what is in memory, parents first. Empty when they are not
    /// worth the way.
    pub(super) fn missing(&self, gap: &Gap<'_>) -> Vec<Link> {
        let mut keys = vec![ChainKey::ROOT];
        for block in gap.tokens.chunks_exact(self.n_block).take(gap.n_path) {
            keys.push(keys[keys.len() - 1].then(Kind::Block, block));
        }
        let (mut links, mut at) = (Vec::new(), gap.n_path * self.n_block);
        while let Some((link, n_tokens)) = self.next_link(keys[keys.len() - 1], &gap.tokens[at..]) {
            at += n_tokens;
            let is_last = n_tokens < self.n_block;
            keys.push(link.key);
            links.push(link);
            if is_last {
                break;
            }
        }
        if self.has_snapshots {
            return self.with_snapshot(links, &keys, &gap.tokens[..at], gap.n_hit);
        }
        if at < gap.n_hit + N_WORTH { Vec::new() } else { links }
    }

    /// The record that goes on the furthest after `parent`, and how far.
    fn next_link(&self, parent: ChainKey, tokens: &[u32]) -> Option<(Link, usize)> {
        let block = &tokens[..tokens.len().min(self.n_block)];
        let (key, n_tokens) = self.tier.block_after(parent, block)?;
        let link = self.tier.link(key).filter(|link| link.tokens.len() <= self.n_block)?;
        Some((link, n_tokens))
    }

    /// The links up to the deepest snapshot, which comes last; none without one.
    fn with_snapshot(&self, mut links: Vec<Link>, keys: &[ChainKey], tokens: &[u32], n_hit: usize) -> Vec<Link> {
        for (idx, key) in keys.iter().enumerate().rev() {
            let start = idx * self.n_block;
            let Some(rest) = tokens.get(start..).filter(|rest| !rest.is_empty()) else { continue };
            let Some((snapshot, n_tokens)) = self.tier.snapshot_after(*key, &rest[..rest.len().min(self.n_block)])
            else {
                continue;
            };
            if start + n_tokens < n_hit + N_WORTH {
                break;
            }
            let n_before = keys.len() - 1 - links.len();
            links.truncate((idx + 1).saturating_sub(n_before));
            links.extend(self.tier.link(snapshot));
            return links;
        }
        Vec::new()
    }

    fn is_in_memory(&self, link: &Link, scheduler: &Scheduler) -> bool {
        self.blocks.get(&link.key).is_some_and(|id| scheduler.is_kept(*id))
    }

    fn take_in(
        &mut self,
        link: &Link,
        payload: Option<Vec<u8>>,
        (backend, scheduler): (&mut dyn Backend, &mut Scheduler),
        room: Room,
    ) -> Result<(), Miss> {
        let payload = payload.ok_or(Miss::Unsound)?;
        let parent = match link.start {
            0 => None,
            _ => Some(self.blocks.get(&link.parent).copied().ok_or(Miss::Unsound)?),
        };
        match link.kind {
            Kind::Block => self.take_in_block(link, &payload, (parent, room), (backend, scheduler)),
            Kind::Snapshot => self.take_in_snapshot(link, &payload, (parent, room), (backend, scheduler)),
            Kind::Label => Err(Miss::Unsound),
        }
    }

    fn take_in_block(
        &mut self,
        link: &Link,
        payload: &[u8],
        (parent, room): (Option<BlockId>, Room),
        (backend, scheduler): (&mut dyn Backend, &mut Scheduler),
    ) -> Result<(), Miss> {
        match scheduler.adopt_block(parent, &link.tokens, room).ok_or(Miss::NoRoom)? {
            Insertion::Held(_) => Ok(()),
            Insertion::New(id) => match backend.import(Kept::Block(id), payload) {
                Ok(()) => {
                    self.imported(Kept::Block(id), link);
                    Ok(())
                }
                Err(error) => {
                    tracing::debug!(%error, "a block from disk was refused");
                    scheduler.block_refused(id);
                    self.refused(link.key);
                    Err(Miss::Unsound)
                }
            },
        }
    }

    fn take_in_snapshot(
        &mut self,
        link: &Link,
        payload: &[u8],
        (parent, room): (Option<BlockId>, Room),
        (backend, scheduler): (&mut dyn Backend, &mut Scheduler),
    ) -> Result<(), Miss> {
        let id = scheduler.adopt_snapshot(parent, room).ok_or(Miss::NoRoom)?;
        if let Err(error) = backend.import(Kept::Snapshot(id), payload) {
            tracing::debug!(%error, "a snapshot from disk was refused");
            self.refused(link.key);
            return Err(Miss::Unsound);
        }
        scheduler.file_snapshot(id, parent, &link.tokens);
        self.imported(Kept::Snapshot(id), link);
        Ok(())
    }
}
