//! The arrays that a model's caches hold: what imported state must look like, and what it costs.

use super::layout::Seat;
use super::run::{Format, GROUP_SIZE};
use super::{Lane, Layout, SequenceCache};
use crate::mx::{Array, Dtype, item_size};

/// Shapes of a model's caches, read from one that has been used.
#[derive(Clone, Debug, Default)]
pub struct Template {
    /// Layers that keep every position.
    full: Vec<Rows>,
    own: Vec<OwnShape>,
}

/// `[2 Hk, ., D]`.
#[derive(Clone, Copy, Debug)]
struct Rows {
    n_heads: i32,
    dim: i32,
    dtype: Dtype,
}

#[derive(Clone, Debug)]
enum OwnShape {
    Full,
    Rotating(Rows, usize),
    State(Vec<Tensor>),
}

/// Shape and element type of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Row-major.
    pub shape: Vec<i32>,
    /// Element type.
    pub dtype: Dtype,
}

impl Tensor {
    /// Bytes of its elements.
    pub fn n_bytes(&self) -> usize {
        let n: usize = self.shape.iter().map(|&len| len.max(0) as usize).product();
        n * item_size(self.dtype).unwrap_or(0)
    }
}

impl From<&Array> for Tensor {
    fn from(array: &Array) -> Self {
        Self { shape: array.shape().to_vec(), dtype: array.dtype() }
    }
}

impl Rows {
    /// As dense storage of `parts` would be.
    fn of(parts: &[Array], format: Format) -> Option<Self> {
        let first = parts.first()?;
        match format {
            Format::Dense => Some(Self { n_heads: first.dim(0), dim: first.dim(2), dtype: first.dtype() }),
            Format::Packed { bits } => {
                Some(Self { n_heads: first.dim(0), dim: first.dim(2) * 32 / bits, dtype: parts.get(1)?.dtype() })
            }
        }
    }

    fn tensors(self, format: Format, n: usize) -> Vec<Tensor> {
        let Self { n_heads, dim, dtype } = self;
        let tensor = |dim: i32, dtype| Tensor { shape: vec![n_heads, n as i32, dim], dtype };
        match format {
            Format::Dense => vec![tensor(dim, dtype)],
            Format::Packed { bits } => {
                let n_groups = dim / GROUP_SIZE as i32;
                vec![tensor(dim * bits / 32, Dtype::Uint32), tensor(n_groups, dtype), tensor(n_groups, dtype)]
            }
        }
    }
}

impl Template {
    /// Of a cache that holds at least one position.
    pub fn of(cache: &SequenceCache) -> Self {
        let mut full = Vec::new();
        for run in cache.written().take(1) {
            full.extend(run.with_layers(|layers| {
                layers.iter().filter_map(|parts| Rows::of(parts, run.format())).collect::<Vec<_>>()
            }));
        }
        let own = cache.layout.seats.iter().map(|seat| match *seat {
            Seat::State(at) => OwnShape::State(cache.states[at].get().iter().map(Tensor::from).collect()),
            Seat::Lane(Lane::Full, _) => OwnShape::Full,
            Seat::Lane(Lane::Window(at), idx) => {
                let window = &cache.windows[at];
                let rows = window.run().with_layers(|layers| Rows::of(&layers[idx], Format::Dense));
                rows.map_or(OwnShape::Full, |rows| OwnShape::Rotating(rows, window.window()))
            }
        });
        Self { full, own: own.collect() }
    }

    /// Elements of each layer's heads that keep every position.
    pub fn head_dims(&self) -> impl Iterator<Item = usize> {
        self.full.iter().map(|rows| rows.dim as usize)
    }

    /// The arrays of `n` positions in all layers of a run.
    pub fn run(&self, format: Format, n: usize) -> Vec<Vec<Tensor>> {
        self.full.iter().map(|rows| rows.tensors(format, n)).collect()
    }

    /// The arrays of a snapshot at `n_positions`, and the first position of each layer's window.
    pub fn snapshot(&self, n_positions: usize) -> Vec<(Vec<Tensor>, usize)> {
        let layers = self.own.iter().map(|own| match own {
            OwnShape::Full => (Vec::new(), 0),
            OwnShape::State(tensors) => (tensors.clone(), 0),
            OwnShape::Rotating(rows, window) => {
                let start = (n_positions + 1).saturating_sub(*window);
                (rows.tensors(Format::Dense, n_positions - start), start)
            }
        });
        layers.collect()
    }

    /// Bytes that one more position costs in the runs of a long sequence.
    pub fn kv_bytes_per_token(&self, layout: &Layout) -> usize {
        self.run(layout.format(usize::MAX).0, 1).iter().flatten().map(Tensor::n_bytes).sum()
    }

    /// Bytes of a snapshot of a long sequence; 0 when every layer keeps every position.
    pub fn snapshot_bytes(&self, n_context: usize) -> usize {
        self.snapshot(n_context).iter().flat_map(|(tensors, _)| tensors).map(Tensor::n_bytes).sum()
    }
}
