//! The recurrence of state-space duality (Dao and Gu 2024): `s' = exp(dt a) s + dt x b^T`, `y = s' c`, per head. One token is a
//! step; more of them are chunks, all at once: sums over the chunk's own tokens and the state before it, and a sum over chunks.

use crate::layers::decays::decays;
use crate::mx::{self, Array, Cut, Dtype, Result};

/// Most tokens of a chunk: what bounds the decays between them, whose number is the square.
const N_CHUNK: usize = 64;

/// Lowest logarithm of a token's decay: nothing of an f32 is left by then, and sums of them stay exact.
const LOG_DECAY_MIN: f32 = -100.0;

/// Sizes of the recurrence.
#[derive(Clone, Copy, Debug)]
pub struct ScanShape {
    /// `H`.
    pub n_heads: i32,
    /// `P`, elements of `x` a head.
    pub head_dim: i32,
    /// `G`, groups of heads that share `b` and `c`.
    pub n_groups: i32,
    /// `N`, elements of `b` and `c`.
    pub n_state: i32,
}

/// The tokens of `R` rows.
pub struct Tokens {
    /// `[R, L, H P]`.
    pub x: Array,
    /// `[R, L, G N]`.
    pub b: Array,
    /// `[R, L, G N]`.
    pub c: Array,
    /// `[R, L, H]`, f32, above 0.
    pub dt: Array,
}

impl ScanShape {
    /// The state of a row before its first token, `[1, H, P, N]`.
    pub fn start(&self) -> Result<Array> {
        mx::zeros(&[1, self.n_heads, self.head_dim, self.n_state], Dtype::Float32)
    }

    /// Elements of `x` of all heads that share `b` and `c`.
    fn group_dim(&self) -> i32 {
        self.n_heads / self.n_groups * self.head_dim
    }

    /// `[R, L, H P]` of the tokens after the state `[R, H, P, N]`, in f32, and the state then; `a` is `[H]`, below 0.
    pub fn advance(&self, tokens: &Tokens, a: &Array, state: &Array) -> Result<(Array, Array)> {
        match tokens.dt.dim(1) {
            1 => self.step(tokens, a, state),
            _ => self.chunks(tokens, a, state, N_CHUNK),
        }
    }

    /// One token of each row.
    fn step(&self, tokens: &Tokens, a: &Array, state: &Array) -> Result<(Array, Array)> {
        let Self { n_heads, head_dim, n_groups, n_state } = *self;
        let (r, dim) = (state.dim(0), self.group_dim());
        let decay = mx::exp(&mx::multiply(&tokens.dt, a)?)?;
        let x = mx::multiply(
            &mx::reshape(&tokens.x, &[r, n_heads, head_dim])?,
            &mx::reshape(&tokens.dt, &[r, n_heads, 1])?,
        )?;
        let b = mx::reshape(&tokens.b, &[r, n_groups, 1, n_state])?;
        let added = mx::multiply(&mx::reshape(&x, &[r, n_groups, dim, 1])?, &b)?;
        let shape = [r, n_heads, head_dim, n_state];
        let kept = mx::multiply(state, &mx::reshape(&decay, &[r, n_heads, 1, 1])?)?;
        let state = mx::add(&kept, &mx::reshape(&added, &shape)?)?;
        let c = mx::cast(&mx::reshape(&tokens.c, &[r, n_groups, n_state, 1])?, Dtype::Float32)?;
        let y = mx::matmul(&mx::reshape(&state, &[r, n_groups, dim, n_state])?, &c)?;
        Ok((mx::reshape(&y, &[r, 1, n_heads * head_dim])?, state))
    }

