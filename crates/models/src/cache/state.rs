//! The memory of a recurrent layer: arrays of a fixed size that each step replaces. Must not know families.

use crate::mx::Array;

/// A layer's arrays, none before its first step.
#[derive(Clone, Default)]
pub struct StateCache {
    arrays: Vec<Array>,
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

    #[allow(dead_code)]
    /// Replaces them. Arrays are values: who kept the old ones still has them.
    pub fn set(&mut self, arrays: Vec<Array>) {
        self.arrays = arrays;
    }
}
