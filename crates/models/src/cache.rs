//! What one sequence remembers: KV of all positions in shared runs, and per layer what cannot be cut back or shared by range
//! (windows, recurrent state). Must not know families.

use std::ops::Range;
use std::rc::Rc;

use crate::mx::{self, Array, Cut, Result};

pub mod bytes;
pub mod join;
mod layout;
pub mod rotating;
pub mod run;
pub mod slab;
pub mod slabs;
pub mod snapshot;
pub mod state;
pub mod template;

use layout::Seat;
pub use layout::{CacheKind, KvQuantization, Lane, Layout};
use rotating::Rotating;
pub use run::Stored;
use run::{Format, Piece, State, Tail};
use state::StateCache;

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
    /// One a window.
    windows: Vec<Rotating>,
    states: Vec<StateCache>,
    n_positions: usize,
}

/// For undoing a step that could not be built.
pub struct Saved {
    n_positions: usize,
    n_tails: usize,
    last: Option<State>,
    windows: Vec<rotating::Saved>,
    states: Vec<StateCache>,
}

impl SequenceCache {
    /// A cache without positions.
    pub fn new(layout: &Rc<Layout>) -> Self {
        let windows = layout.windows.iter().map(|&(window, n_layers)| Rotating::new(window, n_layers)).collect();
        let states = vec![StateCache::default(); layout.n_states];
        Self { layout: Rc::clone(layout), pieces: Vec::new(), tails: Vec::new(), windows, states, n_positions: 0 }
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
        self.windows.iter_mut().for_each(|window| window.begin(len));
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
        let full_idx = match self.lane(layer_idx)? {
            (Lane::Full, full_idx) => full_idx,
            (Lane::Window(at), idx) => {
                self.windows[at].write(idx, kv)?;
                return self.windows[at].seen_by_last(idx, kv.dim(1) as usize).map(Some);
            }
        };
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
        match self.lane(layer_idx)? {
            (Lane::Full, _) => Ok(None),
            (Lane::Window(at), idx) => self.windows[at].seen_by_last(idx, n_new).map(Some),
        }
    }

    /// All positions of a layer that keeps every one.
    pub fn stretches(&self, layer_idx: usize) -> Result<Vec<Stretch>> {
        let (_, full_idx) = self.lane(layer_idx)?;
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
        match self.layout.seats[layer_idx] {
            Seat::State(at) => Ok(&mut self.states[at]),
            Seat::Lane(..) => Err(mx::Error { what: format!("layer {layer_idx} has no state") }),
        }
    }

    /// All recurrent layers' states, in the layers' order.
    pub fn states(&self) -> impl Iterator<Item = &StateCache> {
        self.states.iter()
    }

    /// A recurrent layer's state, to read.
    pub fn state_of(&self, layer_idx: usize) -> Option<&StateCache> {
        match self.layout.seats.get(layer_idx) {
            Some(Seat::State(at)) => self.states.get(*at),
            _ => None,
        }
    }

    /// Forgets the positions from `n_positions` on. Returns whether that was possible: recurrent state goes back where its
    /// pass was told that it may have to, and windows by [`rotating::N_SLACK`].
    pub fn cut_back(&mut self, n_positions: usize) -> bool {
        if n_positions >= self.n_positions {
            return n_positions == self.n_positions;
        }
        let mut states = self.states.clone();
        let can = self.windows.iter().all(|window| window.can_cut_back(n_positions))
            && states.iter_mut().all(|state| state.cut_back(n_positions));
        if !can {
            return false;
        }
        self.states = states;
        self.windows.iter().for_each(|window| window.cut_back(n_positions));
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

    /// Whose runs an attending layer's positions are in, and which of their layers it is.
    ///
    /// # Errors
    /// When the layer is of another kind.
    pub fn lane(&self, layer_idx: usize) -> Result<(Lane, usize)> {
        match self.layout.seats[layer_idx] {
            Seat::Lane(lane, idx) => Ok((lane, idx)),
            Seat::State(_) => Err(mx::Error { what: format!("layer {layer_idx} keeps no keys") }),
        }
    }

    /// The shared positions that it starts with.
    pub fn prefix(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter()
    }

    /// The one run, dense and read from its start, that holds all positions of a lane after the shared ones.
    pub fn only_run(&self, lane: Lane) -> Option<&Rc<run::Run>> {
        if let Lane::Window(at) = lane {
            return self.windows.get(at).map(Rotating::run);
        }
        let [tail] = self.tails.as_slice() else { return None };
        let run = tail.run();
        (run.format() == Format::Dense && tail.from == run.start()).then_some(run)
    }

    /// The window of a lane, if it has one.
    pub fn window(&self, lane: Lane) -> Option<usize> {
        match lane {
            Lane::Full => None,
            Lane::Window(at) => self.windows.get(at).map(Rotating::window),
        }
    }

    /// Lets go of what windows have left behind, when it is much.
    pub fn rotate(&mut self) {
        self.windows.iter_mut().for_each(Rotating::rotate);
    }

    /// How its model's layers remember.
    pub fn layout(&self) -> &Rc<Layout> {
        &self.layout
    }

    /// The shared positions of a layer; none where it has a window.
    pub fn shared_stretches(&self, layer_idx: usize) -> Result<Vec<Stretch>> {
        let (Lane::Full, full_idx) = self.lane(layer_idx)? else { return Ok(Vec::new()) };
        let stretches = self.pieces.iter().map(|piece| {
            let (keys, values) = piece.run().read(full_idx, piece.range())?;
            Ok(Stretch { keys, values, range: piece.range().clone() })
        });
        stretches.collect()
    }

    /// The runs that it reads or writes.
    pub fn runs(&self) -> impl Iterator<Item = &Rc<run::Run>> {
        self.pieces.iter().map(Piece::run).chain(self.written())
    }

    /// The runs that it writes.
    pub fn written(&self) -> impl Iterator<Item = &Rc<run::Run>> {
        self.tails.iter().map(Tail::run).chain(self.windows.iter().map(Rotating::run))
    }

    /// The arrays that appends make, for evaluation; see [`SequenceCache::states`] for the others.
    pub fn arrays(&self) -> Vec<Array> {
        self.written().flat_map(|run| run.arrays()).collect()
    }

    /// For [`SequenceCache::restore`].
    pub fn save(&self) -> Saved {
        let last = self.tails.last().map(|tail| tail.run().save());
        let windows = self.windows.iter().map(Rotating::save).collect();
        Saved { n_positions: self.n_positions, n_tails: self.tails.len(), last, windows, states: self.states.clone() }
    }

    /// Undoes what was appended since `saved`.
    pub fn restore(&mut self, saved: Saved) {
        self.n_positions = saved.n_positions;
        self.tails.truncate(saved.n_tails);
        if let (Some(tail), Some(state)) = (self.tails.last(), saved.last) {
            tail.run().restore(state);
        }
        self.windows.iter_mut().zip(saved.windows).for_each(|(window, saved)| window.restore(saved));
        self.states = saved.states;
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