    /// Tokens in chunks of at most `n_chunk`.
    fn chunks(&self, tokens: &Tokens, a: &Array, state: &Array, n_chunk: usize) -> Result<(Array, Array)> {
        let Self { n_heads, head_dim, n_groups, n_state } = *self;
        let (r, len) = (state.dim(0), tokens.dt.dim(1) as usize);
        let n_chunks = len.div_ceil(n_chunk);
        let q = len.div_ceil(n_chunks);
        let (m, q) = (r * n_chunks as i32, q as i32);
        // Tokens that are not there have no time: they neither add nor decay.
        let cut = |array: &Array, shape: &[i32]| mx::reshape(&padded(array, n_chunks as i32 * q)?, shape);
        let dt = cut(&tokens.dt, &[m, q, n_heads])?;
        let x = mx::multiply(&cut(&tokens.x, &[m, q, n_heads, head_dim])?, &mx::expand_dims(&dt, -1)?)?;
        let x = mx::transpose_axes(&x, &[0, 2, 1, 3])?; // [M, H, Q, P]
        let groups = |array: &Array| mx::transpose_axes(&cut(array, &[m, q, n_groups, n_state])?, &[0, 2, 1, 3]);
        let (b, c) = (groups(&tokens.b)?, groups(&tokens.c)?); // [M, G, Q, N]
        let log_decay = mx::maximum(&mx::multiply(&dt, a)?, &mx::scalar(LOG_DECAY_MIN))?;
        let log_decay = mx::cumsum(&mx::transpose_axes(&log_decay, &[0, 2, 1])?, 2)?; // [M, H, Q]

        let own = self.own(&x, [&b, &c], &log_decay)?; // [M, H, Q, P]
        let total = mx::slice(&log_decay, &[Cut { axis: 2, start: q - 1, stop: q }])?; // [M, H, 1]
        let left = mx::exp(&mx::subtract(&total, &log_decay)?)?;
        let weighed = mx::transpose_axes(&mx::multiply(&x, &mx::expand_dims(&left, -1)?)?, &[0, 1, 3, 2])?;
        let added = mx::matmul(&mx::reshape(&weighed, &[m, n_groups, -1, q])?, &b)?; // [M, G, H P / G, N]
        let added = mx::reshape(&added, &[r, n_chunks as i32, n_heads, head_dim * n_state])?;
        let totals = mx::reshape(&total, &[r, n_chunks as i32, n_heads])?;
        let (before, state) = self.between(&added, &totals, state)?; // [M, G, H P / G, N]

        let seen = mx::matmul(&c, &mx::transpose_axes(&before, &[0, 1, 3, 2])?)?; // [M, G, Q, H P / G]
        let seen = mx::reshape(&seen, &[m, n_groups, q, n_heads / n_groups, head_dim])?;
        let seen = mx::reshape(&mx::transpose_axes(&seen, &[0, 1, 3, 2, 4])?, &[m, n_heads, q, head_dim])?;
        let y = mx::add(&own, &mx::multiply(&seen, &mx::expand_dims(&mx::exp(&log_decay)?, -1)?)?)?;
        let y = mx::reshape(&mx::transpose_axes(&y, &[0, 2, 1, 3])?, &[r, -1, n_heads * head_dim])?;
        Ok((mx::slice(&y, &[Cut { axis: 1, start: 0, stop: len as i32 }])?, state))
    }

    /// What each token sees of its own chunk: `[M, H, Q, P]` of `x`, `[M, G, Q, N]` of `b` and `c`, `[M, H, Q]` decays.
    fn own(&self, x: &Array, [b, c]: [&Array; 2], log_decay: &Array) -> Result<Array> {
        let (m, q) = (x.dim(0), x.dim(2));
        let scores = mx::matmul(c, &mx::transpose_axes(b, &[0, 1, 3, 2])?)?; // [M, G, Q, Q]
        let decays = decays(log_decay)?;
        let by_group = [m, self.n_groups, self.n_heads / self.n_groups, q, q];
        let weights = mx::multiply(&mx::reshape(&decays, &by_group)?, &mx::expand_dims(&scores, 2)?)?;
        mx::matmul(&mx::reshape(&weights, &[m, self.n_heads, q, q])?, x)
    }

    /// The state before each chunk, `[M, G, H P / G, N]`, and after the last, `[R, H, P, N]`, from what the chunks add,
    /// `[R, C, H, P N]`, and their logarithms of decays, `[R, C, H]`.
    fn between(&self, added: &Array, totals: &Array, state: &Array) -> Result<(Array, Array)> {
        let Self { n_heads, head_dim, n_groups, n_state } = *self;
        let (r, n_chunks) = (added.dim(0), added.dim(1));
        let first = mx::reshape(state, &[r, 1, n_heads, head_dim * n_state])?;
        let all = mx::transpose_axes(&mx::concatenate(&[&first, added], 1)?, &[0, 2, 1, 3])?;
        let totals = mx::concatenate(&[&mx::zeros(&[r, 1, n_heads], totals.dtype())?, totals], 1)?;
        let log_decay = mx::transpose_axes(&mx::cumsum(&totals, 1)?, &[0, 2, 1])?; // [R, H, C + 1]
        let states = mx::matmul(&decays(&log_decay)?, &all)?; // [R, H, C + 1, P N]
        let part = |start, stop| mx::slice(&states, &[Cut { axis: 2, start, stop }]);
        let before = mx::transpose_axes(&part(0, n_chunks)?, &[0, 2, 1, 3])?;
        let before = mx::reshape(&before, &[r * n_chunks, n_groups, self.group_dim(), n_state])?;
        let after = mx::reshape(&part(n_chunks, n_chunks + 1)?, &[r, n_heads, head_dim, n_state])?;
        Ok((before, after))
    }
}

/// `[R, L, ..]` with zeros up to length `len`.
fn padded(array: &Array, len: i32) -> Result<Array> {
    match len - array.dim(1) {
        0 => Ok(array.clone()),
        n => mx::concatenate(&[array, &mx::zeros(&[array.dim(0), n, array.dim(2)], array.dtype())?], 1),
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
