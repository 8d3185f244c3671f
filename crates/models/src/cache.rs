//! What one sequence remembers: KV of all positions in shared runs, and per layer what cannot be cut back or shared by range
//! (windows, recurrent state). Must not know families.

use std::ops::Range;
use std::rc::Rc;

use crate::mx::{self, Array, Cut, Result};
use crate::{LoadError, LoadResult};

pub mod bytes;
pub mod join;
pub mod rotating;
pub mod run;
pub mod snapshot;
pub mod state;
pub mod template;

use rotating::Rotating;
pub use run::Stored;
use run::{Format, Piece, State, Tail};
use state::StateCache;

/// What a layer remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// KV of every position.
    Full,
    /// KV of the last positions.
    Rotating {
        /// Positions a query sees, itself included.
        window: usize,
    },
    /// Arrays of a fixed size.
    State,
}

/// Packed KV from a position on. What comes before stays as computed, so that a position's KV does not depend on how long
/// its sequence becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvQuantization {
    /// 4 or 8.
    pub bits: i32,
    /// First position that is packed.
    pub min_length: usize,
}

/// The layers of a model.
#[derive(Debug)]
pub struct Layout {
    kinds: Vec<CacheKind>,
    /// Per layer, its index among those of its run.
    full_idx: Vec<usize>,
    n_full: usize,
    quantization: Option<KvQuantization>,
}

/// Consecutive positions of a layer as attention reads them.
pub struct Stretch {
    /// `[Hk, S, D]`.
    pub keys: Stored,
    /// `[Hk, S, D]`.
    pub values: Stored,
    /// Which positions.
    pub range: Range<usize>,
}

impl Stretch {
    /// What a window holds.
    pub fn of_window(held: &rotating::Held) -> Result<Self> {
        let heads = |is_values| mx::slice(&held.kv, &[run::half(&held.kv, is_values)]).map(Stored::Dense);
        let range = held.start..held.start + held.kv.dim(1) as usize;
        Ok(Self { keys: heads(0)?, values: heads(1)?, range })
    }

    /// Its part inside `range`.
    pub fn clip(&self, range: &Range<usize>) -> Result<Self> {
        let clipped = self.range.start.max(range.start)..self.range.end.min(range.end);
        let cut = |start: usize| Cut {
            axis: 1,
            start: (start - self.range.start) as i32,
            stop: (clipped.end - self.range.start) as i32,
        };
        let keys = self.keys.slice(cut(clipped.start))?;
        Ok(Self { keys, values: self.values.slice(cut(clipped.start))?, range: clipped })
    }
}

/// One sequence's memory.
pub struct SequenceCache {
    layout: Rc<Layout>,
    /// Shared, from position 0 on.
    pieces: Vec<Piece>,
    /// Runs of its own, after the pieces.
    tails: Vec<Tail>,
    own: Vec<Own>,
    n_positions: usize,
}

/// A layer's memory beside the runs.
#[derive(Clone)]
enum Own {
    Full,
    Rotating(Rotating),
    State(StateCache),
}

/// For undoing a step that could not be built.
pub struct Saved {
    n_positions: usize,
    n_tails: usize,
    last: Option<State>,
    own: Vec<Own>,
}

impl KvQuantization {
    /// Refuses what cannot be packed.
    ///
    /// # Errors
    /// Names the number that is wrong.
    pub fn check(self, mut head_dims: impl Iterator<Item = usize>) -> LoadResult<()> {
        if ![4, 8].contains(&self.bits) {
            return Err(LoadError::KvQuantization { detail: format!("{} bits; it can have 4 or 8", self.bits) });
        }
        match head_dims.find(|dim| !dim.is_multiple_of(run::GROUP_SIZE)) {
            Some(dim) => {
                let detail = format!("heads of {dim} elements, which do not split into groups of {}", run::GROUP_SIZE);
                Err(LoadError::KvQuantization { detail })
            }
            None => Ok(()),
        }
    }
}

impl Layout {
    /// Layers of these kinds.
    pub fn new(kinds: &[CacheKind], quantization: Option<KvQuantization>) -> Rc<Self> {
        let mut n_full = 0;
        let full_idx = kinds.iter().map(|kind| {
            n_full += usize::from(*kind == CacheKind::Full);
            n_full.saturating_sub(1)
        });
        let full_idx = full_idx.collect();
        Rc::new(Self { kinds: kinds.to_vec(), full_idx, n_full, quantization })
    }

    /// How many layers keep every position.
    pub fn n_full(&self) -> usize {
        self.n_full
    }

