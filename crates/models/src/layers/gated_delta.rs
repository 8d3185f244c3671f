//! Linear attention with decay (Katharopoulos et al. 2020, Yang et al. 2023) and the gated delta rule (Yang et al. 2024, Kimi
//! Team 2025). A head's state `S` is a matrix of keys by values. A token lets it decay by `exp(g)`, then writes at its key
//! `k`: with the delta rule what `beta (v - k S)` corrects, without it `v` itself. It reads `q S`.
//!
//! One token is a step. More are taken in chunks: inside a chunk, all that tokens write is solved for at once, so that the
//! number of operations grows with the chunks and not with the tokens.

use crate::mx::{self, Array, Cut, Result};

mod carry;
mod chunks;
mod pairs;
mod triangles;

use chunks::Constants;

/// The tokens of `R` rows, f32 all.
pub struct Tokens {
    /// `[R, L, Hk, Dk]`.
    pub queries: Array,
    /// `[R, L, Hk, Dk]`.
    pub keys: Array,
    /// `[R, L, Hv, Dv]`; `Hk` divides `Hv`, and neighbours share a key.
    pub values: Array,
    /// `g`, at most 0, of the whole state or of each of its rows: `[R, L, Hv, 1]` or `[R, L, Hv, Dk]`.
    pub log_decay: Array,
    /// `beta`, `[R, L, Hv]`; `None` = no delta rule.
    pub beta: Option<Array>,
}

/// Sizes of a layer's heads.
#[derive(Clone, Copy, Debug)]
pub struct HeadShape {
    /// Heads of queries and keys.
    pub n_k_heads: i32,
    /// Heads of values, which is how many states there are.
    pub n_v_heads: i32,
    /// Elements of a query or key.
    pub k_dim: i32,
    /// Elements of a value.
    pub v_dim: i32,
}

/// The rule for heads of one shape.
pub struct GatedDelta {
    shape: HeadShape,
    constants: Constants,
}

impl GatedDelta {
    /// For heads of this shape.
    pub fn new(shape: HeadShape) -> Self {
        Self { shape, constants: Constants::new() }
    }

    /// The heads' sizes.
    pub fn shape(&self) -> &HeadShape {
        &self.shape
    }

    /// The state before a row's first token, `[1, Hv, Dk, Dv]`.
    pub fn start(&self) -> Result<Array> {
        let HeadShape { n_v_heads, k_dim, v_dim, .. } = self.shape;
        mx::zeros(&[1, n_v_heads, k_dim, v_dim], mx::Dtype::Float32)
    }

    /// What the tokens read, `[R, L, Hv, Dv]`, and the states `[R, Hv, Dk, Dv]` after them.
    pub fn advance(&self, tokens: &Tokens, state: &Array) -> Result<(Array, Array)> {
        if tokens.values.dim(1) == 1 { self.step(tokens, state) } else { self.chunks(tokens, state) }
    }

    /// One token a row.
    fn step(&self, tokens: &Tokens, state: &Array) -> Result<(Array, Array)> {
        let HeadShape { n_k_heads: h, n_v_heads, k_dim, v_dim } = self.shape;
        let (r, g) = (tokens.values.dim(0), n_v_heads / h);
        let n_decay = tokens.log_decay.dim(-1);
        let before = mx::reshape(state, &[r, h, g, k_dim, v_dim])?;
        let log_decay = mx::reshape(&tokens.log_decay, &[r, h, g, n_decay, 1])?;
        let keys = mx::reshape(&tokens.keys, &[r, h, 1, k_dim, 1])?;
        let queries = mx::reshape(&tokens.queries, &[r, h, 1, k_dim, 1])?;
        let values = mx::reshape(&tokens.values, &[r, h, g, 1, v_dim])?;
        // Both read the state as it has decayed, before the write. One decay for all of a state can wait for what was read.
        let both = mx::concatenate(&[&queries, &keys], 4)?; // [R, H, 1, Dk, 2]
        let read = match n_decay {
            1 => {
                let read = mx::matmul(&mx::transpose_axes(&both, &[0, 1, 2, 4, 3])?, &before)?;
                mx::fused(decayed, &[&read, &log_decay])?
            }
            _ => {
                let both = mx::fused(decayed, &[&both, &log_decay])?;
                mx::matmul(&mx::transpose_axes(&both, &[0, 1, 2, 4, 3])?, &before)?
            }
        };
        let part = |start| mx::slice(&read, &[Cut { axis: 3, start, stop: start + 1 }]);
        let written = match &tokens.beta {
            Some(beta) => {
                let beta = mx::reshape(beta, &[r, h, g, 1, 1])?;
                mx::fused(|x| mx::multiply(&mx::subtract(&x[0], &x[1])?, &x[2]), &[&values, &part(1)?, &beta])?
            }
            None => values,
        };
        let overlap = mx::matmul(&mx::transpose_axes(&queries, &[0, 1, 2, 4, 3])?, &keys)?; // [R, H, 1, 1, 1]
        let out = mx::fused(|x| mx::add(&x[0], &mx::multiply(&x[1], &x[2])?), &[&part(0)?, &overlap, &written])?;
        let after = mx::fused(
            |x| mx::add(&mx::multiply(&x[0], &mx::exp(&x[1])?)?, &mx::multiply(&x[2], &x[3])?),
            &[&before, &log_decay, &keys, &written],
        )?;
        Ok((mx::reshape(&out, &[r, 1, n_v_heads, v_dim])?, mx::reshape(&after, state.shape())?))
    }
}

/// What is left of `x` after a decay.
fn decayed(x: &[Array]) -> Result<Array> {
    mx::multiply(&x[0], &mx::exp(&x[1])?)
}

#[cfg(test)]
#[path = "gated_delta_tests.rs"]
mod tests;
