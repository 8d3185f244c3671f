//! How a model's layers remember. Must not know families.

use std::rc::Rc;

use super::run::{self, Format};
use crate::{LoadError, LoadResult};

/// What a layer remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// KV of every position.
    Full,
    /// KV of the last positions.
    Rotating {
        /// Positions a query sees, itself included.
        window: usize,
    },
    /// Arrays of a fixed size.
    State,
}

/// Packed KV from a position on. What comes before stays as computed, so that a position's KV does not depend on how long
/// its sequence becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvQuantization {
    /// 4 or 8.
    pub bits: i32,
    /// First position that is packed.
    pub min_length: usize,
}

/// Where a layer's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// In the runs of a lane, as the layer of this index.
    Lane(Lane, usize),
    /// The state of this index.
    State(usize),
}

/// Layers that keep the same positions, in the same runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Those that keep every position.
    Full,
    /// Those of the window of this index.
    Window(usize),
}

/// The layers of a model.
#[derive(Debug)]
pub struct Layout {
    pub(super) kinds: Vec<CacheKind>,
    pub(super) seats: Vec<Seat>,
    pub(super) n_full: usize,
    /// Each window, and how many layers have it.
    pub(super) windows: Vec<(usize, usize)>,
    pub(super) n_states: usize,
    quantization: Option<KvQuantization>,
}

impl KvQuantization {
    /// Refuses what cannot be packed.
    ///
    /// # Errors
    /// Names the number that is wrong.
    pub fn check(self, mut head_dims: impl Iterator<Item = usize>) -> LoadResult<()> {
        if ![4, 8].contains(&self.bits) {
            return Err(LoadError::KvQuantization { detail: format!("{} bits; it can have 4 or 8", self.bits) });
        }
        match head_dims.find(|dim| !dim.is_multiple_of(run::GROUP_SIZE)) {
            Some(dim) => {
                let detail = format!("heads of {dim} elements, which do not split into groups of {}", run::GROUP_SIZE);
                Err(LoadError::KvQuantization { detail })
            }
            None => Ok(()),
        }
    }
}

impl Layout {
    /// Layers of these kinds.
    pub fn new(kinds: &[CacheKind], quantization: Option<KvQuantization>) -> Rc<Self> {
        let (mut n_full, mut n_states, mut windows) = (0, 0, Vec::<(usize, usize)>::new());
        let next = |n: &mut usize| std::mem::replace(n, *n + 1);
        let seats = kinds.iter().map(|kind| match kind {
            CacheKind::Full => Seat::Lane(Lane::Full, next(&mut n_full)),
            CacheKind::State => Seat::State(next(&mut n_states)),
            CacheKind::Rotating { window } => {
                let known = windows.iter().position(|(other, _)| other == window);
                let at = known.unwrap_or(windows.len());
                if known.is_none() {
                    windows.push((*window, 0));
                }
                Seat::Lane(Lane::Window(at), next(&mut windows[at].1))
            }
        });
        let seats = seats.collect();
        Rc::new(Self { kinds: kinds.to_vec(), seats, n_full, windows, n_states, quantization })
    }

    /// Whose layers share runs.
    pub fn lanes(&self) -> impl Iterator<Item = Lane> + use<> {
        let full = (self.n_full > 0).then_some(Lane::Full);
        full.into_iter().chain((0..self.windows.len()).map(Lane::Window))
    }

    /// How many layers keep every position.
    pub fn n_full(&self) -> usize {
        self.n_full
    }

    /// How each layer remembers.
    pub fn kinds(&self) -> &[CacheKind] {
        &self.kinds
    }

    /// How the KV of a position is stored, and one past the last position stored so.
    pub fn format(&self, position: usize) -> (Format, usize) {
        match self.quantization {
            Some(KvQuantization { bits, min_length }) if position >= min_length => {
                (Format::Packed { bits }, usize::MAX)
            }
            Some(KvQuantization { min_length, .. }) => (Format::Dense, min_length),
            None => (Format::Dense, usize::MAX),
        }
    }
}

impl From<Option<usize>> for CacheKind {
    fn from(window: Option<usize>) -> Self {
        window.map_or(Self::Full, |window| Self::Rotating { window })
    }
}
