//! Room for experts where not all are to be in memory at once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::places::Place;
use super::{At, Weights};
use crate::{LoadError, LoadResult};

/// How often what was needed was there.
#[derive(Debug, Default)]
pub struct ExpertCounts {
    /// Experts that a layer needed in a pass and had.
    pub n_hits: Cell<u64>,
    /// Those that had to be read.
    pub n_misses: Cell<u64>,
    /// Bytes read.
    pub n_bytes_read: Cell<u64>,
    /// Experts in memory, of all layers.
    pub n_resident: Cell<u64>,
    /// Experts of all layers.
    pub n_all: Cell<u64>,
}

/// One layer's experts.
#[derive(Clone, Copy, Debug)]
pub struct LayerExperts {
    /// How many.
    pub n: usize,
    /// How many a token takes.
    pub top_k: usize,
    /// Bytes of each as it is kept.
    pub n_bytes: usize,
}

/// Memory for the experts of all layers. Loading asks for all of it first, without reading; then room is given.
#[derive(Debug)]
pub struct Paging {
    n_bytes: u64,
    layers: RefCell<Vec<LayerExperts>>,
    /// Experts of each layer that fit; 0 = not known yet.
    n_slots: Cell<usize>,
    /// See there.
    pub counts: Rc<ExpertCounts>,
}

impl Paging {
    /// Room of `n_bytes`.
    pub fn new(n_bytes: u64) -> Rc<Self> {
        Rc::new(Self { n_bytes, layers: RefCell::default(), n_slots: Cell::new(0), counts: Rc::default() })
    }

    /// A layer asks: how many of its experts may be in memory. `None` while layers are still being counted.
    pub fn ask(&self, layer: LayerExperts) -> Option<usize> {
        if self.n_slots.get() == 0 {
            self.layers.borrow_mut().push(layer);
            return None;
        }
        Some(self.n_slots.get().min(layer.n))
    }

    /// Shares the room out among the layers that asked.
    ///
    /// # Errors
    /// When it does not hold what one token takes, with the sum.
    pub fn share(&self) -> LoadResult<()> {
        let layers = self.layers.take();
        let n_each: u64 = layers.iter().map(|layer| layer.n_bytes as u64).sum();
        let top_k = layers.iter().map(|layer| layer.top_k).max().unwrap_or(0);
        let n_slots = self.n_bytes.checked_div(n_each).unwrap_or(u64::MAX).min(1 << 20) as usize;
        let n_all: usize = layers.iter().map(|layer| layer.n).sum();
        if n_slots < top_k {
            let n_needed = n_each * top_k as u64;
            let gib = |n: u64| n as f64 / f64::from(1 << 30);
            let detail = format!(
                "one token takes {top_k} experts in each of {} layers, {:.3} GiB, but they may have {:.3} GiB; all {n_all} take \
                 {:.3} GiB. Give them at least {n_needed} bytes (--expert-memory), or pick a smaller model",
                layers.len(),
                gib(n_needed),
                gib(self.n_bytes),
                gib(layers.iter().map(|layer| layer.n_bytes as u64 * layer.n as u64).sum())
            );
            return Err(LoadError::Experts { detail });
        }
        self.counts.n_all.set(n_all as u64);
        self.counts.n_resident.set(layers.iter().map(|layer| layer.n.min(n_slots) as u64).sum());
        self.n_slots.set(n_slots.max(1));
        Ok(())
    }
}

impl ExpertCounts {
    /// Counts one layer's pass.
    pub fn add(&self, n_hits: usize, n_misses: usize, n_bytes: usize) {
        self.n_hits.set(self.n_hits.get() + n_hits as u64);
        self.n_misses.set(self.n_misses.get() + n_misses as u64);
        self.n_bytes_read.set(self.n_bytes_read.get() + (n_bytes * n_misses) as u64);
    }
}

impl<'p> Weights<'p> {
    /// The same, with experts in `paging`'s room and all tensors at `places`.
    pub(super) fn with_paging(self, paging: Option<Rc<Paging>>, places: BTreeMap<String, Place>) -> Self {
        Self { paging, places: RefCell::new(places), ..self }
    }
}

impl At<'_, '_> {
    /// Where experts find room, if not all have it.
    pub fn paging(&self) -> Option<&Rc<Paging>> {
        self.weights.paging.as_ref()
    }

    /// Where a tensor below lies, if it is read as it lies.
    pub fn place(&self, name: &str) -> Option<Place> {
        self.weights.places.borrow().get(&self.at(name).path).cloned()
    }
}
