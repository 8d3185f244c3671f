//! Recurrences over the rows of a pass: neighbours of equally many tokens at once, each from its own state.

use std::ops::Range;
use std::rc::Rc;

use crate::cache::state::Recurrence;
use crate::mx::{self, Array, Cut, Result};
use crate::pass::Pass;

/// A recurrent layer of a network.
pub struct Recurrent {
    recurrence: Rc<dyn Recurrence>,
    layer_idx: usize,
}

/// Neighbouring rows of as many tokens each.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    /// Which rows: `R` of them.
    rows: Range<usize>,
    /// Index of their first token in the pass.
    start: usize,
    /// Tokens of each row: `L`.
    len: usize,
}

impl Recurrent {
    /// Layer `layer_idx`, which has a state cache.
    pub fn new(recurrence: Rc<dyn Recurrence>, layer_idx: usize) -> Self {
        Self { recurrence, layer_idx }
    }

    /// Advances the states of all rows by the inputs, `[T, ..]` each: the outputs, `[T, N]`.
    pub fn forward(&self, inputs: &[Array], pass: &mut Pass<'_>) -> Result<Array> {
        let mut parts = Vec::new();
        for group in groups(pass) {
            let inputs = inputs.iter().map(|tokens| group.of(tokens)).collect::<Result<Vec<_>>>()?;
            let states = self.states(&group, &inputs, pass)?;
            let (y, states) = self.recurrence.advance(&inputs, &states)?;
            self.keep(&group, &states, pass)?;
            parts.push(mx::reshape(&y, &[y.dim(0) * y.dim(1), y.dim(2)])?);
        }
        joined(&parts)
    }

    /// `[R, ..]` each: what a group's rows keep.
    fn states(&self, group: &Group, inputs: &[Array], pass: &mut Pass<'_>) -> Result<Vec<Array>> {
        let start = self.recurrence.start(inputs)?;
        let mut rows = Vec::new();
        for row_idx in group.rows.clone() {
            let kept = pass.row(row_idx).cache.state(self.layer_idx)?.get();
            rows.push(if kept.len() == start.len() { kept.to_vec() } else { start.clone() });
        }
        (0..start.len()).map(|i| joined(&rows.iter().map(|row| row[i].clone()).collect::<Vec<_>>())).collect()
    }

    /// Has a group's rows keep `[R, ..]` each.
    fn keep(&self, group: &Group, states: &[Array], pass: &mut Pass<'_>) -> Result<()> {
        for (row_idx, at) in group.rows.clone().zip(0..) {
            let nth = |array: &Array| mx::slice(array, &[Cut { axis: 0, start: at, stop: at + 1 }]);
            let kept = states.iter().map(nth).collect::<Result<_>>()?;
            pass.row(row_idx).cache.state(self.layer_idx)?.set(kept);
        }
        Ok(())
    }
}

impl Group {
    /// Its part of `[T, ..]` as `[R, L, ..]`.
    fn of(&self, tokens: &Array) -> Result<Array> {
        let (n_rows, len) = (self.rows.len() as i32, self.len as i32);
        let (start, stop) = (self.start as i32, self.start as i32 + n_rows * len);
        let shape = [&[n_rows, len], &tokens.shape()[1..]].concat();
        match tokens.dim(0) == n_rows * len {
            true => mx::reshape(tokens, &shape),
            false => mx::reshape(&mx::slice(tokens, &[Cut { axis: 0, start, stop }])?, &shape),
        }
    }
}

/// The rows in as few groups as their order allows.
fn groups(pass: &mut Pass<'_>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for row_idx in 0..pass.n_rows() {
        let (start, len) = (pass.row(row_idx).start, pass.row(row_idx).len);
        match groups.last_mut() {
            Some(group) if group.len == len => group.rows.end = row_idx + 1,
            _ => groups.push(Group { rows: row_idx..row_idx + 1, start, len }),
        }
    }
    groups
}

fn joined(parts: &[Array]) -> Result<Array> {
    match parts {
        [part] => Ok(part.clone()),
        parts => mx::concatenate(&parts.iter().collect::<Vec<_>>(), 0),
    }
}

#[cfg(test)]
#[path = "recurrent_tests.rs"]
mod tests;
