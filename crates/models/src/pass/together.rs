//! Rows of a pass whose KV lies side by side: their attention is one call a layer. What it needs besides keys and queries is
//! the same in all layers.

use std::rc::Rc;

use super::PassRow;
use crate::cache::Lane;
use crate::cache::slab::{Place, Slab};
use crate::cache::slabs::N_TOKENS_MAX;
use crate::mx::{self, Array, Dtype, Result};

/// The rows of a pass that have company, and those that have none.
pub struct Together {
    groups: Vec<Side>,
    is_in: Vec<bool>,
    /// For each token of the pass, where the groups' tokens and then the others have it; `None` = in the same order.
    back: Option<Array>,
}

/// Rows in one slab.
pub struct Side {
    /// Where their KV is.
    pub slab: Rc<Slab>,
    /// One of them: all start from the same shared positions.
    pub row_idx: usize,
    /// Queries of each slot, `L`.
    pub len: usize,
    /// Positions of the slab that any of them sees, `S`.
    pub n_keys: usize,
    /// `[T]`: slot and position of each of their tokens.
    at: [Array; 2],
    /// Their `T` tokens in the pass.
    tokens: Pick,
    /// The tokens in the pass of `N L` queries: slot by slot, the last token again where a row has fewer.
    queries: Pick,
    /// Which of the `N L` the tokens are.
    outputs: Pick,
    /// Boolean `[N, 1, L, S]`: which keys a query sees.
    visible: Array,
    /// The same to add to scores: 0, or minus infinity.
    hiding: Array,
}

/// Some entries of an axis.
enum Pick {
    All,
    Some(Array),
}

struct Seat {
    row_idx: usize,
    place: Place,
    /// First position in the slab that the row writes.
    at: usize,
}

impl Together {
    /// `None` when no rows are together.
    pub(super) fn of(rows: &[PassRow<'_>], lane: Lane) -> Result<Option<Self>> {
        let mut sides: Vec<Vec<Seat>> = Vec::new();
        for (row_idx, row) in rows.iter().enumerate() {
            let Some(run) = row.cache.only_run(lane).filter(|_| row.len <= N_TOKENS_MAX) else { continue };
            let Some(place) = run.place() else { continue };
            let seat = Seat { row_idx, place, at: row.offset - run.start() };
            match sides.iter_mut().find(|side| Rc::ptr_eq(&side[0].place.slab, &seat.place.slab)) {
                Some(side) => side.push(seat),
                None => sides.push(vec![seat]),
            }
        }
        // All of a slab is read: rows that are few in theirs are better off alone.
        sides.retain(|seats| 2 * seats.len() >= seats[0].place.slab.n_slots());
        if sides.is_empty() {
            return Ok(None);
        }
        let mut is_in = vec![false; rows.len()];
        let mut order = Vec::new();
        for seat in sides.iter().flatten() {
            is_in[seat.row_idx] = true;
            order.extend(tokens(&rows[seat.row_idx]));
        }
        order.extend(rows.iter().zip(&is_in).filter(|(_, is_in)| !**is_in).flat_map(|(row, _)| tokens(row)));
        let mut back = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, token)| back[*token as usize] = at as u32);
        let back = (!back.is_sorted()).then(|| Array::from_slice(&back, &[back.len() as i32]));
        let window = rows.first().and_then(|row| row.cache.window(lane));
        let groups = sides.iter().map(|seats| Side::of(seats, rows, (order.len(), window))).collect::<Result<_>>()?;
        Ok(Some(Self { groups, is_in, back }))
    }

    /// Each slab's rows.
    pub fn sides(&self) -> impl Iterator<Item = &Side> {
        self.groups.iter()
    }

    /// Whether a row has company.
    pub fn has(&self, row_idx: usize) -> bool {
        self.is_in[row_idx]
    }

    /// In the order of the pass: `[T, N]` parts of the groups and then of the other rows.
    pub fn join(&self, parts: &[Array]) -> Result<Array> {
        let joined = match parts {
            [part] => part.clone(),
            parts => mx::concatenate(&parts.iter().collect::<Vec<_>>(), 0)?,
        };
        match &self.back {
            Some(back) => mx::take(&joined, back, 0),
            None => Ok(joined),
        }
    }
}

