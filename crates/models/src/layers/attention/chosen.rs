//! Attention to positions that something else than their distance decides.

use super::plain::Hiding;
use super::{Sdpa, joined, rows};
use crate::cache::{Stored, Stretch};
use crate::layers::attention::Heads;
use crate::mx::{self, Array, Cut, Result};
use crate::pass::{Pass, Span};
use crate::weights::Kernels;

/// What a row's queries may attend to.
#[derive(Clone)]
pub enum Chosen {
    /// All positions up to their own.
    All,
    /// Of a single query: these positions, `[K]`.
    Positions(Array),
    /// `[L, S]`, added to the scores: minus infinity where a query does not see a key.
    Mask(Array),
}

impl Sdpa {
    /// As [`Sdpa::forward`], to the positions `chosen` for each row.
    pub fn forward_chosen(&self, heads: &Heads, chosen: &[Chosen], pass: &mut Pass<'_>) -> Result<Array> {
        let (queries, held) = self.append(heads, pass)?;
        if chosen.iter().all(|chosen| matches!(chosen, Chosen::All)) {
            return self.read(&queries, held, pass);
        }
        let mut outputs = Vec::with_capacity(pass.n_rows());
        for (row_idx, (held, chosen)) in held.into_iter().zip(chosen).enumerate() {
            let row = pass.row(row_idx);
            let queries = rows(&queries, row)?;
            let offset = row.offset;
            let stretches = self.stretches(held, row)?;
            outputs.push(match chosen {
                Chosen::All => self.row(&queries, &stretches, offset, pass)?,
                Chosen::Positions(positions) => self.at(&queries, &stretches, positions)?,
                Chosen::Mask(mask) => self.masked(&queries, &stretches, offset, mask)?,
            });
        }
        joined(&outputs, 0)
    }

    /// One query `[1, Hq, D]` at positions `[K]`.
    fn at(&self, queries: &Array, stretches: &[Stretch], positions: &Array) -> Result<Array> {
        let shape = self.shape();
        let group = shape.n_heads / shape.n_kv_heads;
        let queries = mx::reshape(&self.scaled(queries)?, &[shape.n_kv_heads, group, shape.head_dim])?;
        let pick = |side: fn(&Stretch) -> &Stored| match stretches {
            [stretch] => side(stretch).take(positions),
            stretches => {
                let dense = stretches.iter().map(|stretch| side(stretch).dense(queries.dtype()));
                Ok(Stored::Dense(mx::take(&joined(&dense.collect::<Result<Vec<_>>>()?, 1)?, positions, 1)?))
            }
        };
        let (keys, values) = (pick(|stretch| &stretch.keys)?, pick(|stretch| &stretch.values)?);
        let picked = Stretch { keys, values, range: 0..positions.dim(0) as usize };
        mx::reshape(&self.attend(&queries, &[picked], None)?, &[1, shape.n_heads * shape.head_dim])
    }

    /// `[L, Hq, D]` queries through a mask of all positions.
    fn masked(&self, queries: &Array, stretches: &[Stretch], offset: usize, mask: &Array) -> Result<Array> {
        self.blocks(&self.scaled(queries)?, stretches, offset, |span: Span| {
            let [first, last] = [span.q_start, span.q_stop].map(|position| (position - offset) as i32);
            let cuts = [
                Cut { axis: 0, start: first, stop: last },
                Cut { axis: 1, start: span.k_start as i32, stop: span.k_stop as i32 },
            ];
            Ok(Some(Hiding { cells: mx::slice(mask, &cuts)?, from: span.k_start }))
        })
    }

    /// Queries that carry the scale, as the plain path has them.
    fn scaled(&self, queries: &Array) -> Result<Array> {
        match self.kernels {
            Kernels::Fused => mx::scale(queries, self.shape().scale),
            Kernels::Plain => Ok(queries.clone()),
        }
    }
}
