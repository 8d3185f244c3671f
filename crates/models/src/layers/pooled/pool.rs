//! Groups of consecutive tokens, pooled into one key each by weights that each element has of its own.
//!
//! An entry is kept in slices: position `p` keeps slice `p % rate` of the entry of the group before its own, so that a position
//! costs what an entry costs over its tokens, and what a position keeps never changes. What the open group has, and the newest
//! entry whole, are state.

use std::rc::Rc;

use super::{Keys, Turn, cut};
use crate::LoadResult;
use crate::cache::state::{Recurrence, Stage};
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::norm::{Centre, RmsNorm};
use crate::layers::rope::Place;
use crate::mx::{self, Array, Cut, Dtype, Result};
use crate::pass::{Pass, PassRow};
use crate::weights::At;

/// How a layer pools.
#[derive(Clone, Copy, Debug)]
pub struct PoolLayout {
    /// Tokens of a group.
    pub rate: usize,
    /// Elements of an entry: a multiple of the rate.
    pub size: i32,
    /// Which tokens an entry is made of.
    pub overlap: Overlap,
    /// Of the norm.
    pub eps: f32,
    /// Which of the model's caches keeps entries.
    pub entries_cache: usize,
    /// Which keeps the state.
    pub state_cache: usize,
}

/// Which tokens an entry is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// Those of its group.
    None,
    /// Those of the group before it, too, as other vectors.
    Previous,
}

/// See the module.
pub struct Pool {
    /// What is pooled, and the logarithms of its weights.
    wkv_gate: Linear,
    pooling: Rc<Pooling>,
}

/// What makes entries of what is projected.
struct Pooling {
    layout: PoolLayout,
    /// `[rate, width]`, added to those logarithms.
    ape: Array,
    norm: RmsNorm,
    turn: Turn,
}

/// The same of the tokens from a position on.
struct PoolingFrom {
    pooling: Rc<Pooling>,
    position: usize,
    n_total: usize,
}

impl PoolLayout {
    /// Elements that a token gives.
    fn width(&self) -> i32 {
        if self.overlap == Overlap::Previous { 2 * self.size } else { self.size }
    }

    /// Tokens before the newest that later entries may be made of.
    fn n_before(&self) -> usize {
        let n_groups = if self.overlap == Overlap::Previous { 2 } else { 1 };
        n_groups * self.rate - 1
    }

    /// Elements that each position keeps.
    pub fn slice_size(&self) -> usize {
        self.size as usize / self.rate
    }
}

impl Pool {
    /// Takes `wkv`, `wgate`, `ape` and `norm`.
    pub(super) fn load(at: &At<'_, '_>, layout: PoolLayout, n_hidden: i32, turn: &Turn) -> LoadResult<Self> {
        let shape = |name| Shape { name, n_out: layout.width(), n_in: n_hidden, bias: Bias::Absent };
        let pooling = Pooling {
            ape: at.tensor("ape", &[layout.rate as i32, layout.width()])?,
            norm: RmsNorm::load(&at.at("norm"), layout.size, layout.eps, Centre::Zero)?,
            turn: turn.clone(),
            layout,
        };
        Ok(Self { wkv_gate: Linear::load_stacked(at, &[shape("wkv"), shape("wgate")])?, pooling: Rc::new(pooling) })
    }

    /// Pools what the tokens, `[T, hidden]`, complete.
    pub(super) fn update(&self, x: &Array, pass: &mut Pass<'_>) -> Result<()> {
        let projected = self.wkv_gate.forward(x)?;
        for row_idx in 0..pass.n_rows() {
            let row = pass.row(row_idx);
            self.update_row(&cut(&projected, row.start, row.len)?, row)?;
        }
        Ok(())
    }

    /// The same of one row's `[L, 2 width]`.
    fn update_row(&self, new: &Array, row: &mut PassRow<'_>) -> Result<()> {
        let PoolLayout { entries_cache, state_cache, .. } = self.pooling.layout;
        let pooling = PoolingFrom { pooling: Rc::clone(&self.pooling), position: row.offset, n_total: row.n_total };
        let range = row.offset..row.offset + row.len;
        let may_go = range.end > row.n_sure;
        let new = mx::expand_dims(new, 0)?;
        // What is kept to come back by keeps no other rows.
        let inputs = vec![if may_go { mx::contiguous(&new)? } else { new }];
        let before = match row.cache.state(state_cache)?.get() {
            [] => pooling.start(&inputs)?,
            kept => kept.to_vec(),
        };
        let (slices, after) = pooling.advance(&inputs, &before)?;
        row.cache.append(entries_cache, &slices)?;
        let stage = may_go.then(|| Stage { range, before, inputs, recurrence: Rc::new(pooling) });
        let state = row.cache.state(state_cache)?;
        state.set_in_batch(&Rc::new(after), 0)?;
        state.remember(stage, row.n_sure);
        Ok(())
    }

    /// All entries of a row that has been updated, `[N, size]`; `None` before there is one.
    pub(super) fn entries(&self, row: &mut PassRow<'_>) -> Result<Option<Array>> {
        let PoolLayout { rate, size, entries_cache, state_cache, .. } = self.pooling.layout;
        let n = (row.offset + row.len) / rate;
        let state = row.cache.state(state_cache)?;
        let Some(newest) = state.get().get(1).filter(|_| n > 0) else { return Ok(None) };
        let newest = mx::reshape(newest, &[1, size])?;
        if n == 1 {
            return Ok(Some(newest));
        }
        let stretches = row.cache.stretches(entries_cache)?;
        let kept = stretches.iter().map(|stretch| stretch.keys.dense(newest.dtype())).collect::<Result<Vec<_>>>()?;
        let kept = mx::concatenate(&kept.iter().collect::<Vec<_>>(), 1)?;
        let kept = mx::slice(&kept, &[Cut { axis: 1, start: rate as i32, stop: (n * rate) as i32 }])?;
        let kept = mx::reshape(&kept, &[n as i32 - 1, size])?;
        mx::concatenate(&[&kept, &newest], 0).map(Some)
    }

