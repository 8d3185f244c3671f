//! Fewer pieces for the same positions: attention pays for each of them in every step.

use std::ops::Range;
use std::rc::Rc;

use super::run::{Piece, Run};
use crate::mx::{self, Array, Result};

/// Pieces of one format that attention takes as they are.
const N_PIECES_MAX: usize = 2;

/// Joins neighbours in one run.
pub fn merge(pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    let mut merged: Vec<Piece> = Vec::new();
    for piece in pieces {
        match merged.pop() {
            Some(last) if Rc::ptr_eq(last.run(), piece.run()) && last.range().end == piece.range().start => {
                merged.push(Piece::new(Rc::clone(piece.run()), last.range().start..piece.range().end));
            }
            last => merged.extend(last.into_iter().chain([piece])),
        }
    }
    merged
}

/// A range of `pieces`, by index, that is worth copying into one run; `None` when there are few enough. A long first piece
/// stays where it is: many sequences may share it.
pub fn scattered(pieces: &[Piece]) -> Option<Range<usize>> {
    let mut start = 0;
    for group in pieces.chunk_by(|a, b| a.run().format() == b.run().format()) {
        let end = start + group.len();
        if group.len() > N_PIECES_MAX {
            let n_all: usize = group.iter().map(|piece| piece.range().len()).sum();
            let is_long = group[0].range().len() * 2 >= n_all;
            return Some(start + usize::from(is_long)..end);
        }
        start = end;
    }
    None
}

/// Copies consecutive pieces of one format into a run of their own. Waits for the device.
pub fn copied(pieces: &[Piece]) -> Result<Option<Rc<Run>>> {
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Ok(None) };
    let layers = (0..first.run().n_layers()).map(|layer_idx| {
        let parts =
            pieces.iter().map(|piece| piece.run().parts(layer_idx, piece.range())).collect::<Result<Vec<_>>>()?;
        let n_parts = parts.first().map_or(0, Vec::len);
        let joined = (0..n_parts).map(|part_idx| {
            let parts: Vec<&Array> = parts.iter().filter_map(|parts| parts.get(part_idx)).collect();
            mx::concatenate(&parts, 1)
        });
        joined.collect()
    });
    let layers: Vec<Vec<Array>> = layers.collect::<Result<_>>()?;
    mx::eval(&layers.iter().flatten().collect::<Vec<_>>())?;
    Ok(Some(Run::of(first.run().format(), first.range().start..last.range().end, layers)))
}
