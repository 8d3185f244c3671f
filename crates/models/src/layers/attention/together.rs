//! Attention of rows whose KV lies side by side.

use std::rc::Rc;

use super::{AttentionShape, Sdpa, joined, rows};
use crate::cache::Stretch;
use crate::cache::rotating::Held;
use crate::mx::{self, Array, Cut, Dtype, Mask, Result};
use crate::pass::together::{Side, Together};
use crate::pass::{Pass, Reach};
use crate::weights::Kernels;

impl Sdpa {
    /// The rows that this layer takes together; `None` = none of them.
    pub(super) fn together(&self, pass: &mut Pass<'_>) -> Result<Option<Rc<Together>>> {
        let (lane, _) = pass.row(0).cache.lane(self.layer_idx)?;
        let reach = Reach::from(pass.row(0).cache.window(lane));
        // Chunks cut through shared positions and through slabs alike.
        if self.shape.reach == reach { pass.together(lane) } else { Ok(None) }
    }

    /// As [`Sdpa::read`], of some rows together and of the others by themselves.
    pub(super) fn read_together(
        &self,
        queries: &Array,
        held: Vec<Option<Held>>,
        together: &Together,
        pass: &mut Pass<'_>,
    ) -> Result<Array> {
        let mut outputs = Vec::new();
        for side in together.sides() {
            let cache = &pass.row(side.row_idx).cache;
            let shared = cache.shared_stretches(self.layer_idx)?;
            let (_, idx) = cache.lane(self.layer_idx)?;
            let picked = side.queries(queries)?;
            let out = self.side(&picked, side, idx, &shared)?;
            outputs.push(side.outputs(&out)?);
        }
        for (row_idx, held) in held.into_iter().enumerate().filter(|(row_idx, _)| !together.has(*row_idx)) {
            let row = pass.row(row_idx);
            let (queries, offset) = (rows(queries, row)?, row.offset);
            let stretches = self.stretches(held, row)?;
            outputs.push(self.row(&queries, &stretches, offset, pass)?);
        }
        together.join(&outputs)
    }

    /// `[N L, Hq, D]` queries of all slots over what they share and what each has in the slab: `[N L, Hq D]`.
    fn side(&self, queries: &Array, side: &Side, idx: usize, shared: &[Stretch]) -> Result<Array> {
        let AttentionShape { n_heads, head_dim, scale, cap, .. } = self.shape;
        let len = side.len as i32;
        let n_slots = queries.dim(0) / len;
        let queries = match len {
            1 => mx::reshape(queries, &[n_slots, n_heads, 1, head_dim])?,
            len => mx::transpose_axes(&mx::reshape(queries, &[n_slots, len, n_heads, head_dim])?, &[0, 2, 1, 3])?,
        };
        let heads = |is_values| side.slab.heads(idx, is_values, side.n_keys);
        let own = [heads(0)?, heads(1)?];
        let out = if self.kernels == Kernels::Fused && cap.is_none() && shared.is_empty() {
            let [keys, values] = &own;
            mx::attention([&queries, keys, values], scale, Mask::Array(side.visible()), self.sinks.as_ref())?
        } else {
            self.slots(&queries, own, side, shared)?
        };
        let out = if len == 1 { out } else { mx::transpose_axes(&out, &[0, 2, 1, 3])? };
        mx::reshape(&out, &[n_slots * len, n_heads * head_dim])
    }

    /// `[N, Hq, L, D]` queries by plain operations.
    fn slots(&self, queries: &Array, own: [Array; 2], side: &Side, shared: &[Stretch]) -> Result<Array> {
        let AttentionShape { n_heads, n_kv_heads, head_dim, scale, .. } = self.shape;
        let (n_slots, len, group) = (queries.dim(0), queries.dim(2), n_heads / n_kv_heads);
        let queries = if self.kernels == Kernels::Fused { &mx::scale(queries, scale)? } else { queries };
        let dtype = queries.dtype();
        let queries = mx::reshape(queries, &[n_slots, n_kv_heads, group * len, head_dim])?;
        let [keys, values] = own;
        let scores = self.capped(&mx::matmul(&queries, &mx::transpose_axes(&keys, &[0, 1, 3, 2])?)?)?;
        let mut all = vec![self.hide(&scores, side, len)?];
        for stretch in shared {
            let scores = self.scores(&by_head(&queries)?, &stretch.keys)?;
            all.push(self.capped(&by_slot(&scores, n_slots)?)?);
        }
        // In full precision: rows differ in length, and short ones must not pay for long ones.
        let all = mx::cast(&joined(&all, -1)?, Dtype::Float32)?;
        let (weights, sums) = self.weights(&[all])?;
        let weights = mx::cast(&weights[0], dtype)?;
        let mut start = side.n_keys as i32;
        let part = |start, stop| mx::slice(&weights, &[Cut { axis: 3, start, stop }]);
        let mut out = mx::matmul(&part(0, start)?, &values)?;
        for stretch in shared {
            let stop = start + stretch.range.len() as i32;
            let weights = by_head(&part(start, stop)?)?;
            out = mx::add(&out, &by_slot(&self.weigh(&weights, &stretch.values)?, n_slots)?)?;
            start = stop;
        }
        let out = mx::divide(&out, &mx::cast(&sums, dtype)?)?;
        mx::reshape(&out, &[n_slots, n_heads, len, head_dim])
    }

    /// `[N, Hk, G L, S]` scores, those of keys that a query does not see at minus infinity.
    fn hide(&self, scores: &Array, side: &Side, len: i32) -> Result<Array> {
        let hiding = side.hiding(scores.dtype())?;
        if len == 1 {
            return mx::add(scores, &hiding);
        }
        let (n_slots, n_kv_heads, n_rows, n_keys) = (scores.dim(0), scores.dim(1), scores.dim(2), scores.dim(3));
        let by_query = mx::reshape(scores, &[n_slots, n_kv_heads, n_rows / len, len, n_keys])?;
        let masked = mx::add(&by_query, &mx::expand_dims(&hiding, 1)?)?;
        mx::reshape(&masked, &[n_slots, n_kv_heads, n_rows, n_keys])
    }

    /// Keeps what the rows of `together` append: their part of `[T, 2 Hk, D]`.
    pub(super) fn write_together(&self, kv: &Array, together: &Together, pass: &mut Pass<'_>) -> Result<()> {
        let (_, idx) = pass.row(0).cache.lane(self.layer_idx)?;
        together.sides().try_for_each(|side| side.write(idx, kv))
    }
}

/// `[N, Hk, M, X]` as `[Hk, N M, X]`: shared keys take the queries of all slots in one product.
fn by_head(x: &Array) -> Result<Array> {
    let (n_slots, n_heads, n, dim) = (x.dim(0), x.dim(1), x.dim(2), x.dim(3));
    mx::reshape(&mx::transpose_axes(x, &[1, 0, 2, 3])?, &[n_heads, n_slots * n, dim])
}

/// The way back.
fn by_slot(x: &Array, n_slots: i32) -> Result<Array> {
    let (n_heads, n, dim) = (x.dim(0), x.dim(1) / n_slots, x.dim(2));
    mx::transpose_axes(&mx::reshape(x, &[n_heads, n_slots, n, dim])?, &[1, 0, 2, 3])
}
