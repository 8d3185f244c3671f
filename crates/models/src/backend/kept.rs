//! KV blocks and snapshots that outlive their sequences. A block is a range of a run, shared with whoever else reads it.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use tokbar_engine::{BlockId, Kept, Prefix, SnapshotId, StepError};

use crate::cache::bytes::BytesError;
use crate::cache::run::{Piece, Run};
use crate::cache::snapshot::Snapshot;
use crate::cache::{Layout, SequenceCache, join};
use crate::flight::step_error;

/// Kept state by id.
#[derive(Default)]
pub struct KeptState {
    blocks: HashMap<BlockId, Vec<Piece>>,
    snapshots: HashMap<SnapshotId, Snapshot>,
}

impl KeptState {
    /// Whether nothing is kept.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.snapshots.is_empty()
    }

    /// The runs behind the blocks.
    #[cfg(test)]
    pub fn runs(&self) -> impl Iterator<Item = &Rc<Run>> {
        self.blocks.values().flatten().map(Piece::run)
    }

    /// Keeps pieces that follow each other.
    pub fn insert_block(&mut self, id: BlockId, pieces: Vec<Piece>) -> Result<(), StepError> {
        if self.blocks.contains_key(&id) {
            return Err(mismatch(format!("block {} is kept already", id.0)));
        }
        self.blocks.insert(id, pieces);
        Ok(())
    }

    /// Keeps a snapshot.
    pub fn insert_snapshot(&mut self, id: SnapshotId, snapshot: Snapshot) -> Result<(), StepError> {
        if self.snapshots.contains_key(&id) {
            return Err(mismatch(format!("snapshot {} is kept already", id.0)));
        }
        self.snapshots.insert(id, snapshot);
        Ok(())
    }

    /// The pieces of a block.
    pub fn block(&self, id: BlockId) -> Result<&[Piece], StepError> {
        self.blocks.get(&id).map(Vec::as_slice).ok_or_else(|| mismatch(format!("block {} is not kept", id.0)))
    }

    /// A snapshot.
    pub fn snapshot(&self, id: SnapshotId) -> Result<&Snapshot, StepError> {
        self.snapshots.get(&id).ok_or_else(|| mismatch(format!("snapshot {} is not kept", id.0)))
    }

    /// Lets state go; what no one else reads is freed now.
    pub fn forget(&mut self, kept: &[Kept]) {
        let mut touched: Vec<Rc<Run>> = Vec::new();
        for kept in kept {
            match kept {
                Kept::Block(id) => {
                    for piece in self.blocks.remove(id).into_iter().flatten() {
                        if !touched.iter().any(|run| Rc::ptr_eq(run, piece.run())) {
                            touched.push(Rc::clone(piece.run()));
                        }
                    }
                }
                Kept::Snapshot(id) => drop(self.snapshots.remove(id)),
            }
        }
        shrink(touched);
    }

    /// A cache that starts from `prefix`.
    pub fn open(&mut self, layout: &Rc<Layout>, prefix: &Prefix<'_>) -> Result<SequenceCache, StepError> {
        let pieces = self.prefix(prefix)?;
        let snapshot = self.snapshot_of(layout, prefix)?;
        let mut cache = SequenceCache::on(layout, pieces);
        if let Some(snapshot) = snapshot {
            cache.resume(snapshot);
        }
        Ok(cache)
    }

    fn snapshot_of(&self, layout: &Layout, prefix: &Prefix<'_>) -> Result<Option<&Snapshot>, StepError> {
        if layout.n_full() == layout.kinds().len() || prefix.n_tokens == 0 {
            return Ok(None);
        }
        let id = prefix.snapshot.ok_or_else(|| {
            mismatch(format!("{} positions are reused without the snapshot that this model needs", prefix.n_tokens))
        })?;
        let snapshot = self.snapshot(id)?;
        if snapshot.n_positions != prefix.n_tokens {
            let (n, id) = (snapshot.n_positions, id.0);
            return Err(mismatch(format!("snapshot {id} is of {n} positions, the prefix of {}", prefix.n_tokens)));
        }
        Ok(Some(snapshot))
    }

    /// The first `n_tokens` positions of the blocks, in few pieces.
    fn prefix(&mut self, prefix: &Prefix<'_>) -> Result<Vec<Piece>, StepError> {
        let range = 0..prefix.n_tokens;
        let mut pieces = Vec::new();
        let mut end = 0;
        for id in prefix.blocks {
            for piece in self.block(*id)? {
                if piece.range().start != end || piece.run().is_lost() {
                    let detail =
                        if piece.run().is_lost() { "was lost with a failed step" } else { "does not continue" };
                    return Err(mismatch(format!("block {} {detail}", id.0)));
                }
                end = piece.range().end;
                pieces.extend(piece.clip(&range));
            }
        }
        if end < prefix.n_tokens {
            return Err(mismatch(format!("the blocks hold {end} positions of a prefix of {}", prefix.n_tokens)));
        }
        let mut pieces = join::merge(pieces);
        while let Some(scattered) = join::scattered(&pieces) {
            let Some(run) = join::copied(&pieces[scattered.clone()]).map_err(step_error)? else { break };
            let whole = run.start()..run.end();
            self.move_blocks(prefix.blocks, &run, &whole);
            let old: Vec<_> = pieces.splice(scattered, [Piece::new(run, whole)]).collect();
            let runs = old.iter().map(|piece| Rc::clone(piece.run())).collect();
            drop(old);
            shrink(runs);
        }
        Ok(pieces)
    }

    /// Has the blocks inside `range` live in `run`, which holds a copy of them.
    fn move_blocks(&mut self, blocks: &[BlockId], run: &Rc<Run>, range: &Range<usize>) {
        for id in blocks {
            let Some(pieces) = self.blocks.get_mut(id) else { continue };
            let (start, end) = (pieces.first().map(|p| p.range().start), pieces.last().map(|p| p.range().end));
            if let (Some(start), Some(end)) = (start, end)
                && range.start <= start
                && end <= range.end
            {
                *pieces = vec![Piece::new(Rc::clone(run), start..end)];
            }
        }
    }
}

/// Gives back what runs hold in vain.
pub fn shrink(runs: Vec<Rc<Run>>) {
    for run in runs {
        // The last handle: the run goes with it.
        if Rc::strong_count(&run) > 1
            && let Err(error) = run.shrink()
        {
            tracing::warn!(error = error.what, "kept KV could not be made smaller");
        }
    }
}

/// What the engine should make of bytes that are refused.
pub fn bytes_error(error: BytesError) -> StepError {
    match error {
        BytesError::Foreign(detail) => mismatch(detail),
        BytesError::Mlx(error) => step_error(error),
    }
}

fn mismatch(detail: String) -> StepError {
    StepError::Mismatch { detail }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod engine_tests;
#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
#[cfg(test)]
#[path = "traffic_tests.rs"]
pub mod traffic_tests;