impl Side {
    fn of(seats: &[Seat], rows: &[PassRow<'_>], (n_tokens, window): (usize, Option<usize>)) -> Result<Self> {
        let slab = Rc::clone(&seats[0].place.slab);
        let n_slots = slab.n_slots();
        let len = seats.iter().map(|seat| rows[seat.row_idx].len).max().unwrap_or(1);
        let (mut all, mut slots, mut places, mut outputs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        // Slots without a row in this pass ask what another row asks, of their first position.
        let mut queries = vec![rows[seats[0].row_idx].start as u32; n_slots * len];
        let mut last_seen = vec![0_i32; n_slots * len];
        for seat in seats {
            let row = &rows[seat.row_idx];
            all.extend(tokens(row));
            for i in 0..len {
                let (at, token) = (seat.place.slot * len + i, i.min(row.len - 1));
                queries[at] = (row.start + token) as u32;
                last_seen[at] = (seat.at + token) as i32;
                if i < row.len {
                    slots.push(seat.place.slot as u32);
                    places.push((seat.at + i) as u32);
                    outputs.push(at as u32);
                }
            }
        }
        let n_keys = last_seen.iter().max().map_or(1, |last| *last as usize + 1);
        let keys: Vec<i32> = (0..n_keys as i32).collect();
        let keys = Array::from_slice(&keys, &[1, 1, 1, n_keys as i32]);
        let cells = |values: &[i32]| Array::from_slice(values, &[n_slots as i32, 1, len as i32, 1]);
        let mut visible = mx::less_equal(&keys, &cells(&last_seen))?;
        if let Some(window) = window {
            let too_far: Vec<i32> = last_seen.iter().map(|last| last - window as i32).collect();
            visible = mx::bitwise_and(&visible, &mx::greater(&keys, &cells(&too_far))?)?;
        }
        let hiding = mx::select(&visible, &mx::scalar(0.0), &mx::scalar(f32::NEG_INFINITY))?;
        let n = slots.len() as i32;
        let at = [Array::from_slice(&slots, &[n]), Array::from_slice(&places, &[n])];
        let (tokens, queries) = (Pick::of(&all, n_tokens), Pick::of(&queries, n_tokens));
        let outputs = Pick::of(&outputs, n_slots * len);
        Ok(Self { slab, row_idx: seats[0].row_idx, len, n_keys, at, tokens, queries, outputs, visible, hiding })
    }

    /// Writes the rows' part of `[T, 2 Hk, D]` to a layer.
    pub fn write(&self, idx: usize, kv: &Array) -> Result<()> {
        let [slots, places] = &self.at;
        self.slab.scatter(idx, [slots, places], &self.tokens.of_axis(kv)?)
    }

    /// Of `[T, ..]`, each slot's tokens: `[N L, ..]`.
    pub fn queries(&self, x: &Array) -> Result<Array> {
        self.queries.of_axis(x)
    }

    /// Of `[N L, ..]`, what belongs to tokens: `[T, ..]`, those of this side.
    pub fn outputs(&self, x: &Array) -> Result<Array> {
        self.outputs.of_axis(x)
    }

    /// Boolean `[N, 1, L, S]`: which keys a query sees.
    pub fn visible(&self) -> &Array {
        &self.visible
    }

    /// The same to add to scores of this type: 0, or minus infinity.
    pub fn hiding(&self, dtype: Dtype) -> Result<Array> {
        mx::cast(&self.hiding, dtype)
    }
}

impl Pick {
    fn of(indices: &[u32], n: usize) -> Self {
        let is_all = indices.len() == n && indices.iter().enumerate().all(|(at, idx)| at as u32 == *idx);
        if is_all { Self::All } else { Self::Some(Array::from_slice(indices, &[indices.len() as i32])) }
    }

    fn of_axis(&self, x: &Array) -> Result<Array> {
        match self {
            Self::All => Ok(x.clone()),
            Self::Some(indices) => mx::take(x, indices, 0),
        }
    }
}

fn tokens(row: &PassRow<'_>) -> impl Iterator<Item = u32> {
    (row.start..row.start + row.len).map(|token| token as u32)
}
