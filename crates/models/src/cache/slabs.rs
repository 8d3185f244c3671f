//! Which runs live side by side: those of sequences that decode in the same steps, start from the same shared positions and
//! have like lengths. Must not know families.

use std::ops::Range;
use std::rc::Rc;

use super::run::{Piece, Run};
use super::slab::{Saved, Slab};
use super::{Lane, SequenceCache};
use crate::mx::Result;

/// Most tokens of a row that takes its attention together with others: decodes, drafts included.
pub const N_TOKENS_MAX: usize = 16;

/// Positions up to which all lengths are alike: what padding costs there is less than what a call costs.
const N_SHORT: usize = 1024;

/// All slabs of a model.
#[derive(Default)]
pub struct Slabs {
    slabs: Vec<(Kind, Rc<Slab>)>,
}

/// What runs must have in common.
#[derive(Clone, PartialEq, Eq)]
struct Kind {
    lane: Lane,
    /// The shared positions before them.
    prefix: Vec<(*const Run, Range<usize>)>,
    /// See [`class`].
    class: u32,
}

/// Runs of one kind in a step, and the most positions that one of them will hold.
struct Wanted {
    kind: Kind,
    runs: Vec<Rc<Run>>,
    n_positions: usize,
}

impl Slabs {
    /// Brings the runs of a step's rows side by side where that pays. `rows` are caches and the tokens they are to take.
    ///
    /// # Errors
    /// MLX's; nothing is lost then.
    pub fn arrange<'c>(&mut self, rows: impl Iterator<Item = (&'c mut SequenceCache, usize)>) -> Result<()> {
        self.tidy()?;
        let mut wanted: Vec<Wanted> = Vec::new();
        for (cache, len) in rows {
            if len > N_TOKENS_MAX {
                cache.written().try_for_each(|run| run.move_out())?;
                continue;
            }
            cache.rotate();
            for lane in cache.layout().lanes() {
                want(&mut wanted, cache, (lane, len))?;
            }
        }
        wanted.into_iter().try_for_each(|wanted| self.seat(wanted))
    }

    /// For undoing what a step writes.
    pub fn save(&self) -> Vec<Saved> {
        self.slabs.iter().map(|(_, slab)| slab.save()).collect()
    }

    /// Lets go of slots whose runs are gone or written no more; those leave with what others need of them.
    ///
    /// # Errors
    /// MLX's.
    pub fn tidy(&mut self) -> Result<()> {
        for (_, slab) in &self.slabs {
            slab.runs().into_iter().filter(|run| !run.is_written()).try_for_each(|run| run.move_out())?;
            slab.close_gaps()?;
        }
        self.slabs.retain(|(_, slab)| slab.n_slots() > 0);
        Ok(())
    }

    fn seat(&mut self, wanted: Wanted) -> Result<()> {
        let Wanted { kind, runs, n_positions } = wanted;
        let known = self.slabs.iter().find(|(other, _)| *other == kind).map(|(_, slab)| Rc::clone(slab));
        let is_in = |run: &Rc<Run>, slab: &Rc<Slab>| run.place().is_some_and(|place| Rc::ptr_eq(&place.slab, slab));
        let new: Vec<_> =
            runs.iter().filter(|run| known.as_ref().is_none_or(|slab| !is_in(run, slab))).cloned().collect();
        // Alone, a run is better off in buffers of its own.
        if runs.len() == 1 && new.len() == 1 {
            return new[0].move_out();
        }
        let slab = known.unwrap_or_else(|| {
            let slab = Rc::new(Slab::default());
            self.slabs.push((kind, Rc::clone(&slab)));
            slab
        });
        new.iter().try_for_each(|run| run.move_out())?;
        slab.reserve(slab.n_slots() + new.len(), n_positions.max(slab.capacity()))?;
        new.iter().try_for_each(|run| slab.take_in(run))
    }
}

/// Adds a cache that is to take `len` tokens to those of its kind.
fn want(wanted: &mut Vec<Wanted>, cache: &SequenceCache, (lane, len): (Lane, usize)) -> Result<()> {
    let Some(run) = cache.only_run(lane) else {
        return cache.written().try_for_each(|run| run.move_out());
    };
    let n_positions = run.end() - run.start() + len;
    let prefix = if lane == Lane::Full { cache.prefix().map(identity).collect() } else { Vec::new() };
    let kind = Kind { lane, prefix, class: class(n_positions) };
    match wanted.iter_mut().find(|wanted| wanted.kind == kind) {
        Some(wanted) => {
            wanted.runs.push(Rc::clone(run));
            wanted.n_positions = wanted.n_positions.max(n_positions);
        }
        None => wanted.push(Wanted { kind, runs: vec![Rc::clone(run)], n_positions }),
    }
    Ok(())
}

fn identity(piece: &Piece) -> (*const Run, Range<usize>) {
    (Rc::as_ptr(piece.run()), piece.range().clone())
}

/// Lengths of a class are within half of the shortest: more padding than that is not read.
fn class(n_positions: usize) -> u32 {
    let (mut class, mut limit) = (0, N_SHORT);
    while n_positions > limit {
        (class, limit) = (class + 1, limit + limit / 2);
    }
    class
}
