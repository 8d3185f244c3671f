//! State that the fake backend keeps beyond its sequences.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::state::{Digest, Position};
use crate::{BlockId, Kept, Prefix, SnapshotId, StepError};

/// First byte of an exported block, and of an exported snapshot.
const BLOCK_TAG: u8 = b'B';
const SNAPSHOT_TAG: u8 = b'S';

#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub blocks: HashMap<BlockId, KeptBlock>,
    pub snapshots: HashMap<SnapshotId, KeptSnapshot>,
    /// Positions in memory, each counted once however many share it.
    pub n_live: Arc<AtomicUsize>,
}

#[derive(Debug)]
pub(super) struct KeptBlock {
    start: usize,
    positions: Vec<Arc<Position>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeptSnapshot {
    pub n_tokens: usize,
    pub recurrent: u64,
}

impl Shelf {
    pub(super) fn keep(
        &mut self,
        block: BlockId,
        positions: Range<usize>,
        stored: &[Arc<Position>],
    ) -> Result<(), StepError> {
        let held = stored.get(positions.clone()).filter(|held| !held.is_empty());
        let Some(held) = held else {
            return Err(mismatch(format!("{positions:?} is kept of {} positions", stored.len())));
        };
        let kept = KeptBlock { start: positions.start, positions: held.to_vec() };
        match self.blocks.insert(block, kept) {
            Some(_) => Err(mismatch(format!("{block:?} is kept twice"))),
            None => Ok(()),
        }
    }

    pub(super) fn forget(&mut self, kept: Kept) {
        match kept {
            Kept::Block(id) => drop(self.blocks.remove(&id)),
            Kept::Snapshot(id) => drop(self.snapshots.remove(&id)),
        }
    }

    /// Positions of a prefix, and `digest` brought to its end.
    pub(super) fn resume(
        &self,
        prefix: &Prefix<'_>,
        digest: &mut Digest,
        snapshot_bytes: usize,
    ) -> Result<Vec<Arc<Position>>, StepError> {
        let mut positions: Vec<Arc<Position>> = Vec::with_capacity(prefix.n_tokens);
        for id in prefix.blocks {
            let block = self.blocks.get(id).ok_or_else(|| mismatch(format!("{id:?} is not kept")))?;
            if block.start != positions.len() {
                return Err(mismatch(format!("{id:?} starts at {}, not {}", block.start, positions.len())));
            }
            positions.extend(block.positions.iter().cloned());
        }
        let n_spare = prefix.blocks.last().map_or(0, |id| self.blocks[id].positions.len());
        if prefix.n_tokens > positions.len() || prefix.n_tokens + n_spare < positions.len() {
            return Err(mismatch(format!("{} of {} kept positions", prefix.n_tokens, positions.len())));
        }
        positions.truncate(prefix.n_tokens);
        positions.iter().for_each(|position| digest.attend(position.chain));
        if snapshot_bytes > 0 && prefix.n_tokens > 0 {
            let snapshot = prefix.snapshot.and_then(|id| self.snapshots.get(&id));
            let snapshot = snapshot.filter(|snapshot| snapshot.n_tokens == prefix.n_tokens);
            let missing = || mismatch(format!("{:?} is not a snapshot at {}", prefix.snapshot, prefix.n_tokens));
            digest.recurrent = snapshot.ok_or_else(missing)?.recurrent;
        }
        Ok(positions)
    }

    pub(super) fn export(&self, kept: Kept) -> Result<Vec<u8>, StepError> {
        let unknown = || mismatch(format!("{kept:?} is not kept"));
        let (tag, numbers) = match kept {
            Kept::Block(id) => {
                let block = self.blocks.get(&id).ok_or_else(unknown)?;
                let chains = block.positions.iter().map(|position| position.chain);
                (BLOCK_TAG, std::iter::once(block.start as u64).chain(chains).collect::<Vec<_>>())
            }
            Kept::Snapshot(id) => {
                let snapshot = self.snapshots.get(&id).ok_or_else(unknown)?;
                (SNAPSHOT_TAG, vec![snapshot.n_tokens as u64, snapshot.recurrent])
            }
        };
        Ok(std::iter::once(tag).chain(numbers.into_iter().flat_map(u64::to_le_bytes)).collect())
    }

    pub(super) fn import(&mut self, kept: Kept, bytes: &[u8]) -> Result<(), StepError> {
        let unfit = || mismatch(format!("{} bytes are no such {kept:?}", bytes.len()));
        let (tag, numbers) = bytes.split_first().ok_or_else(unfit)?;
        let (numbers, rest) = numbers.as_chunks::<8>();
        let numbers: Vec<u64> = numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        if !rest.is_empty() {
            return Err(unfit());
        }
        match (kept, *tag, numbers.as_slice()) {
            (Kept::Block(id), BLOCK_TAG, [start, chains @ ..]) if !chains.is_empty() => {
                let positions = chains.iter().map(|chain| Position::new(*chain, &self.n_live)).collect();
                self.blocks.insert(id, KeptBlock { start: *start as usize, positions });
            }
            (Kept::Snapshot(id), SNAPSHOT_TAG, [n_tokens, recurrent]) => {
                self.snapshots.insert(id, KeptSnapshot { n_tokens: *n_tokens as usize, recurrent: *recurrent });
            }
            _ => return Err(unfit()),
        }
        Ok(())
    }
}

fn mismatch(detail: String) -> StepError {
    StepError::Mismatch { detail }
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
