//! Storage of KV: a run of positions with one buffer a layer, appended to in place. What is written never changes, so that
//! sequences and blocks share a run by range. Must not know sequences or families.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use super::slab::Place;
use crate::mx::{self, Array, Cut, Dtype, Packed, Packing, Result};

mod piece;

pub use piece::{Piece, Tail};

/// Positions that a buffer's size is a multiple of.
const N_GRAIN: usize = 64;

/// Elements that share a scale in packed KV.
pub const GROUP_SIZE: usize = 64;

/// How a run stores its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As computed: one array a layer.
    Dense,
    /// In `bits` bits: packed words, scales and biases.
    Packed {
        /// 4 or 8.
        bits: i32,
    },
}

/// Keys or values as stored, `[Hk, S, D]` or its packing.
#[derive(Clone)]
pub enum Stored {
    /// As computed.
    Dense(Array),
    /// Packed along the last axis.
    Packed(Packed),
}

impl Stored {
    /// A part of it, along an axis before the last.
    pub fn slice(&self, cut: Cut) -> Result<Self> {
        self.map(|array| mx::slice(array, &[cut]))
    }

    /// The given positions, `[K]`.
    pub fn take(&self, positions: &Array) -> Result<Self> {
        self.map(|array| mx::take(array, positions, 1))
    }

    /// Unpacked.
    pub fn dense(&self, dtype: Dtype) -> Result<Array> {
        match self {
            Self::Dense(array) => Ok(array.clone()),
            Self::Packed(packed) => mx::dequantize(packed, dtype),
        }
    }

    fn map(&self, part: impl Fn(&Array) -> Result<Array>) -> Result<Self> {
        Ok(match self {
            Self::Dense(array) => Self::Dense(part(array)?),
            Self::Packed(Packed { weight, scales, biases, packing }) => Self::Packed(Packed {
                weight: part(weight)?,
                scales: part(scales)?,
                biases: biases.as_ref().map(&part).transpose()?,
                packing: *packing,
            }),
        })
    }
}

/// The heads of keys, or of values, among those stored. A single one is both: the keys are the values too.
pub fn half(stored: &Array, is_values: i32) -> Cut {
    half_of(stored.dim(0), is_values)
}

/// The same of `n` heads.
pub fn half_of(n: i32, is_values: i32) -> Cut {
    if n == 1 {
        return Cut { axis: 0, start: 0, stop: 1 };
    }
    Cut { axis: 0, start: is_values * n / 2, stop: (is_values + 1) * n / 2 }
}

/// KV of positions from `start` on. Each layer's arrays are `[2 Hk, capacity, X]`: the heads of keys, then those of values.
pub struct Run {
    format: Format,
    start: usize,
    state: RefCell<State>,
    /// In a slab instead of buffers of its own.
    place: RefCell<Option<Place>>,
    /// How many pieces end at each position.
    ends: RefCell<BTreeMap<usize, usize>>,
    is_written: Cell<bool>,
    is_lost: Cell<bool>,
}

/// What appends change; kept to undo them.
#[derive(Clone, Default)]
pub struct State {
    layers: Vec<Vec<Array>>,
    end: usize,
}

impl Format {
    /// The arrays that `[2 Hk, L, D]` is stored as.
    fn pack(self, kv: &Array) -> Result<Vec<Array>> {
        match self {
            Self::Dense => Ok(vec![kv.clone()]),
            Self::Packed { bits } => {
                let Packed { weight, scales, biases, .. } = mx::quantize(kv, packing(bits))?;
                Ok([weight, scales].into_iter().chain(biases).collect())
            }
        }
    }

    /// What `parts` store.
    fn stored(self, parts: Vec<Array>) -> Result<Stored> {
        let mut parts = parts.into_iter();
        match (self, parts.next(), parts.next(), parts.next()) {
            (Self::Dense, Some(array), ..) => Ok(Stored::Dense(array)),
            (Self::Packed { bits }, Some(weight), Some(scales), biases) => {
                Ok(Stored::Packed(Packed { weight, scales, biases, packing: packing(bits) }))
            }
            _ => Err(mx::Error { what: "a layer without keys and values was read".into() }),
        }
    }
}

fn packing(bits: i32) -> Packing {
    Packing { group_size: GROUP_SIZE as i32, bits, mode: c"affine" }
}

impl Run {
    /// A run without positions.
    pub fn new(format: Format, start: usize, n_layers: usize) -> Rc<Self> {
        Self::of(format, start..start, vec![Vec::new(); n_layers])
    }

