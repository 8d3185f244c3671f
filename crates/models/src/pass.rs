//! One forward pass over rows of different sequences, flattened to `[T, hidden]`: which tokens belong to which KV cache,
//! and what all layers share. Must not know families.

use std::rc::Rc;

use crate::cache::state::StateCache;
use crate::cache::{Lane, SequenceCache};
use crate::layers::rope::{Place, Spec, Table};
use crate::mx::{Array, Result};

pub mod groups;
mod stairs;
pub mod together;

use groups::Groups;
use stairs::Stairs;
use together::Together;

/// The rows of a step and what is computed once for all layers.
pub struct Pass<'a> {
    rows: Vec<PassRow<'a>>,
    places: Vec<Place>,
    tables: Vec<(*const Spec, Table)>,
    masks: Vec<(Span, Array)>,
    stairs: Vec<Stairs>,
    groups: Option<Rc<Groups>>,
    together: Vec<(Lane, Option<Rc<Together>>)>,
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

/// How far back a query sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// To the first position.
    All,
    /// Over this many positions, its own included.
    Window(usize),
    /// To the start of its chunk: positions are cut into chunks of this many (Meta 2025).
    Chunk(usize),
}

/// Queries `q_start..q_stop` over keys `k_start..k_stop`, by position.
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
    /// How far back a query sees.
    pub reach: Reach,
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
        let (tables, masks, stairs) = (Vec::new(), Vec::new(), Vec::new());
        Self { rows, places, tables, masks, stairs, groups: None, together: Vec::new() }
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

    /// The rows whose KV of a lane lies side by side; `None` = none.
    pub fn together(&mut self, lane: Lane) -> Result<Option<Rc<Together>>> {
        if let Some((_, together)) = self.together.iter().find(|(known, _)| *known == lane) {
            return Ok(together.clone());
        }
        let together = Together::of(&self.rows, lane)?.map(Rc::new);
        self.together.push((lane, together.clone()));
        Ok(together)
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
        let mask = Array::from_slice(&span.cells(true, false), &span.shape());
        self.masks.push((span, mask.clone()));
        mask
    }

    /// The same for adding to scores: `[L, S]` of 0 and, where a query does not see a key, minus infinity.
    pub fn hiding(&mut self, span: Span) -> Result<Array> {
        if let Some(stairs) = self.stairs.iter().find(|stairs| stairs.covers(&span)) {
            return stairs.cut(&span);
        }
        let n_most = self.rows.iter().map(|row| row.offset + row.len).max().unwrap_or(0);
        let stairs = Stairs::new(span, n_most);
        let cut = stairs.cut(&span);
        self.stairs.push(stairs);
        cut
    }
}

impl Reach {
    /// First position that a query at `position` sees.
    pub fn first(self, position: usize) -> usize {
        match self {
            Self::All => 0,
            Self::Window(window) => (position + 1).saturating_sub(window),
            Self::Chunk(size) => position / size * size,
        }
    }
}

impl From<Option<usize>> for Reach {
    fn from(window: Option<usize>) -> Self {
        window.map_or(Self::All, Self::Window)
    }
}

impl Span {
    /// Keys before the first query.
    fn n_before(&self) -> usize {
        self.q_start - self.k_start
    }

    /// Whether every query sees every key.
    pub fn is_full(&self) -> bool {
        self.k_stop <= self.q_start + 1 && self.is_causal()
    }

    /// Whether every query sees all keys up to its own.
    pub fn is_causal(&self) -> bool {
        self.q_stop == self.q_start || self.reach.first(self.q_stop - 1) <= self.k_start
    }

    fn shape(&self) -> [i32; 2] {
        [(self.q_stop - self.q_start) as i32, (self.k_stop - self.k_start) as i32]
    }

    /// `[L, S]`: `seen` where a query sees a key.
    fn cells<T: Copy>(&self, seen: T, hidden: T) -> Vec<T> {
        let sees = |q: usize, k: usize| k <= q && k >= self.reach.first(q);
        let (n_q, n_k) = (self.q_stop - self.q_start, self.k_stop - self.k_start);
        let mut cells = Vec::with_capacity(n_q * n_k);
        for q in self.q_start..self.q_stop {
            cells.extend((self.k_start..self.k_stop).map(|k| if sees(q, k) { seen } else { hidden }));
        }
        cells
    }
}
