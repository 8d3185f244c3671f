//! Cuts a step into passes of bounded size: what a pass allocates grows with its tokens, and a CPU gains nothing from more.

use tokbar_engine::{Row, RowInput, Step};

/// A run of one row's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which row of the step.
    pub row_idx: usize,
    /// First token, counted from the row's first.
    pub first: usize,
    /// How many tokens.
    pub len: usize,
    /// Index of its first token in the pass.
    pub start: usize,
}

/// The passes of a step, each of at most `n_max` tokens, rows in order; no row has two parts in one pass.
pub fn cut(step: &Step, n_max: usize) -> Vec<Vec<Part>> {
    let mut passes = vec![Vec::new()];
    let mut n_pass = 0;
    for (row_idx, row) in step.rows.iter().enumerate() {
        let n_row = n_tokens(row);
        let mut first = 0;
        while first < n_row {
            if n_pass == n_max {
                passes.push(Vec::new());
                n_pass = 0;
            }
            let len = (n_row - first).min(n_max - n_pass);
            let part = Part { row_idx, first, len, start: n_pass };
            passes.last_mut().into_iter().for_each(|pass| pass.push(part));
            first += len;
            n_pass += len;
        }
    }
    passes
}

/// How many tokens a row computes.
pub fn n_tokens(row: &Row) -> usize {
    match &row.input {
        RowInput::Tokens(tokens) => tokens.len(),
        RowInput::Pending => 1,
    }
}

#[cfg(test)]
#[path = "cut_tests.rs"]
mod tests;
