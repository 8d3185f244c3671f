//! The chunked form. With `b` the running sum of `g` in a chunk, `A[i, j] = beta[i] (k[i] . k[j]) exp(b[i] - b[j])` for `j < i`
//! and `S` the state before the chunk, what the tokens write is `U = (1 + A)^-1 beta (v - exp(b) k S)`: the inverse does not
//! depend on `S`, so that all chunks have theirs at once, and only `S` is carried from chunk to chunk.

use super::carry::{Carried, Carry};
use super::pairs::{Pairs, pairs};
use super::triangles::Triangles;
use super::{GatedDelta, HeadShape, Tokens};
use crate::mx::{self, Array, Cut, Result};

/// Most tokens of a chunk: fewer make more steps from chunk to chunk, more make larger triangles to solve.
pub(super) const N_CHUNK_MAX: i32 = 64;

/// Most elements that one array of a call has: longer inputs are cut.
const N_ELEMENTS_MAX: i64 = 1 << 26;

/// The logarithm of what f32 cannot tell from no state left. Running sums of less would leave few digits of their differences.
const LOG_DECAY_MIN: f32 = -30.0;

/// Constants of a chunk.
pub(super) struct Constants {
    /// `[C, C]`: 1 where the column is not after the row.
    lower: Array,
    triangles: Triangles,
}

impl Constants {
    pub(super) fn new() -> Self {
        let n = N_CHUNK_MAX as usize;
        let values: Vec<f32> = (0..n * n).map(|at| if at % n <= at / n { 1.0 } else { 0.0 }).collect();
        Self { lower: Array::from_slice(&values, &[N_CHUNK_MAX; 2]), triangles: Triangles::new() }
    }

    /// For chunks of `c` tokens.
    fn lower(&self, c: i32) -> Result<Array> {
        let cut = |axis| Cut { axis, start: 0, stop: c };
        mx::slice(&self.lower, &[cut(0), cut(1)])
    }
}

/// The tokens as chunks: `[R, Hk, G, N, C, ..]`, `G` value heads for a key head.
struct Chunks {
    queries: Array,
    keys: Array,
    values: Array,
    /// The running sum of the logarithms of decay in each chunk.
    sums: Array,
    /// `[.., C, 1]`.
    beta: Option<Array>,
}

impl GatedDelta {
    /// Several tokens a row.
    pub(super) fn chunks(&self, tokens: &Tokens, state: &Array) -> Result<(Array, Array)> {
        let n_max = self.n_tokens_max(tokens);
        let len = tokens.values.dim(1);
        if len <= n_max {
            return self.call(tokens, state);
        }
        let (mut outputs, mut state) = (Vec::new(), state.clone());
        for start in (0..len).step_by(n_max as usize) {
            let (output, after) = self.call(&tokens.part(start, len.min(start + n_max))?, &state)?;
            outputs.push(output);
            state = after;
        }
        Ok((mx::concatenate(&outputs.iter().collect::<Vec<_>>(), 1)?, state))
    }

    /// Tokens a row that are taken at once.
    fn n_tokens_max(&self, tokens: &Tokens) -> i32 {
        let HeadShape { n_v_heads, k_dim, v_dim, .. } = self.shape;
        let n_pairs = if tokens.log_decay.dim(-1) == 1 { N_CHUNK_MAX } else { super::pairs::N_BLOCK * k_dim };
        let n_states = k_dim * k_dim.max(v_dim) / N_CHUNK_MAX;
        let n_each =
            i64::from(tokens.values.dim(0) * n_v_heads) * i64::from(n_pairs.max(n_states).max(k_dim).max(v_dim));
        let n_chunks = N_ELEMENTS_MAX / (n_each * i64::from(N_CHUNK_MAX)).max(1);
        n_chunks.clamp(1, 1 << 16) as i32 * N_CHUNK_MAX
    }

