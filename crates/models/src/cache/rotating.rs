//! The KV of a layer that sees a window: a buffer written in place; when it is full, the positions still needed move to the
//! front of a new one. Must not know families.

use crate::mx::{self, Array, Cut, Result};

/// Positions a buffer grows by at a time.
const N_GROWTH: usize = 256;

/// Positions kept beyond the window, so that a few can be cut back.
pub const N_SLACK: usize = 32;

/// Keys and values of a sequence's last positions.
#[derive(Clone)]
pub struct Rotating {
    /// Positions a query sees, itself included.
    window: usize,
    /// `[2 Hk, capacity, D]`: the heads of keys, then those of values.
    buffer: Option<Array>,
    /// Position of the buffer's first entry.
    start: usize,
    n_positions: usize,
}

/// Keys and values of consecutive positions.
pub struct Held {
    /// `[2 Hk, S, D]`.
    pub kv: Array,
    /// Position of the first.
    pub start: usize,
}

impl Rotating {
    /// An empty cache for queries that see `window` positions.
    pub fn new(window: usize) -> Self {
        Self { window, buffer: None, start: 0, n_positions: 0 }
    }

    /// A cache of `n_positions`, of which `held` are the last.
    pub fn of(window: usize, held: Held, n_positions: usize) -> Self {
        Self { window, buffer: Some(held.kv), start: held.start, n_positions }
    }

    /// Appends `[2 Hk, L, D]`; returns them and all positions that the first of them sees.
    pub fn update(&mut self, kv: &Array) -> Result<Held> {
        let n_new = kv.dim(1) as usize;
        let visible = self.first_visible().max(self.start);
        // Taken out, so that the only handle left is the graph's and the write happens in place.
        let buffer = match self.buffer.take() {
            Some(buffer) if self.n_positions - self.start + n_new <= buffer.dim(1) as usize => buffer,
            old => {
                let kept = visible.saturating_sub(N_SLACK).max(self.start);
                let moved = self.moved(old, kv, kept)?;
                self.start = kept;
                moved
            }
        };
        let buffer = mx::slice_update(&buffer, kv, 1, (self.n_positions - self.start) as i32)?;
        self.n_positions += n_new;
        self.buffer = Some(buffer);
        self.seen_by_last(n_new)
    }

    /// The last `n_new` positions and all that the first of them sees.
    pub fn seen_by_last(&self, n_new: usize) -> Result<Held> {
        self.held_from(first_visible(self.n_positions - n_new, self.window).max(self.start))
    }

    /// Forgets the positions from `n_positions` on. Returns whether all that the next position sees is still there; when
    /// not, nothing has changed.
    pub fn cut_back(&mut self, n_positions: usize) -> bool {
        let n_positions = self.n_positions.min(n_positions);
        let is_there = first_visible(n_positions, self.window) >= self.start;
        if is_there {
            self.n_positions = n_positions;
        }
        is_there
    }

    /// What later positions can see, as a copy.
    pub fn snapshot(&self) -> Result<Option<Held>> {
        if self.buffer.is_none() {
            return Ok(None);
        }
        let Held { kv, start } = self.held_from(self.first_visible().max(self.start))?;
        Ok(Some(Held { kv: mx::contiguous(&kv)?, start }))
    }

    /// The array behind it, for evaluation.
    pub fn array(&self) -> Option<&Array> {
        self.buffer.as_ref()
    }

    fn held_from(&self, first: usize) -> Result<Held> {
        let buffer = self.buffer.as_ref().ok_or_else(|| mx::Error { what: "an empty window was read".into() })?;
        let (start, stop) = ((first - self.start) as i32, (self.n_positions - self.start) as i32);
        Ok(Held { kv: mx::slice(buffer, &[Cut { axis: 1, start, stop }])?, start: first })
    }

    fn first_visible(&self) -> usize {
        first_visible(self.n_positions, self.window)
    }

    /// A buffer with room for `new`, starting with what `old` holds from position `first` on.
    fn moved(&self, old: Option<Array>, new: &Array, first: usize) -> Result<Array> {
        let n_kept = self.n_positions - first;
        // A window's worth of positions must not fill its buffer at once, or every step would move it.
        let n_spare = if n_kept > 0 { N_GROWTH } else { 0 };
        let n_room = (n_kept + new.dim(1) as usize + 1).next_multiple_of(N_GROWTH) + n_spare;
        let zeros = |n: usize| mx::zeros(&[new.dim(0), n as i32, new.dim(2)], new.dtype());
        match old {
            Some(old) if n_kept > 0 => {
                let start = (first - self.start) as i32;
                let kept = mx::slice(&old, &[Cut { axis: 1, start, stop: start + n_kept as i32 }])?;
                mx::concatenate(&[&kept, &zeros(n_room - n_kept)?], 1)
            }
            _ => zeros(n_room),
        }
    }
}

/// First position that a query at position `n_positions` sees.
fn first_visible(n_positions: usize, window: usize) -> usize {
    (n_positions + 1).saturating_sub(window)
}

#[cfg(test)]
#[path = "rotating_tests.rs"]
mod tests;
