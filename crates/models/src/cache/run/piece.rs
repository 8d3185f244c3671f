//! Who needs which part of a run: ranges that must stay, and the right to append.

use std::ops::Range;
use std::rc::Rc;

use super::{Format, Run};

/// A range of a run that must stay. Counted by the run.
pub struct Piece {
    run: Rc<Run>,
    range: Range<usize>,
}

impl Piece {
    /// Holds `range` of a run.
    pub fn new(run: Rc<Run>, range: Range<usize>) -> Self {
        *run.ends.borrow_mut().entry(range.end).or_default() += 1;
        Self { run, range }
    }

    /// Whose range it is.
    pub fn run(&self) -> &Rc<Run> {
        &self.run
    }

    /// Positions.
    pub fn range(&self) -> &Range<usize> {
        &self.range
    }

    /// Its part inside `range`, if there is any.
    pub fn clip(&self, range: &Range<usize>) -> Option<Self> {
        let clipped = self.range.start.max(range.start)..self.range.end.min(range.end);
        (!clipped.is_empty()).then(|| Self::new(Rc::clone(&self.run), clipped))
    }
}

impl Clone for Piece {
    fn clone(&self) -> Self {
        Self::new(Rc::clone(&self.run), self.range.clone())
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let mut ends = self.run.ends.borrow_mut();
        if let Some(n) = ends.get_mut(&self.range.end) {
            *n -= 1;
            if *n == 0 {
                ends.remove(&self.range.end);
            }
        }
    }
}

/// The right to append to a run, and the part of it that its holder reads.
pub struct Tail {
    run: Rc<Run>,
    /// First position read.
    pub from: usize,
}

impl Tail {
    /// Starts a run at `start`.
    pub fn new(format: Format, start: usize, n_layers: usize) -> Self {
        Self::take_over(Run::new(format, start, n_layers), start)
    }

    /// Goes on with a run that nobody writes.
    pub fn take_over(run: Rc<Run>, from: usize) -> Self {
        assert!(!run.is_written.replace(true), "two sequences would write one run");
        Self { run, from }
    }

    /// What it appends to.
    pub fn run(&self) -> &Rc<Run> {
        &self.run
    }

    /// All that it reads.
    pub fn range(&self) -> Range<usize> {
        self.from..self.run.end()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.run.is_written.set(false);
    }
}
