//! KV of several runs side by side, so that attention takes sequences of different lengths in one call. Must not know
//! sequences or families.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use super::run::{self, Run, room};
use crate::mx::{self, Array, Cut, Dtype, Result};

/// Buffers in which each run that appends has a slot of its own.
#[derive(Default)]
pub struct Slab {
    /// Per layer `[N, 2 Hk, capacity, D]`; none for a layer that no run has written.
    layers: RefCell<Vec<Option<Array>>>,
    n_rows: Cell<usize>,
    capacity: Cell<usize>,
    /// Whose slot each is.
    runs: RefCell<Vec<Weak<Run>>>,
}

/// Where a run lives that is in a slab.
#[derive(Clone)]
pub struct Place {
    /// In which.
    pub slab: Rc<Slab>,
    /// Its index there.
    pub slot: usize,
}

/// A slab's arrays, for undoing what a step wrote.
pub struct Saved(Rc<Slab>, Vec<Option<Array>>);

impl Slab {
    /// How many runs it holds.
    pub fn n_slots(&self) -> usize {
        self.runs.borrow().len()
    }

    /// Positions that each run has room for.
    pub fn capacity(&self) -> usize {
        self.capacity.get()
    }

    /// The arrays behind it.
    pub fn arrays(&self) -> Vec<Array> {
        self.layers.borrow().iter().flatten().cloned().collect()
    }

    /// Marks all of it as spoilt: runs share arrays, and a step that fails fails with all of an array.
    pub fn lose(&self) {
        self.runs.borrow().iter().filter_map(Weak::upgrade).for_each(|run| run.mark_lost());
    }

    /// For [`Saved::restore`].
    pub fn save(self: &Rc<Self>) -> Saved {
        Saved(Rc::clone(self), self.layers.borrow().clone())
    }

    /// A run's `[2 Hk, capacity, D]`, as a view.
    pub fn view(&self, layer_idx: usize, slot: usize) -> Result<Option<Array>> {
        let layers = self.layers.borrow();
        let Some(Some(array)) = layers.get(layer_idx) else { return Ok(None) };
        mx::squeeze(&mx::slice(array, &[slot_cut(slot)])?, 0).map(Some)
    }

    /// The keys' heads, or the values', of the first `n_keys` positions of all runs: `[N, Hk, S, D]`.
    pub fn heads(&self, layer_idx: usize, is_values: i32, n_keys: usize) -> Result<Array> {
        let layers = self.layers.borrow();
        let Some(Some(array)) = layers.get(layer_idx) else {
            return Err(mx::Error { what: "a layer without keys and values was read".into() });
        };
        let rows = Cut { axis: 0, start: 0, stop: self.n_slots() as i32 };
        let heads = run::half_of(array.dim(1), is_values);
        let keys = Cut { axis: 2, start: 0, stop: n_keys as i32 };
        mx::slice(array, &[rows, Cut { axis: 1, ..heads }, keys])
    }

    /// Writes `[2 Hk, L, D]` to a run, from its position `at` on.
    pub fn write(&self, layer_idx: usize, (slot, at): (usize, usize), kv: &Array) -> Result<()> {
        let cuts = [slot_cut(slot), Cut { axis: 2, start: at as i32, stop: at as i32 + kv.dim(1) }];
        let like = [kv.dim(0), kv.dim(2)];
        self.change(layer_idx, (like, kv.dtype()), |array| {
            mx::slice_update_within(&array, &mx::expand_dims(kv, 0)?, &cuts)
        })
    }

    /// Writes `[T, 2 Hk, D]`, each token at its own slot and position, `[T]` each.
    pub fn scatter(&self, layer_idx: usize, [slots, positions]: [&Array; 2], kv: &Array) -> Result<()> {
        let (n_tokens, n_heads, dim) = (kv.dim(0), kv.dim(1), kv.dim(2));
        let new = mx::reshape(kv, &[n_tokens, 1, n_heads, 1, dim])?;
        self.change(layer_idx, ([n_heads, dim], kv.dtype()), |array| {
            mx::scatter(&array, &[slots, positions], &new, &[0, 2])
        })
    }

    /// A layer's array made anew; `like` is its `2 Hk` and `D` and its type, in case that there is none.
    fn change(
        &self,
        layer_idx: usize,
        ([n_heads, dim], dtype): ([i32; 2], Dtype),
        change: impl FnOnce(Array) -> Result<Array>,
    ) -> Result<()> {
        // Taken out, so that the only handle left is the graph's and the write happens in place.
        let old = self.layers.borrow_mut().get_mut(layer_idx).and_then(Option::take);
        let old = match old {
            Some(old) => old,
            None => mx::zeros(&[self.n_rows.get() as i32, n_heads, self.capacity.get() as i32, dim], dtype)?,
        };
        let new = change(old)?;
        let mut layers = self.layers.borrow_mut();
        if layers.len() <= layer_idx {
            layers.resize(layer_idx + 1, None);
        }
        layers[layer_idx] = Some(new);
        Ok(())
    }

