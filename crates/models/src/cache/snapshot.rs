//! What a sequence's layers remember beside the runs, at one position.

use super::layout::Seat;
use super::rotating::{Held, Rotating};
use super::state::StateCache;
use super::{Lane, SequenceCache};
use crate::mx::{self, Array, Result};

/// State of the layers that cannot be cut back.
pub struct Snapshot {
    /// Positions that had been computed.
    pub n_positions: usize,
    /// One entry a layer; layers that keep every position have none.
    pub layers: Vec<LayerState>,
}

/// One layer's arrays.
#[derive(Clone, Default)]
pub struct LayerState {
    /// `[2 Hk, S, D]` of a window, or a recurrent layer's own.
    pub arrays: Vec<Array>,
    /// Position of a window's first entry.
    pub start: usize,
}

impl SequenceCache {
    /// The state after all positions so far. Windows are copied, without what no later position sees.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let layers = self.layout.seats.iter().map(|seat| {
            Ok(match *seat {
                Seat::Lane(Lane::Full, _) => LayerState::default(),
                // Of a batch's arrays, only this row's part is to live on.
                Seat::State(at) => {
                    let arrays = self.states[at].get().iter().map(mx::contiguous).collect::<Result<_>>()?;
                    LayerState { arrays, start: 0 }
                }
                Seat::Lane(Lane::Window(at), idx) => match self.windows[at].snapshot(idx)? {
                    Some(Held { kv, start }) => LayerState { arrays: vec![kv], start },
                    None => LayerState::default(),
                },
            })
        });
        Ok(Snapshot { n_positions: self.n_positions, layers: layers.collect::<Result<_>>()? })
    }

    /// Takes the state of a snapshot, which was made at this cache's positions by a sequence of the same model.
    pub fn resume(&mut self, snapshot: &Snapshot) {
        let mut windows: Vec<Vec<&LayerState>> = vec![Vec::new(); self.windows.len()];
        for (seat, state) in self.layout.seats.iter().zip(&snapshot.layers) {
            match *seat {
                Seat::Lane(Lane::Full, _) => {}
                Seat::State(at) => self.states[at] = StateCache::of(state.arrays.clone()),
                Seat::Lane(Lane::Window(at), _) => windows[at].push(state),
            }
        }
        for (window, layers) in self.windows.iter_mut().zip(windows) {
            let start = layers.first().map_or(0, |layer| layer.start);
            let layers = layers.into_iter().map(|layer| layer.arrays.clone()).collect();
            *window = Rotating::of(window.window(), start..snapshot.n_positions, layers);
        }
    }
}

impl Snapshot {
    /// Its arrays.
    pub fn arrays(&self) -> impl Iterator<Item = &Array> {
        self.layers.iter().flat_map(|layer| &layer.arrays)
    }
}
