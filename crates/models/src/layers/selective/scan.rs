//! The recurrence `s' = exp(dt a) s + dt x b`, `y = s' c` of each channel, whose state elements all decay differently. One
//! token is a step; of more, sums over 1, 2, 4, .. tokens are made from each other (Hillis and Steele 1986).

use crate::mx::{self, Array, Cut, Dtype, Result};

/// Most elements of all tokens' states at once. Longer rows go in parts, one after the other.
const N_ELEMENTS_MAX: usize = 1 << 23;

/// The tokens of `R` rows.
pub struct Tokens {
    /// `[R, L, C]`.
    pub x: Array,
    /// `[R, L, N]`.
    pub b: Array,
    /// `[R, L, N]`.
    pub c: Array,
    /// `[R, L, C]`, f32, above 0.
    pub dt: Array,
}

impl Tokens {
    /// `[R, L, C]` after the state `[R, C, N]`, in f32, and the state then; `a` is `[C, N]`, below 0.
    pub fn scan(&self, a: &Array, state: &Array) -> Result<(Array, Array)> {
        let n_token = state.shape().iter().map(|n| *n as usize).product::<usize>();
        self.in_parts(a, state, (N_ELEMENTS_MAX / n_token.max(1)).max(16))
    }

    /// At most `n_part` tokens of each row at once.
    fn in_parts(&self, a: &Array, state: &Array, n_part: usize) -> Result<(Array, Array)> {
        let (mut state, mut outputs) = (state.clone(), Vec::new());
        let len = self.dt.dim(1);
        for start in (0..len).step_by(n_part) {
            let part = self.cut(start, len.min(start.saturating_add(n_part as i32)))?;
            let (y, after) = if part.dt.dim(1) == 1 { part.step(a, &state)? } else { part.sums(a, &state)? };
            outputs.push(y);
            state = after;
        }
        match outputs.as_slice() {
            [y] => Ok((y.clone(), state)),
            outputs => Ok((mx::concatenate(&outputs.iter().collect::<Vec<_>>(), 1)?, state)),
        }
    }

    fn cut(&self, start: i32, stop: i32) -> Result<Self> {
        let part = |array: &Array| mx::slice(array, &[Cut { axis: 1, start, stop }]);
        Ok(Self { x: part(&self.x)?, b: part(&self.b)?, c: part(&self.c)?, dt: part(&self.dt)? })
    }

    /// What is left of the state at each token and what the token adds, `[R, L, C, N]` each.
    fn effects(&self, a: &Array) -> Result<[Array; 2]> {
        let left = mx::exp(&mx::multiply(&mx::expand_dims(&self.dt, -1)?, a)?)?;
        let input = mx::multiply(&self.x, &self.dt)?;
        let added = mx::multiply(&mx::expand_dims(&input, -1)?, &mx::expand_dims(&self.b, -2)?)?;
        Ok([left, added])
    }

    /// `[R, L, C, N]` states to outputs, `[R, L, C]`.
    fn outputs(&self, states: &Array) -> Result<Array> {
        let c = mx::expand_dims(&mx::cast(&self.c, Dtype::Float32)?, -1)?;
        mx::reshape(&mx::matmul(states, &c)?, self.dt.shape())
    }

    /// One token of each row.
    fn step(&self, a: &Array, state: &Array) -> Result<(Array, Array)> {
        let [left, added] = self.effects(a)?;
        let states = mx::add(&mx::multiply(&left, &mx::expand_dims(state, 1)?)?, &added)?;
        Ok((self.outputs(&states)?, mx::reshape(&states, state.shape())?))
    }

    /// All tokens at once.
    fn sums(&self, a: &Array, state: &Array) -> Result<(Array, Array)> {
        let [left, added] = self.effects(a)?;
        // The state is one more token, before the others.
        let mut sums = mx::concatenate(&[&mx::expand_dims(state, 1)?, &added], 1)?;
        let mut left = mx::concatenate(&[&mx::expand_dims(&mx::zeros(state.shape(), Dtype::Float32)?, 1)?, &left], 1)?;
        let len = sums.dim(1);
        let part = |array: &Array, start, stop| mx::slice(array, &[Cut { axis: 1, start, stop }]);
        // Each place holds the sum over `n` tokens and what is left of those before them.
        let mut n = 1;
        while n < len {
            let left_later = part(&left, n, len)?;
            let carried = mx::multiply(&left_later, &part(&sums, 0, len - n)?)?;
            let later = mx::add(&part(&sums, n, len)?, &carried)?;
            sums = mx::concatenate(&[&part(&sums, 0, n)?, &later], 1)?;
            if 2 * n < len {
                let product = mx::multiply(&left_later, &part(&left, 0, len - n)?)?;
                left = mx::concatenate(&[&part(&left, 0, n)?, &product], 1)?;
            }
            n *= 2;
        }
        let after = mx::reshape(&part(&sums, len - 1, len)?, state.shape())?;
        Ok((self.outputs(&part(&sums, 1, len)?)?, after))
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
