//! Masks to add to scores. What a query sees depends on how far back a key lies, so that those of all blocks of queries are
//! cut out of one.

use super::{Reach, Span};
use crate::mx::{self, Array, Cut, Result};

/// The mask of the queries furthest on.
pub(super) struct Stairs {
    span: Span,
    /// `[L, S]`.
    cells: Array,
}

impl Stairs {
    /// For spans like `span`, of sequences of at most `n_most` positions.
    pub(super) fn new(span: Span, n_most: usize) -> Self {
        let n_queries = span.q_stop - span.q_start;
        let n_before = match span.reach {
            Reach::All => n_most.max(span.n_before()),
            Reach::Window(window) => window.max(span.n_before()),
            // Chunks begin at fixed positions: no other block has this mask.
            Reach::Chunk(_) => span.n_before(),
        };
        let k_start = if matches!(span.reach, Reach::Chunk(_)) { span.k_start } else { 0 };
        let q_start = k_start + n_before;
        let q_stop = q_start + n_queries;
        let span = Span { q_start, q_stop, k_start, k_stop: q_stop, reach: span.reach };
        let cells = Array::from_slice(&span.cells(0.0_f32, f32::NEG_INFINITY), &span.shape());
        Self { span, cells }
    }

    /// Whether the mask of `span` can be cut out.
    pub(super) fn covers(&self, span: &Span) -> bool {
        let is_movable = !matches!(span.reach, Reach::Chunk(_));
        let is_inside = span.q_stop - span.q_start <= self.span.q_stop - self.span.q_start
            && span.n_before() <= self.span.n_before();
        self.span == *span || (self.span.reach == span.reach && is_movable && is_inside)
    }

    /// The mask of `span`, whose keys end with its queries.
    pub(super) fn cut(&self, span: &Span) -> Result<Array> {
        let (n_queries, n_before) = ((span.q_stop - span.q_start) as i32, span.n_before() as i32);
        let start = self.span.n_before() as i32 - n_before;
        let rows = Cut { axis: 0, start: 0, stop: n_queries };
        mx::slice(&self.cells, &[rows, Cut { axis: 1, start, stop: start + n_before + n_queries }])
    }
}

#[cfg(test)]
#[path = "stairs_tests.rs"]
mod tests;