    /// How each layer remembers.
    pub fn kinds(&self) -> &[CacheKind] {
        &self.kinds
    }

    /// How the KV of a position is stored, and one past the last position stored so.
    pub fn format(&self, position: usize) -> (Format, usize) {
        match self.quantization {
            Some(KvQuantization { bits, min_length }) if position >= min_length => {
                (Format::Packed { bits }, usize::MAX)
            }
            Some(KvQuantization { min_length, .. }) => (Format::Dense, min_length),
            None => (Format::Dense, usize::MAX),
        }
    }
}

impl SequenceCache {
    /// A cache without positions.
    pub fn new(layout: &Rc<Layout>) -> Self {
        let own = layout.kinds.iter().map(|kind| match kind {
            CacheKind::Full => Own::Full,
            CacheKind::Rotating { window } => Own::Rotating(Rotating::new(*window)),
            CacheKind::State => Own::State(StateCache::default()),
        });
        let own = own.collect();
        Self { layout: Rc::clone(layout), pieces: Vec::new(), tails: Vec::new(), own, n_positions: 0 }
    }

    /// A cache that starts with shared positions, which follow each other from 0 on. Goes on in the last run if nothing
    /// else needs what comes after them there.
    pub fn on(layout: &Rc<Layout>, mut pieces: Vec<Piece>) -> Self {
        let n_positions = pieces.last().map_or(0, |piece| piece.range().end);
        let mut tails = Vec::new();
        if let Some(last) = pieces.pop() {
            let (run, range) = (Rc::clone(last.run()), last.range().clone());
            drop(last);
            if !run.is_written() && run.held_end() <= n_positions && run.format() == layout.format(n_positions).0 {
                run.set_end(n_positions);
                tails.push(Tail::take_over(run, range.start));
            } else {
                pieces.push(Piece::new(run, range));
            }
        }
        Self { pieces, tails, n_positions, ..Self::new(layout) }
    }

    /// Positions held.
    pub fn n_positions(&self) -> usize {
        self.n_positions
    }

    /// Makes room for `len` more positions, which the layers write next.
    pub fn begin(&mut self, len: usize) {
        let end = self.n_positions + len;
        while self.n_positions < end {
            let (format, limit) = self.layout.format(self.n_positions);
            let goes_on = self.tails.last().is_some_and(|tail| tail.run().format() == format);
            if !goes_on {
                self.tails.push(Tail::new(format, self.n_positions, self.layout.n_full));
            }
            self.n_positions = end.min(limit);
            self.tails.iter().rev().take(1).for_each(|tail| tail.run().set_end(self.n_positions));
        }
    }

    /// Appends `[2 Hk, L, D]`, the last positions begun, to a layer that attends.
    pub fn append(&mut self, layer_idx: usize, kv: &Array) -> Result<Option<rotating::Held>> {
        match &mut self.own[layer_idx] {
            Own::Rotating(rotating) => return rotating.update(kv).map(Some),
            Own::State(_) => return Err(mx::Error { what: format!("layer {layer_idx} keeps no keys") }),
            Own::Full => {}
        }
        let full_idx = self.layout.full_idx[layer_idx];
        let first = self.n_positions - kv.dim(1) as usize;
        for tail in &self.tails {
            let range = tail.range();
            let (start, stop) = (range.start.max(first), range.end);
            if start == first && stop == self.n_positions {
                tail.run().write(full_idx, start, kv)?;
            } else if start < stop {
                let cut = Cut { axis: 1, start: (start - first) as i32, stop: (stop - first) as i32 };
                tail.run().write(full_idx, start, &mx::slice(kv, &[cut])?)?;
            }
        }
        Ok(None)
    }

    /// What [`SequenceCache::append`] gave when it appended the last `n_new` positions, for a layer that reads them again.
    pub fn appended(&self, layer_idx: usize, n_new: usize) -> Result<Option<rotating::Held>> {
        match &self.own[layer_idx] {
            Own::Rotating(rotating) => rotating.seen_by_last(n_new).map(Some),
            Own::State(_) => Err(mx::Error { what: format!("layer {layer_idx} keeps no keys") }),
            Own::Full => Ok(None),
        }
    }

    /// All positions of a layer that keeps every one.
    pub fn stretches(&self, layer_idx: usize) -> Result<Vec<Stretch>> {
        let full_idx = self.layout.full_idx[layer_idx];
        let shared = self.pieces.iter().map(|piece| (piece.run(), piece.range().clone()));
        let own = self.tails.iter().map(|tail| (tail.run(), tail.range()));
        let stretches = shared.chain(own).filter(|(_, range)| !range.is_empty()).map(|(run, range)| {
            let (keys, values) = run.read(full_idx, &range)?;
            Ok(Stretch { keys, values, range })
        });
        stretches.collect()
    }

