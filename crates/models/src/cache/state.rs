//! The memory of a recurrent layer: arrays of a fixed size that each step replaces. Must not know families.

use crate::mx::{Array, Result};

/// A layer's arrays, none before its first step.
#[derive(Clone, Default)]
pub struct StateCache {
    arrays: Vec<Array>,
}

/// What a layer computes of tokens and state.
pub trait Recurrence {
    /// The states `[1, ..]` before a row's first token, for inputs of these types.
    fn start(&self, inputs: &[Array]) -> Result<Vec<Array>>;

    /// `[R, L, ..]` inputs of `R` rows, and their states `[R, ..]` before: the outputs `[R, L, N]` and the states after.
    fn advance(&self, inputs: &[Array], states: &[Array]) -> Result<(Array, Vec<Array>)>;
}

impl StateCache {
    /// A cache of given arrays.
    pub fn of(arrays: Vec<Array>) -> Self {
        Self { arrays }
    }

    /// What the last step left, in the layer's own order.
    pub fn get(&self) -> &[Array] {
        &self.arrays
    }

    /// Replaces them. Arrays are values: who kept the old ones still has them.
    pub fn set(&mut self, arrays: Vec<Array>) {
        self.arrays = arrays;
    }
}
