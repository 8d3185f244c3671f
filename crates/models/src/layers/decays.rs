//! What is left of one place's state at another.

use crate::mx::{self, Array, Result};

/// `[.., Q]` running sums of logarithms to `[.., Q, Q]`: what is left at each place of what each place before it had.
pub fn decays(sums: &Array) -> Result<Array> {
    let q = sums.dim(-1);
    let between = mx::subtract(&mx::expand_dims(sums, -1)?, &mx::expand_dims(sums, -2)?)?;
    let is_before: Vec<bool> = (0..q).flat_map(|i| (0..q).map(move |j| j <= i)).collect();
    let is_before = Array::from_slice(&is_before, &[q, q]);
    // Before the exponential: what comes later would grow without bound.
    mx::exp(&mx::select(&is_before, &between, &mx::scalar(f32::NEG_INFINITY))?)
}