    /// Those of `[N, size]` entries that the queries at `q_start..q_stop` see.
    pub(super) fn visible(&self, entries: &Array, q_start: usize, q_stop: usize) -> Result<Option<Keys>> {
        let rate = self.pooling.layout.rate;
        let n = q_stop / rate;
        if n == 0 {
            return Ok(None);
        }
        let keys = cut(entries, 0, n)?;
        let n_first = (q_start + 1) / rate;
        if n_first == n {
            return Ok(Some(Keys { keys, hiding: None }));
        }
        let mut cells = Vec::with_capacity((q_stop - q_start) * n);
        for position in q_start..q_stop {
            let n_seen = (position + 1) / rate;
            cells.extend((0..n).map(|at| if at < n_seen { 0.0 } else { f32::NEG_INFINITY }));
        }
        let hiding = Array::from_slice(&cells, &[(q_stop - q_start) as i32, n as i32]);
        Ok(Some(Keys { keys, hiding: Some(hiding) }))
    }
}

impl Recurrence for PoolingFrom {
    /// `[1, tokens, 2 width]` before the newest, and the newest entry, `[1, 1, size]`.
    fn start(&self, inputs: &[Array]) -> Result<Vec<Array>> {
        let layout = &self.pooling.layout;
        let zeros = |n: usize, width| mx::zeros(&[1, n as i32, width], inputs[0].dtype());
        Ok(vec![zeros(layout.n_before(), 2 * layout.width())?, zeros(1, layout.size)?])
    }

    /// `[1, L, 2 width]` to the slices of entries that their positions keep, `[1, L, size / rate]`.
    fn advance(&self, inputs: &[Array], states: &[Array]) -> Result<(Array, Vec<Array>)> {
        let PoolLayout { rate, size, .. } = self.pooling.layout;
        let (n_before, len) = (self.pooling.layout.n_before(), inputs[0].dim(1) as usize);
        let all = mx::squeeze(&mx::concatenate(&[&states[0], &inputs[0]], 1)?, 0)?;
        let first = self.position / rate;
        let n = (self.position + len) / rate - first;
        let mut entries = mx::reshape(&states[1], &[1, size])?;
        if n > 0 {
            let group = Groups { first, n, start: first * rate + n_before - self.position };
            let made = self.pooling.entries(&all, group, self.n_total)?;
            entries = mx::concatenate(&[&entries, &mx::cast(&made, entries.dtype())?], 0)?;
        }
        let slices = mx::reshape(&entries, &[((n + 1) * rate) as i32, self.pooling.layout.slice_size() as i32])?;
        let slices = cut(&slices, self.position - first * rate, len)?;
        let kept = mx::contiguous(&mx::expand_dims(&cut(&all, len, n_before)?, 0)?)?;
        let newest = mx::contiguous(&mx::expand_dims(&cut(&entries, n, 1)?, 0)?)?;
        Ok((mx::expand_dims(&slices, 0)?, vec![kept, newest]))
    }
}

impl Pooling {
    /// The entries, `[n, size]`, of groups whose tokens are among `all`, `[.., 2 width]`.
    fn entries(&self, all: &Array, groups: Groups, n_total: usize) -> Result<Array> {
        let PoolLayout { rate, size, overlap, .. } = self.layout;
        let width = self.layout.width();
        // [n, rate, size] of the vectors and of the weights' logarithms, from a column of each on
        let part = |start: usize, column: i32| {
            let rows = cut(all, start, groups.n * rate)?;
            let rows = mx::reshape(&rows, &[groups.n as i32, rate as i32, 2 * width])?;
            let columns = |from: i32| mx::slice(&rows, &[Cut { axis: 2, start: from, stop: from + size }]);
            let ape = mx::slice(&self.ape, &[Cut { axis: 1, start: column, stop: column + size }])?;
            Ok((columns(column)?, mx::cast(&mx::add(&columns(width + column)?, &ape)?, Dtype::Float32)?))
        };
        let (vectors, logs) = match overlap {
            Overlap::None => part(groups.start, 0)?,
            Overlap::Previous => {
                let (own, own_logs) = part(groups.start, size)?;
                let (previous, previous_logs) = part(groups.start - rate, 0)?;
                // Nothing comes before the first group.
                let missing = (0..groups.n).map(|at| if groups.first + at == 0 { f32::NEG_INFINITY } else { 0.0 });
                let missing = Array::from_slice(&missing.collect::<Vec<_>>(), &[groups.n as i32, 1, 1]);
                let logs = mx::concatenate(&[&mx::add(&previous_logs, &missing)?, &own_logs], 1)?;
                (mx::concatenate(&[&previous, &own], 1)?, logs)
            }
        };
        let weights = mx::cast(&mx::softmax(&logs, 1)?, vectors.dtype())?;
        let entries = self.norm.forward(&mx::sum(&mx::multiply(&vectors, &weights)?, 1)?)?;
        let places = (groups.first..groups.first + groups.n).map(|at| Place { position: at * rate, n_total });
        let places: Vec<_> = places.collect();
        let entries = self.turn.of_end(&entries, |end| self.turn.rope.forward_at(end, &places))?;
        mx::reshape(&entries, &[groups.n as i32, size])
    }
}

/// Groups that are complete.
#[derive(Clone, Copy)]
struct Groups {
    /// The first of them.
    first: usize,
    n: usize,
    /// Where its tokens start.
    start: usize,
}