    /// A run of given arrays, which hold the positions of `range`.
    pub fn of(format: Format, range: Range<usize>, layers: Vec<Vec<Array>>) -> Rc<Self> {
        Rc::new(Self {
            format,
            start: range.start,
            state: RefCell::new(State { layers, end: range.end }),
            place: RefCell::default(),
            ends: RefCell::default(),
            is_written: Cell::new(false),
            is_lost: Cell::new(false),
        })
    }

    /// How it stores.
    pub fn format(&self) -> Format {
        self.format
    }

    /// First position.
    pub fn start(&self) -> usize {
        self.start
    }

    /// How many layers it stores.
    pub fn n_layers(&self) -> usize {
        self.state.borrow().layers.len()
    }

    /// One past the last position written or about to be.
    pub fn end(&self) -> usize {
        self.state.borrow().end
    }

    /// Sets [`Run::end`]: positions from there on are free to be written.
    pub fn set_end(&self, end: usize) {
        self.state.borrow_mut().end = end;
    }

    /// One past the last position that a piece needs.
    pub fn held_end(&self) -> usize {
        self.ends.borrow().last_key_value().map_or(self.start, |(end, _)| *end)
    }

    /// Whether a sequence appends to it.
    pub fn is_written(&self) -> bool {
        self.is_written.get()
    }

    /// Whether a step that wrote to it failed.
    pub fn is_lost(&self) -> bool {
        self.is_lost.get()
    }

    /// Marks it as spoilt, and all that shares its arrays.
    pub fn lose(&self) {
        self.mark_lost();
        self.place.borrow().iter().for_each(|place| place.slab.lose());
    }

    /// Marks nothing but it.
    pub fn mark_lost(&self) {
        self.is_lost.set(true);
    }

    /// Where it is, if not in buffers of its own.
    pub fn place(&self) -> Option<Place> {
        self.place.borrow().clone()
    }

    /// Has it live in a slab, which holds its positions, or not.
    pub fn settle(&self, place: Option<Place>) {
        if place.is_some() {
            self.state.borrow_mut().layers.iter_mut().for_each(Vec::clear);
        }
        self.place.replace(place);
    }

    /// What its own buffers hold of each layer, `[2 Hk, S, D]`.
    pub fn own_parts(&self) -> Result<Vec<Option<Array>>> {
        let state = self.state.borrow();
        let stop = (state.end - self.start) as i32;
        let part = |part: &Array| mx::slice(part, &[Cut { axis: 1, start: 0, stop }]);
        state.layers.iter().map(|parts| parts.first().map(part).transpose()).collect()
    }

    /// Leaves its slab, with the positions that it or its pieces hold. Waits for the device.
    pub fn move_out(&self) -> Result<()> {
        let Some(Place { slab, slot }) = self.place() else { return Ok(()) };
        let end = if self.is_written() { self.end() } else { self.held_end() };
        if end > self.start && !self.is_lost() {
            let cut = Cut { axis: 1, start: 0, stop: (end - self.start) as i32 };
            let mut layers = Vec::with_capacity(self.n_layers());
            for layer_idx in 0..self.n_layers() {
                let view = slab.view(layer_idx, slot)?;
                let part = view.map(|view| mx::contiguous(&mx::slice(&view, &[cut])?)).transpose()?;
                // At once, so that the slab can be written in place.
                mx::eval(&part.iter().collect::<Vec<_>>())?;
                layers.push(part.into_iter().collect());
            }
            self.state.borrow_mut().layers = layers;
        }
        self.set_end(end);
        self.settle(None);
        Ok(())
    }

    /// For undoing what appends do.
    pub fn save(&self) -> State {
        self.state.borrow().clone()
    }

    /// Undoes appends.
    pub fn restore(&self, state: State) {
        self.state.replace(state);
    }

    /// Bytes of its buffers.
    #[cfg(test)]
    pub fn n_bytes(&self) -> usize {
        self.state.borrow().layers.iter().flatten().map(Array::nbytes).sum()
    }

    /// The arrays behind it, for evaluation.
    pub fn arrays(&self) -> Vec<Array> {
        if let Some(place) = self.place() {
            return place.slab.arrays();
        }
        self.state.borrow().layers.iter().flatten().cloned().collect()
    }

    /// What `read` makes of each layer's arrays.
    pub fn with_layers<T>(&self, read: impl FnOnce(&[Vec<Array>]) -> T) -> T {
        read(&self.state.borrow().layers)
    }

