//! The KV cache of one sequence and layer: buffers that grow in blocks and are written in place. With a window it is a
//! rotating cache: when a buffer is full, the positions still visible move to its front. Must not know families.

use crate::mx::{self, Array, Cut, Result};

/// Positions a cache grows by at a time.
const N_BLOCK: usize = 256;

/// Keys and values of a sequence's positions, or of the last ones only.
#[derive(Clone, Default)]
pub struct KvCache {
    /// Positions a query sees, itself included; `None` = all.
    window: Option<usize>,
    /// `[Hk, capacity, D]` each.
    buffers: Option<(Array, Array)>,
    /// Position of the buffers' first entry.
    start: usize,
    n_positions: usize,
}

/// Keys and values of a run of positions, `[Hk, S, D]` each.
pub struct Held {
    /// Keys.
    pub keys: Array,
    /// Values.
    pub values: Array,
    /// Position of the first.
    pub start: usize,
}

impl KvCache {
    /// An empty cache for queries that see `window` positions.
    pub fn new(window: Option<usize>) -> Self {
        Self { window, ..Self::default() }
    }

    /// Appends `[Hk, L, D]`; returns them and all positions that the first of them sees.
    pub fn update(&mut self, keys: &Array, values: &Array) -> Result<Held> {
        let n_new = keys.dim(1) as usize;
        let visible = self.first_visible().max(self.start);
        // Taken out, so that the only handle left is the graph's and the write happens in place.
        let (k, v) = match self.buffers.take() {
            Some((k, v)) if self.n_positions - self.start + n_new <= k.dim(1) as usize => (k, v),
            buffers => {
                let (old_k, old_v) = buffers.unzip();
                let moved = (self.moved(old_k, keys, visible)?, self.moved(old_v, values, visible)?);
                self.start = visible;
                moved
            }
        };
        let at = (self.n_positions - self.start) as i32;
        let k = mx::slice_update(&k, keys, 1, at)?;
        let v = mx::slice_update(&v, values, 1, at)?;
        self.n_positions += n_new;
        let stop = (self.n_positions - self.start) as i32;
        let cut = [Cut { axis: 1, start: (visible - self.start) as i32, stop }];
        let held = Held { keys: mx::slice(&k, &cut)?, values: mx::slice(&v, &cut)?, start: visible };
        self.buffers = Some((k, v));
        Ok(held)
    }

    /// Forgets the positions from `n_positions` on. Returns whether all that the next position sees is still there.
    pub fn trim(&mut self, n_positions: usize) -> bool {
        self.n_positions = self.n_positions.min(n_positions);
        self.first_visible() >= self.start
    }

    /// The arrays behind it, for evaluation.
    pub fn arrays(&self) -> impl Iterator<Item = &Array> {
        self.buffers.iter().flat_map(|(k, v)| [k, v])
    }

    fn first_visible(&self) -> usize {
        self.window.map_or(0, |window| (self.n_positions + 1).saturating_sub(window))
    }

    /// A buffer with room for `new`, starting with what `old` holds from position `visible` on.
    fn moved(&self, old: Option<Array>, new: &Array, visible: usize) -> Result<Array> {
        let n_kept = self.n_positions - visible;
        // A window's worth of positions must not fill its buffer at once, or every step would move it.
        let n_spare = if n_kept > 0 && self.window.is_some() { N_BLOCK } else { 0 };
        // One more, or a prompt that just fills a block would have all layers grow in the first decode step.
        let n_room = (n_kept + new.dim(1) as usize + 1).next_multiple_of(N_BLOCK) + n_spare;
        let zeros = |n: usize| mx::zeros(&[new.dim(0), n as i32, new.dim(2)], new.dtype());
        match old {
            Some(old) if n_kept > 0 => {
                let start = (visible - self.start) as i32;
                let kept = mx::slice(&old, &[Cut { axis: 1, start, stop: start + n_kept as i32 }])?;
                mx::concatenate(&[&kept, &zeros(n_room - n_kept)?], 1)
            }
            _ => zeros(n_room),
        }
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
