//! One forward pass over rows of different sequences, flattened to `[T, hidden]`: which tokens belong to which KV cache,
//! and what all layers share. Must not know families.

use std::rc::Rc;

use crate::cache::SequenceCache;
use crate::cache::state::StateCache;
use crate::layers::rope::{Place, Spec, Table};
use crate::mx::{Array, Result};

pub mod groups;

use groups::Groups;

/// The rows of a step and what is computed once for all layers.
pub struct Pass<'a> {
    rows: Vec<PassRow<'a>>,
    places: Vec<Place>,
    tables: Vec<(*const Spec, Table)>,
    masks: Vec<(Span, Array)>,
    groups: Option<Rc<Groups>>,
}

/// One sequence's tokens in a pass.
pub struct PassRow<'a> {
    /// Index of its first token in the batch.
    pub start: usize,
    /// How many tokens.
    pub len: usize,
    /// Positions its caches hold already.
    pub offset: usize,
    /// Prompt length, or what is computed after this pass if that is more.
    pub n_total: usize,
    /// Positions that are sure to stay; those after them may be taken back.
    pub n_sure: usize,
    /// The sequence's memory.
    pub cache: &'a mut SequenceCache,
}

/// Queries `q_start..q_stop` over keys `k_start..k_stop`, by position; `window` bounds how far back a query sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Position of the first query.
    pub q_start: usize,
    /// One past the last query.
    pub q_stop: usize,
    /// Position of the first key.
    pub k_start: usize,
    /// One past the last key.
    pub k_stop: usize,
    /// Keys a query sees, itself included.
    pub window: Option<usize>,
}

impl<'a> Pass<'a> {
    /// A pass over `rows`, whose tokens follow each other; makes room for them in the rows' caches.
    pub fn new(rows: Vec<PassRow<'a>>) -> Self {
        let mut rows = rows;
        rows.iter_mut().for_each(|row| row.cache.begin(row.len));
        let places = rows
            .iter()
            .flat_map(|row| (0..row.len).map(|i| Place { position: row.offset + i, n_total: row.n_total }))
            .collect();
        Self { rows, places, tables: Vec::new(), masks: Vec::new(), groups: None }
    }

    /// Position of each token.
    pub fn positions(&self) -> impl Iterator<Item = usize> + Clone {
        self.places.iter().map(|place| place.position)
    }

    /// How many rows.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// One row.
    pub fn row(&mut self, row_idx: usize) -> &mut PassRow<'a> {
        &mut self.rows[row_idx]
    }

    /// The rows in groups of equally many tokens.
    pub fn groups(&mut self) -> Rc<Groups> {
        let groups = self.groups.take().unwrap_or_else(|| Rc::new(Groups::of(&self.rows)));
        self.groups = Some(Rc::clone(&groups));
        groups
    }

    /// A recurrent layer's states of some rows; those of other layers are left out.
    pub fn states(&self, layer_idx: usize, rows: &[usize]) -> Vec<&StateCache> {
        rows.iter().filter_map(|row_idx| self.rows[*row_idx].cache.state_of(layer_idx)).collect()
    }

    /// The table of a rotation, made at its first use in the pass.
    pub fn rope_table(&mut self, spec: &Rc<Spec>) -> Result<Table> {
        let key = Rc::as_ptr(spec);
        if let Some((_, table)) = self.tables.iter().find(|(known, _)| *known == key) {
            return Ok(table.clone());
        }
        let table = spec.table(&self.places)?;
        self.tables.push((key, table.clone()));
        Ok(table)
    }

    /// Boolean `[L, S]`, true where a query sees a key; made at its first use in the pass.
    pub fn mask(&mut self, span: Span) -> Array {
        if let Some((_, mask)) = self.masks.iter().find(|(known, _)| *known == span) {
            return mask.clone();
        }
        let mask = span.mask();
        self.masks.push((span, mask.clone()));
        mask
    }
}

impl Span {
    /// Whether every query sees every key.
    pub fn is_full(&self) -> bool {
        self.k_stop <= self.q_start + 1 && self.is_causal()
    }

    /// Whether the window hides no key from any query.
    pub fn is_causal(&self) -> bool {
        self.window.is_none_or(|window| self.k_start + window >= self.q_stop)
    }

    fn mask(&self) -> Array {
        let sees = |q: usize, k: usize| k <= q && self.window.is_none_or(|window| k + window > q);
        let (n_q, n_k) = (self.q_stop - self.q_start, self.k_stop - self.k_start);
        let mut mask = Vec::with_capacity(n_q * n_k);
        for q in self.q_start..self.q_stop {
            mask.extend((self.k_start..self.k_stop).map(|k| sees(q, k)));
        }
        Array::from_slice(&mask, &[n_q as i32, n_k as i32])
    }
}
