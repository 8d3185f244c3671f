//! The memory of a recurrent layer: arrays of a fixed size that each step replaces. Must not know families.

use std::ops::Range;
use std::rc::Rc;

use crate::mx::{Array, Cut, Result, slice};

/// A layer's arrays, none before its first step.
#[derive(Clone, Default)]
pub struct StateCache {
    arrays: Vec<Array>,
    batch: Option<InBatch>,
    past: Vec<Stage>,
}

/// What a layer computes of tokens and state.
pub trait Recurrence {
    /// The states `[1, ..]` before a row's first token, for inputs of these types.
    fn start(&self, inputs: &[Array]) -> Result<Vec<Array>>;

    /// `[R, L, ..]` inputs of `R` rows, and their states `[R, ..]` before: the outputs `[R, L, N]` and the states after.
    fn advance(&self, inputs: &[Array], states: &[Array]) -> Result<(Array, Vec<Array>)>;
}

/// The states of rows that were computed together, `[R, ..]` each, and whose one is ours.
#[derive(Clone)]
struct InBatch {
    arrays: Rc<Vec<Array>>,
    row_idx: usize,
}

/// How a cache's arrays were computed.
pub enum Computed<'c> {
    /// For several rows at once.
    Together(&'c Rc<Vec<Array>>),
    /// For this one.
    Alone(&'c [Array]),
}

/// Positions that may be taken back: what brings the state to any of them.
#[derive(Clone)]
pub struct Stage {
    /// Which positions.
    pub range: Range<usize>,
    /// The state before them.
    pub before: Vec<Array>,
    /// What they bring, `[1, L, ..]` each.
    pub inputs: Vec<Array>,
    /// How the two make the state after them.
    pub recurrence: Rc<dyn Recurrence>,
}

impl StateCache {
    /// A cache of given arrays.
    pub fn of(arrays: Vec<Array>) -> Self {
        Self { arrays, batch: None, past: Vec::new() }
    }

    /// What the last step left, in the layer's own order.
    pub fn get(&self) -> &[Array] {
        &self.arrays
    }

    /// Replaces them. Arrays are values: who kept the old ones still has them.
    #[cfg(test)]
    pub fn set(&mut self, arrays: Vec<Array>) {
        *self = Self::of(arrays);
    }

    /// Replaces them by row `row_idx` of states that were computed together.
    pub fn set_in_batch(&mut self, batch: &Rc<Vec<Array>>, row_idx: usize) -> Result<()> {
        let at = row_idx as i32;
        let row = |array: &Array| match array.dim(0) {
            1 => Ok(array.clone()),
            _ => slice(array, &[Cut { axis: 0, start: at, stop: at + 1 }]),
        };
        self.arrays = batch.iter().map(row).collect::<Result<_>>()?;
        self.batch = Some(InBatch { arrays: Rc::clone(batch), row_idx });
        Ok(())
    }

    /// The states of all rows as they were computed together, if these caches hold them in that order and no others do.
    pub fn batch_of<'c>(caches: impl ExactSizeIterator<Item = &'c Self>) -> Option<Rc<Vec<Array>>> {
        let n_rows = caches.len();
        let mut found: Option<Rc<Vec<Array>>> = None;
        for (row_idx, cache) in caches.enumerate() {
            let InBatch { arrays, row_idx: at } = cache.batch.as_ref()?;
            let is_ours = found.as_ref().is_none_or(|found| Rc::ptr_eq(found, arrays));
            if !is_ours || *at != row_idx || arrays.iter().any(|array| array.dim(0) as usize != n_rows) {
                return None;
            }
            found = Some(Rc::clone(arrays));
        }
        found
    }

    /// Its arrays, with those of the rows that were computed together with it.
    pub fn computed(&self) -> Computed<'_> {
        match &self.batch {
            Some(InBatch { arrays, .. }) => Computed::Together(arrays),
            None => Computed::Alone(&self.arrays),
        }
    }

    /// Remembers how to come back to the positions of `stage`, and forgets how to come back before `n_sure`.
    pub fn remember(&mut self, stage: Option<Stage>, n_sure: usize) {
        self.past.retain(|stage| stage.range.end > n_sure);
        self.past.extend(stage);
    }

    /// Goes back to the state after `n_positions`. Returns whether that was possible.
    pub fn cut_back(&mut self, n_positions: usize) -> bool {
        let Some(at) = self.past.iter().position(|stage| stage.range.contains(&n_positions)) else { return false };
        let stage = &self.past[at];
        match stage.state_after(n_positions - stage.range.start) {
            Ok(arrays) => {
                self.past.truncate(at + 1);
                self.past[at].range.end = n_positions;
                let past = std::mem::take(&mut self.past);
                *self = Self { past, ..Self::of(arrays) };
                true
            }
            Err(error) => {
                tracing::warn!(error = error.what, "recurrent state could not be taken back");
                false
            }
        }
    }
}

impl Stage {
    fn state_after(&self, n: usize) -> Result<Vec<Array>> {
        if n == 0 {
            return Ok(self.before.clone());
        }
        let first = |array: &Array| slice(array, &[Cut { axis: 1, start: 0, stop: n as i32 }]);
        let inputs = self.inputs.iter().map(first).collect::<Result<Vec<_>>>()?;
        Ok(self.recurrence.advance(&inputs, &self.before)?.1)
    }
}