    /// A recurrent layer's state.
    ///
    /// # Errors
    /// When the layer is of another kind.
    pub fn state(&mut self, layer_idx: usize) -> Result<&mut StateCache> {
        match &mut self.own[layer_idx] {
            Own::State(state) => Ok(state),
            _ => Err(mx::Error { what: format!("layer {layer_idx} has no state") }),
        }
    }

    /// All recurrent layers' states, in the layers' order.
    pub fn states(&self) -> impl Iterator<Item = &StateCache> {
        self.own.iter().filter_map(|own| match own {
            Own::State(state) => Some(state),
            _ => None,
        })
    }

    /// A recurrent layer's state, to read.
    pub fn state_of(&self, layer_idx: usize) -> Option<&StateCache> {
        match self.own.get(layer_idx) {
            Some(Own::State(state)) => Some(state),
            _ => None,
        }
    }

    /// Forgets the positions from `n_positions` on. Returns whether that was possible: recurrent state goes back where its
    /// pass was told that it may have to, and windows by [`rotating::N_SLACK`].
    pub fn cut_back(&mut self, n_positions: usize) -> bool {
        if n_positions >= self.n_positions {
            return n_positions == self.n_positions;
        }
        let mut own = self.own.clone();
        let can = own.iter_mut().all(|own| match own {
            Own::Full => true,
            Own::Rotating(rotating) => rotating.cut_back(n_positions),
            Own::State(state) => state.cut_back(n_positions),
        });
        if !can {
            return false;
        }
        self.own = own;
        self.n_positions = n_positions;
        self.tails.retain(|tail| tail.from < n_positions);
        match self.tails.last() {
            // Kept positions stay as they are: they become shared ones.
            Some(last) if last.run().held_end() > n_positions => {
                let frozen = self.tails.drain(..).map(|tail| {
                    let range = tail.from..tail.run().end().min(n_positions);
                    Piece::new(Rc::clone(tail.run()), range)
                });
                self.pieces.extend(frozen);
            }
            Some(last) => last.run().set_end(n_positions),
            None => self.pieces = self.pieces.iter().filter_map(|piece| piece.clip(&(0..n_positions))).collect(),
        }
        true
    }

    /// The pieces that hold `range`, for a block to keep.
    pub fn pieces(&self, range: &Range<usize>) -> Vec<Piece> {
        let own = self.tails.iter().filter_map(|tail| {
            let clipped = tail.from.max(range.start)..tail.run().end().min(range.end);
            (!clipped.is_empty()).then(|| Piece::new(Rc::clone(tail.run()), clipped))
        });
        self.pieces.iter().filter_map(|piece| piece.clip(range)).chain(own).collect()
    }

    /// The runs that it reads or writes.
    pub fn runs(&self) -> impl Iterator<Item = &Rc<run::Run>> {
        self.pieces.iter().map(Piece::run).chain(self.tails.iter().map(Tail::run))
    }

    /// The runs that it writes.
    pub fn written(&self) -> impl Iterator<Item = &Rc<run::Run>> {
        self.tails.iter().map(Tail::run)
    }

    /// The arrays that appends make, for evaluation; see [`SequenceCache::states`] for the others.
    pub fn arrays(&self) -> Vec<Array> {
        let mut arrays: Vec<_> = self.written().flat_map(|run| run.arrays()).collect();
        for own in &self.own {
            match own {
                Own::Full | Own::State(_) => {}
                Own::Rotating(rotating) => arrays.extend(rotating.array().cloned()),
            }
        }
        arrays
    }

    /// For [`SequenceCache::restore`].
    pub fn save(&self) -> Saved {
        let last = self.tails.last().map(|tail| tail.run().save());
        Saved { n_positions: self.n_positions, n_tails: self.tails.len(), last, own: self.own.clone() }
    }

    /// Undoes what was appended since `saved`.
    pub fn restore(&mut self, saved: Saved) {
        self.n_positions = saved.n_positions;
        self.tails.truncate(saved.n_tails);
        if let (Some(tail), Some(state)) = (self.tails.last(), saved.last) {
            tail.run().restore(state);
        }
        self.own = saved.own;
    }
}

impl From<Option<usize>> for CacheKind {
    fn from(window: Option<usize>) -> Self {
        window.map_or(Self::Full, |window| Self::Rotating { window })
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
