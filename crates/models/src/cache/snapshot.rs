//! What a sequence's layers remember beside the runs, at one position.

use super::rotating::{Held, Rotating};
use super::state::StateCache;
use super::{CacheKind, Own, SequenceCache};
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
        let layers = self.own.iter().map(|own| {
            Ok(match own {
                Own::Full => LayerState::default(),
                // Of a batch's arrays, only this row's part is to live on.
                Own::State(state) => {
                    LayerState { arrays: state.get().iter().map(mx::contiguous).collect::<Result<_>>()?, start: 0 }
                }
                Own::Rotating(rotating) => match rotating.snapshot()? {
                    Some(Held { kv, start }) => LayerState { arrays: vec![kv], start },
                    None => LayerState::default(),
                },
            })
        });
        Ok(Snapshot { n_positions: self.n_positions, layers: layers.collect::<Result<_>>()? })
    }

    /// Takes the state of a snapshot, which was made at this cache's positions by a sequence of the same model.
    pub fn resume(&mut self, snapshot: &Snapshot) {
        for ((own, kind), state) in self.own.iter_mut().zip(&self.layout.kinds).zip(&snapshot.layers) {
            match kind {
                CacheKind::Full => {}
                CacheKind::State => *own = Own::State(StateCache::of(state.arrays.clone())),
                CacheKind::Rotating { window } => {
                    if let [kv] = state.arrays.as_slice() {
                        let held = Held { kv: kv.clone(), start: state.start };
                        *own = Own::Rotating(Rotating::of(*window, held, snapshot.n_positions));
                    }
                }
            }
        }
    }
}

impl Snapshot {
    /// Its arrays.
    pub fn arrays(&self) -> impl Iterator<Item = &Array> {
        self.layers.iter().flat_map(|layer| &layer.arrays)
    }
}