    fn call(&self, tokens: &Tokens, state: &Array) -> Result<(Array, Array)> {
        let HeadShape { n_k_heads, n_v_heads, k_dim, v_dim } = self.shape;
        let (r, len) = (tokens.values.dim(0), tokens.values.dim(1));
        let c = ((len as u32).next_power_of_two() as i32).min(N_CHUNK_MAX);
        let chunks = Chunks::of(tokens, &self.shape, c)?;
        let Pairs { keys: among_keys, queries: attention } = pairs(&chunks.queries, &chunks.keys, &chunks.sums)?;
        let attention = mx::multiply(&attention, &self.constants.lower(c)?)?;
        let decay = mx::exp(&chunks.sums)?;
        let last = mx::slice(&chunks.sums, &[Cut { axis: 4, start: c - 1, stop: c }])?;
        let late = mx::multiply(&chunks.keys, &mx::exp(&mx::subtract(&last, &chunks.sums)?)?)?;
        let (written, correction) = match &chunks.beta {
            Some(beta) => {
                let inverse = self.constants.triangles.inverse(&mx::multiply(&among_keys, beta)?)?;
                let seen = mx::multiply(&chunks.keys, &mx::multiply(&decay, &negative(beta)?)?)?;
                let written = mx::matmul(&inverse, &mx::multiply(&chunks.values, beta)?)?;
                (written, Some(mx::matmul(&inverse, &seen)?))
            }
            None => (chunks.values.clone(), None),
        };
        let flip = |array: &Array| mx::transpose_axes(array, &[0, 1, 2, 3, 5, 4]);
        let carry = Carry { written, correction, keys: flip(&late)?, log_decay: flip(&last)? };
        let state = mx::reshape(state, &[r, n_k_heads, n_v_heads / n_k_heads, 1, k_dim, v_dim])?;
        let Carried { states, written, after } = carry.run(&state)?;
        let read = mx::matmul(&mx::multiply(&chunks.queries, &decay)?, &states)?;
        let out = mx::addmm(&read, &attention, &written)?;
        let out = mx::transpose_axes(&out, &[0, 3, 4, 1, 2, 5])?;
        let out = mx::reshape(&out, &[r, -1, n_v_heads, v_dim])?;
        let out = mx::slice(&out, &[Cut { axis: 1, start: 0, stop: len }])?;
        Ok((out, mx::reshape(&after, &[r, n_v_heads, k_dim, v_dim])?))
    }
}

impl Tokens {
    fn part(&self, start: i32, stop: i32) -> Result<Self> {
        let cut = |array: &Array| mx::slice(array, &[Cut { axis: 1, start, stop }]);
        Ok(Self {
            queries: cut(&self.queries)?,
            keys: cut(&self.keys)?,
            values: cut(&self.values)?,
            log_decay: cut(&self.log_decay)?,
            beta: self.beta.as_ref().map(cut).transpose()?,
        })
    }
}

impl Chunks {
    /// Chunks of `c`; the last is filled up with tokens that write nothing and let nothing decay.
    fn of(tokens: &Tokens, shape: &HeadShape, c: i32) -> Result<Self> {
        let HeadShape { n_k_heads: h, n_v_heads, .. } = *shape;
        let (r, g) = (tokens.values.dim(0), n_v_heads / h);
        let split = |array: &Array, g: i32| {
            let (len, n) = (array.dim(1), array.dim(3));
            let n_chunks = (len + c - 1) / c;
            let filled = match n_chunks * c - len {
                0 => array.clone(),
                n_more => {
                    let rest = mx::zeros(&[r, n_more, array.dim(2), n], array.dtype())?;
                    mx::concatenate(&[array, &rest], 1)?
                }
            };
            mx::transpose_axes(&mx::reshape(&filled, &[r, n_chunks, c, h, g, n])?, &[0, 3, 4, 1, 2, 5])
        };
        let beta = tokens.beta.as_ref().map(|beta| split(&mx::expand_dims(beta, 3)?, g));
        Ok(Self {
            queries: split(&tokens.queries, 1)?,
            keys: split(&tokens.keys, 1)?,
            values: split(&tokens.values, g)?,
            sums: mx::cumsum(&mx::maximum(&split(&tokens.log_decay, g)?, &mx::scalar(LOG_DECAY_MIN))?, 4)?,
            beta: beta.transpose()?,
        })
    }
}

fn negative(a: &Array) -> Result<Array> {
    mx::multiply(a, &mx::scalar(-1.0))
}
