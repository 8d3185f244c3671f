//! KV of the layers that see a window: a run whose front is let go of now and then. Must not know families.

use std::ops::Range;
use std::rc::Rc;

use super::run::{Format, Run, State, Tail};
use crate::mx::{self, Array, Result};

/// Positions beyond what is needed that a run may hold before its front goes.
const N_GROWTH: usize = 256;

/// Positions kept beyond the window, so that a few can be cut back.
pub const N_SLACK: usize = 32;

/// Keys and values of a sequence's last positions, of all layers with one window.
pub struct Rotating {
    /// Positions a query sees, itself included.
    window: usize,
    tail: Tail,
}

/// Keys and values of consecutive positions.
pub struct Held {
    /// `[2 Hk, S, D]`.
    pub kv: Array,
    /// Position of the first.
    pub start: usize,
}

/// For undoing a step.
pub struct Saved(Rc<Run>, State);

impl Rotating {
    /// An empty cache of `n_layers` for queries that see `window` positions.
    pub fn new(window: usize, n_layers: usize) -> Self {
        Self { window, tail: Tail::new(Format::Dense, 0, n_layers) }
    }

    /// A cache of the positions of `range`, the last ones, of which `layers` hold `[2 Hk, S, D]` each.
    pub fn of(window: usize, range: Range<usize>, layers: Vec<Vec<Array>>) -> Self {
        let start = range.start;
        Self { window, tail: Tail::take_over(Run::of(Format::Dense, range, layers), start) }
    }

    /// Its positions.
    pub fn run(&self) -> &Rc<Run> {
        self.tail.run()
    }

    /// Positions a query sees, itself included.
    pub fn window(&self) -> usize {
        self.window
    }

    /// Lets go of the front when much of it is seen no more.
    pub fn rotate(&mut self) {
        // What cannot go now goes later.
        if let Err(error) = self.try_rotate() {
            tracing::warn!(error = error.what, "a window keeps what it has left behind");
        }
    }

    fn try_rotate(&mut self) -> Result<()> {
        let run = self.run();
        let kept = first_visible(run.end(), self.window).saturating_sub(N_SLACK);
        if kept < run.start() + N_GROWTH {
            return Ok(());
        }
        run.move_out()?;
        let range = kept..run.end();
        let layers = (0..run.n_layers()).map(|layer_idx| run.parts(layer_idx, &range)).collect::<Result<_>>()?;
        *self = Self::of(self.window, range, layers);
        Ok(())
    }

    /// Makes room for `len` more positions.
    pub fn begin(&mut self, len: usize) {
        self.rotate();
        self.run().set_end(self.run().end() + len);
    }

    /// Writes `[2 Hk, L, D]`, the last positions begun, to a layer.
    pub fn write(&self, layer_idx: usize, kv: &Array) -> Result<()> {
        self.run().write(layer_idx, self.run().end() - kv.dim(1) as usize, kv)
    }

    /// Of a layer, the last `n_new` positions and all that the first of them sees.
    pub fn seen_by_last(&self, layer_idx: usize, n_new: usize) -> Result<Held> {
        self.held_from(layer_idx, first_visible(self.run().end() - n_new, self.window))
    }

    /// Whether all that a position sees is still there once the positions from `n_positions` on are forgotten.
    pub fn can_cut_back(&self, n_positions: usize) -> bool {
        first_visible(self.run().end().min(n_positions), self.window) >= self.run().start()
    }

    /// Forgets the positions from `n_positions` on.
    pub fn cut_back(&self, n_positions: usize) {
        self.run().set_end(self.run().end().min(n_positions));
    }

    /// Of a layer, what later positions can see, as a copy.
    pub fn snapshot(&self, layer_idx: usize) -> Result<Option<Held>> {
        if self.run().end() == 0 {
            return Ok(None);
        }
        let Held { kv, start } = self.held_from(layer_idx, first_visible(self.run().end(), self.window))?;
        Ok(Some(Held { kv: mx::contiguous(&kv)?, start }))
    }

    /// For [`Rotating::restore`].
    pub fn save(&self) -> Saved {
        Saved(Rc::clone(self.run()), self.run().save())
    }

    /// Undoes what was begun and written since.
    pub fn restore(&mut self, Saved(run, state): Saved) {
        if !Rc::ptr_eq(&run, self.run()) {
            let start = run.start();
            self.tail = Tail::take_over(Rc::clone(&run), start);
        }
        run.restore(state);
    }

    fn held_from(&self, layer_idx: usize, first: usize) -> Result<Held> {
        let run = self.run();
        let start = first.max(run.start());
        let parts = run.parts(layer_idx, &(start..run.end()))?;
        let kv = parts.into_iter().next().ok_or_else(|| mx::Error { what: "an empty window was read".into() })?;
        Ok(Held { kv, start })
    }
}

/// First position that a query at position `n_positions` sees.
fn first_visible(n_positions: usize, window: usize) -> usize {
    (n_positions + 1).saturating_sub(window)
}

#[cfg(test)]
#[path = "rotating_tests.rs"]
mod tests;