    /// Makes room for `n_slots` runs of `n_positions`; gives back slots when most are free.
    pub fn reserve(&self, n_slots: usize, n_positions: usize) -> Result<()> {
        let (n_rows, capacity) = (self.n_rows.get(), self.capacity.get());
        let is_loose = n_rows > 2 * n_slots + 2;
        let fits = n_slots <= n_rows && n_positions <= capacity && !is_loose;
        if fits {
            return Ok(());
        }
        // A quarter to spare, or runs that come one by one would each move all others.
        let new_rows = if n_slots > n_rows || is_loose { n_slots + n_slots / 4 } else { n_rows };
        let new_capacity = if n_positions > capacity { room(n_positions) } else { capacity };
        let kept = Cut { axis: 0, start: 0, stop: n_rows.min(new_rows) as i32 };
        for layer in self.layers.borrow_mut().iter_mut() {
            let Some(old) = layer.as_ref() else { continue };
            let zeros = |shape: [i32; 4]| mx::zeros(&shape, old.dtype());
            let (n_heads, dim) = (old.dim(1), old.dim(3));
            let mut new = mx::slice(old, &[kept])?;
            if new_capacity > capacity {
                let more = zeros([new.dim(0), n_heads, (new_capacity - capacity) as i32, dim])?;
                new = mx::concatenate(&[&new, &more], 2)?;
            }
            if new_rows > n_rows {
                let more = zeros([(new_rows - n_rows) as i32, n_heads, new_capacity as i32, dim])?;
                new = mx::concatenate(&[&new, &more], 0)?;
            }
            // A view would keep all of what it was cut from.
            *layer = Some(mx::contiguous(&new)?);
        }
        self.n_rows.set(new_rows);
        self.capacity.set(new_capacity);
        Ok(())
    }

    /// Takes a run in, with what its own buffers hold. Needs room: see [`Slab::reserve`].
    pub fn take_in(self: &Rc<Self>, run: &Rc<Run>) -> Result<()> {
        let slot = self.n_slots();
        let held = run.own_parts()?;
        for (layer_idx, part) in held.iter().enumerate() {
            let Some(part) = part else { continue };
            // All of the slot is written: what an earlier run left there must not meet this one's masks.
            let n_free = self.capacity.get() as i32 - part.dim(1);
            let zeros = mx::zeros(&[part.dim(0), n_free, part.dim(2)], part.dtype())?;
            self.write(layer_idx, (slot, 0), &mx::concatenate(&[part, &zeros], 1)?)?;
        }
        self.runs.borrow_mut().push(Rc::downgrade(run));
        run.settle(Some(Place { slab: Rc::clone(self), slot }));
        Ok(())
    }

    /// Moves runs to the front where others have gone.
    pub fn close_gaps(self: &Rc<Self>) -> Result<()> {
        let mut slot = 0;
        while slot < self.n_slots() {
            let is_gone = self.runs.borrow()[slot].upgrade().is_none_or(|run| !self.seats(&run, slot));
            if !is_gone {
                slot += 1;
                continue;
            }
            let last = self.n_slots() - 1;
            let moved = self.runs.borrow()[last].upgrade().filter(|_| last != slot);
            if let Some(run) = moved.filter(|run| self.seats(run, last)) {
                let n_layers = self.layers.borrow().len();
                for layer_idx in 0..n_layers {
                    // As a copy: the graph must not need the array that it writes to.
                    if let Some(view) = self.view(layer_idx, last)? {
                        let copy = mx::contiguous(&view)?;
                        mx::eval(&[&copy])?;
                        drop(view);
                        self.write(layer_idx, (slot, 0), &copy)?;
                    }
                }
                self.runs.borrow_mut()[slot] = Rc::downgrade(&run);
                run.settle(Some(Place { slab: Rc::clone(self), slot }));
            }
            self.runs.borrow_mut().pop();
        }
        Ok(())
    }

    fn seats(self: &Rc<Self>, run: &Run, slot: usize) -> bool {
        run.place().is_some_and(|place| Rc::ptr_eq(&place.slab, self) && place.slot == slot)
    }

    /// The runs in it, dead ones left out.
    pub fn runs(&self) -> Vec<Rc<Run>> {
        self.runs.borrow().iter().filter_map(Weak::upgrade).collect()
    }
}

impl Saved {
    /// Undoes what was written since.
    pub fn restore(self) {
        let Self(slab, layers) = self;
        slab.layers.replace(layers);
    }
}

fn slot_cut(slot: usize) -> Cut {
    Cut { axis: 0, start: slot as i32, stop: slot as i32 + 1 }
}

#[cfg(test)]
#[path = "slab_tests.rs"]
mod tests;
