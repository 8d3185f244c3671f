//! Recurrences over the rows of a pass: rows of equally many tokens at once, each from its own state.

use std::rc::Rc;

use crate::cache::state::{Recurrence, Stage, StateCache};
use crate::mx::{self, Array, Cut, Result};
use crate::pass::Pass;
use crate::pass::groups::Group;

/// A recurrent layer of a network.
pub struct Recurrent {
    recurrence: Rc<dyn Recurrence>,
    layer_idx: usize,
}

impl Recurrent {
    /// Layer `layer_idx`, which has a state cache.
    pub fn new(recurrence: Rc<dyn Recurrence>, layer_idx: usize) -> Self {
        Self { recurrence, layer_idx }
    }

    /// Advances the states of all rows by the inputs, `[T, ..]` each: the outputs, `[T, N]`.
    pub fn forward(&self, inputs: &[Array], pass: &mut Pass<'_>) -> Result<Array> {
        let groups = pass.groups();
        let mut outputs = Vec::new();
        for group in groups.iter() {
            let inputs = inputs.iter().map(|input| group.take(input)).collect::<Result<Vec<_>>>()?;
            let before = self.states(group, &inputs, pass)?;
            let (output, after) = self.recurrence.advance(&inputs, &before)?;
            outputs.push(output);
            self.keep(group, [&inputs, &before], after, pass)?;
        }
        groups.join(&outputs)
    }

    /// `[R, ..]`: the states of a group's rows.
    fn states(&self, group: &Group, inputs: &[Array], pass: &Pass<'_>) -> Result<Vec<Array>> {
        let caches = pass.states(self.layer_idx, &group.rows);
        if caches.len() < group.rows.len() {
            return Err(mx::Error { what: format!("layer {} has no state", self.layer_idx) });
        }
        if let Some(batch) = StateCache::batch_of(caches.iter().copied()) {
            return Ok(batch.to_vec());
        }
        let start = self.recurrence.start(inputs)?;
        let of_row = |cache: &StateCache, at: usize| cache.get().get(at).unwrap_or(&start[at]).clone();
        let joined = (0..start.len()).map(|at| {
            let rows: Vec<_> = caches.iter().map(|cache| of_row(cache, at)).collect();
            match rows.as_slice() {
                [row] => Ok(row.clone()),
                rows => mx::concatenate(&rows.iter().collect::<Vec<_>>(), 0),
            }
        });
        joined.collect()
    }

    /// Stores the states after, and what brings back those before where positions may be taken back.
    fn keep(&self, group: &Group, past: [&[Array]; 2], after: Vec<Array>, pass: &mut Pass<'_>) -> Result<()> {
        let after = Rc::new(after);
        for (at, row_idx) in group.rows.iter().enumerate() {
            let row = pass.row(*row_idx);
            let (range, n_sure) = (row.offset..row.offset + row.len, row.n_sure);
            let stage = if range.end > n_sure {
                let [inputs, before] = past.map(|arrays| rows(arrays, at));
                Some(Stage { range, before: before?, inputs: inputs?, recurrence: Rc::clone(&self.recurrence) })
            } else {
                None
            };
            let cache = row.cache.state(self.layer_idx)?;
            cache.set_in_batch(&after, at)?;
            cache.remember(stage, n_sure);
        }
        Ok(())
    }
}

/// Row `at` of each `[R, ..]`, `[1, ..]`.
fn rows(arrays: &[Array], at: usize) -> Result<Vec<Array>> {
    let cut = Cut { axis: 0, start: at as i32, stop: at as i32 + 1 };
    arrays.iter().map(|array| mx::slice(array, &[cut])).collect()
}