    /// Writes `[2 Hk, L, D]` of the positions from `at` on to a layer.
    pub fn write(&self, layer_idx: usize, at: usize, kv: &Array) -> Result<()> {
        if let Some(Place { slab, slot }) = self.place() {
            return slab.write(layer_idx, (slot, at - self.start), kv);
        }
        let new = self.format.pack(kv)?;
        // Taken out, so that the only handle left is the graph's and the write happens in place.
        let old = std::mem::take(&mut self.state.borrow_mut().layers[layer_idx]);
        let mut old = old.into_iter();
        let written = new.iter().map(|new| write(old.next(), new, at - self.start)).collect::<Result<_>>()?;
        self.state.borrow_mut().layers[layer_idx] = written;
        Ok(())
    }

    /// Keys and values of a layer's positions.
    pub fn read(&self, layer_idx: usize, range: &Range<usize>) -> Result<(Stored, Stored)> {
        let (start, stop) = self.offsets(range);
        let parts = self.buffers(layer_idx)?;
        let stored = |is_values: i32| {
            let parts = parts.iter().map(|part| {
                let heads = half(part, is_values);
                mx::slice(part, &[heads, Cut { axis: 1, start, stop }])
            });
            self.format.stored(parts.collect::<Result<_>>()?)
        };
        Ok((stored(0)?, stored(1)?))
    }

    /// A layer's arrays at the positions of `range`, as views.
    pub fn parts(&self, layer_idx: usize, range: &Range<usize>) -> Result<Vec<Array>> {
        let (start, stop) = self.offsets(range);
        let parts = self.buffers(layer_idx)?;
        parts.iter().map(|part| mx::slice(part, &[Cut { axis: 1, start, stop }])).collect()
    }

    /// A layer's arrays, or the view of them in a slab.
    fn buffers(&self, layer_idx: usize) -> Result<Vec<Array>> {
        match self.place() {
            Some(Place { slab, slot }) => Ok(slab.view(layer_idx, slot)?.into_iter().collect()),
            None => Ok(self.state.borrow().layers[layer_idx].clone()),
        }
    }

    fn offsets(&self, range: &Range<usize>) -> (i32, i32) {
        ((range.start - self.start) as i32, (range.end - self.start) as i32)
    }

    /// Gives back what no piece needs, when nobody writes and enough of it is free that the copy pays.
    pub fn shrink(&self) -> Result<()> {
        if self.is_written() || self.is_lost() {
            return Ok(());
        }
        self.move_out()?;
        let end = self.held_end();
        self.set_end(end);
        let n_held = end - self.start;
        for layer_idx in 0..self.n_layers() {
            let capacity = self.state.borrow().layers[layer_idx].first().map_or(0, |part| part.dim(1) as usize);
            if capacity <= room(n_held) {
                continue;
            }
            let views = self.parts(layer_idx, &(self.start..end))?;
            let parts = views.iter().map(mx::contiguous).collect::<Result<Vec<_>>>()?;
            // Layer by layer, so that the copy never doubles the run.
            mx::eval(&parts.iter().collect::<Vec<_>>())?;
            self.state.borrow_mut().layers[layer_idx] = parts;
        }
        Ok(())
    }
}

/// Positions that a buffer of `n` is made for: an eighth to spare, so that growth copies each position a bounded number of
/// times; at least one, or a prompt that fills its buffer would have all layers grow in the first decode step.
pub fn room(n: usize) -> usize {
    (n + n / 8 + 1).next_multiple_of(N_GRAIN)
}

/// `old` with `new` at position `at`, in place when it has room.
fn write(old: Option<Array>, new: &Array, at: usize) -> Result<Array> {
    let n_needed = at + new.dim(1) as usize;
    let buffer = match old {
        Some(old) if old.dim(1) as usize >= n_needed => old,
        old => {
            let n_room = room(n_needed);
            let zeros = |n: usize| mx::zeros(&[new.dim(0), n as i32, new.dim(2)], new.dtype());
            match old {
                Some(old) if at > 0 => {
                    let kept = mx::slice(&old, &[Cut { axis: 1, start: 0, stop: at as i32 }])?;
                    mx::concatenate(&[&kept, &zeros(n_room - at)?], 1)?
                }
                _ => zeros(n_room)?,
            }
        }
    };
    mx::slice_update(&buffer, new, 1, at as i32)
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
