//! The chunked form. With `b` the running sum of `g` in a chunk, `A[i, j] = beta[i] (k[i] . k[j]) exp(b[i] - b[j])` for `j < i`
//! and `S` the state before the chunk, what the tokens write is `U = (1 + A)^-1 beta (v - exp(b) k S)`: the inverse does not
//! depend on `S`, so that all chunks have theirs at once, and only `S` is carried from chunk to chunk.

use super::pairs::{Pairs, pairs};
use super::{GatedDelta, HeadShape, Tokens};
use crate::mx::{self, Array, Cut, Result};

/// Most tokens of a chunk: fewer make more steps from chunk to chunk, more make larger triangles to solve.
pub(super) const N_CHUNK_MAX: i32 = 64;

/// Most elements that one array of a call has: longer inputs are cut.
const N_ELEMENTS_MAX: i64 = 1 << 26;

/// The logarithm of what f32 cannot tell from no state left. Running sums of less would leave few digits of their differences.
const LOG_DECAY_MIN: f32 = -30.0;

/// Constants of a chunk's triangles.
pub(super) struct Masks {
    /// `[C, C]`: 1 where the column is not after the row.
    lower: Array,
    /// For blocks of 1, 2, 4, ... rows: `[C, C]`, 1 where of two neighbouring blocks the row is in the second and the column
    /// in the first.
    levels: Vec<Array>,
}

impl Masks {
    pub(super) fn new() -> Self {
        let n = N_CHUNK_MAX as usize;
        let square = |is: &dyn Fn(usize, usize) -> bool| {
            let values: Vec<f32> = (0..n * n).map(|at| if is(at / n, at % n) { 1.0 } else { 0.0 }).collect();
            Array::from_slice(&values, &[N_CHUNK_MAX; 2])
        };
        let sizes = (0..n.ilog2()).map(|level| 1 << level);
        let level = |size: usize| {
            square(&|i, j| {
                i / (2 * size) == j / (2 * size) && !(i / size).is_multiple_of(2) && (j / size).is_multiple_of(2)
            })
        };
        Self { lower: square(&|i, j| j <= i), levels: sizes.map(level).collect() }
    }

    /// For chunks of `c` tokens.
    fn lower(&self, c: i32) -> Result<Array> {
        corner(&self.lower, c)
    }

    /// `(1 + A)^-1` of the part of `[.., C, C]` below the diagonal: inverses of blocks on the diagonal, joined two by two.
    fn inverse(&self, a: &Array) -> Result<Array> {
        let c = a.dim(-1);
        let mut inverse = diagonal(c);
        for (level, mask) in self.levels.iter().enumerate().take_while(|(level, _)| 1 << level < c) {
            let between = mx::multiply(a, &corner(mask, c)?)?;
            let joined = match level {
                0 => between,
                _ => mx::matmul(&mx::matmul(&inverse, &between)?, &inverse)?,
            };
            inverse = mx::subtract(&inverse, &joined)?;
        }
        Ok(inverse)
    }
}

fn corner(square: &Array, c: i32) -> Result<Array> {
    let cut = |axis| Cut { axis, start: 0, stop: c };
    mx::slice(square, &[cut(0), cut(1)])
}

fn diagonal(c: i32) -> Array {
    let values: Vec<f32> = (0..c * c).map(|at| if at / c == at % c { 1.0 } else { 0.0 }).collect();
    Array::from_slice(&values, &[c, c])
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

/// What the carry from chunk to chunk needs.
struct Carry {
    /// What tokens write, but for what the state before the chunk changes of it: `[.., C, Dv]`.
    written: Array,
    /// How the state changes it: `[.., C, Dk]`; `None` = not at all.
    correction: Option<Array>,
    /// Keys as the chunk's end sees them, `[.., Dk, C]`.
    keys: Array,
    /// What is left of the state at the chunk's end, `[.., 1 or Dk, 1]`.
    decay: Array,
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
        let n_each = i64::from(tokens.values.dim(0) * n_v_heads) * i64::from(n_pairs.max(k_dim).max(v_dim));
        let n_chunks = N_ELEMENTS_MAX / (n_each * i64::from(N_CHUNK_MAX)).max(1);
        n_chunks.clamp(1, 1 << 16) as i32 * N_CHUNK_MAX
    }

    fn call(&self, tokens: &Tokens, state: &Array) -> Result<(Array, Array)> {
        let HeadShape { n_k_heads, n_v_heads, k_dim, v_dim } = self.shape;
        let (r, len) = (tokens.values.dim(0), tokens.values.dim(1));
        let c = ((len as u32).next_power_of_two() as i32).min(N_CHUNK_MAX);
        let chunks = Chunks::of(tokens, &self.shape, c)?;
        let Pairs { keys: among_keys, queries: attention } = pairs(&chunks.queries, &chunks.keys, &chunks.sums)?;
        let attention = mx::multiply(&attention, &self.masks.lower(c)?)?;
        let decay = mx::exp(&chunks.sums)?;
        let last = mx::slice(&chunks.sums, &[Cut { axis: 4, start: c - 1, stop: c }])?;
        let late = mx::multiply(&chunks.keys, &mx::exp(&mx::subtract(&last, &chunks.sums)?)?)?;
        let (written, correction) = match &chunks.beta {
            Some(beta) => {
                let inverse = self.masks.inverse(&mx::multiply(&among_keys, beta)?)?;
                let seen = mx::multiply(&chunks.keys, &mx::multiply(&decay, &negative(beta)?)?)?;
                let written = mx::matmul(&inverse, &mx::multiply(&chunks.values, beta)?)?;
                (written, Some(mx::matmul(&inverse, &seen)?))
            }
            None => (chunks.values.clone(), None),
        };
        let flip = |array: &Array| mx::transpose_axes(array, &[0, 1, 2, 3, 5, 4]);
        let carry = Carry { written, correction, keys: flip(&late)?, decay: flip(&mx::exp(&last)?)? };
        let state = mx::reshape(state, &[r, n_k_heads, n_v_heads / n_k_heads, 1, k_dim, v_dim])?;
        let Carried { states, written, after } = carry.run(state)?;
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

/// The states before each chunk, `[.., N, Dk, Dv]`, what each chunk's tokens write, `[.., N, C, Dv]`, and the state after all.
struct Carried {
    states: Array,
    written: Array,
    after: Array,
}

impl Carry {
    fn run(&self, state: Array) -> Result<Carried> {
        let n_chunks = self.written.dim(3);
        let nth = |array: &Array, at: i32| match n_chunks {
            1 => Ok(array.clone()),
            _ => mx::slice(array, &[Cut { axis: 3, start: at, stop: at + 1 }]),
        };
        let (mut state, mut states, mut all_written) = (state, Vec::new(), Vec::new());
        for at in 0..n_chunks {
            let mut written = nth(&self.written, at)?;
            if let Some(correction) = &self.correction {
                written = mx::addmm(&written, &nth(correction, at)?, &state)?;
            }
            let after = mx::addmm(&mx::multiply(&state, &nth(&self.decay, at)?)?, &nth(&self.keys, at)?, &written)?;
            states.push(std::mem::replace(&mut state, after));
            all_written.push(written);
        }
        let joined = |arrays: &[Array]| mx::concatenate(&arrays.iter().collect::<Vec<_>>(), 3);
        let written = if self.correction.is_some() { joined(&all_written)? } else { self.written.clone() };
        Ok(Carried { states: joined(&states)?, written, after: state })
    }
}

fn negative(a: &Array) -> Result<Array> {
    mx::multiply(a, &mx::scalar(-1.0))
}
