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

/// The layers of a model.
#[derive(Debug)]
pub struct Layout {
    pub(super) kinds: Vec<CacheKind>,
    /// Per layer, its index among those of its run.
    pub(super) full_idx: Vec<usize>,
    pub(super) n_full: usize,
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
        let mut n_full = 0;
        let full_idx = kinds.iter().map(|kind| {
            n_full += usize::from(*kind == CacheKind::Full);
            n_full.saturating_sub(1)
        });
        let full_idx = full_idx.collect();
        Rc::new(Self { kinds: kinds.to_vec(), full_idx, n_full, quantization })
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
