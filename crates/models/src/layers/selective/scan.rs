//! The recurrence `s' = exp(dt a) s + dt x b`, `y = s' c` of each channel, whose state elements all decay differently. One
//! token is a step; more are groups, all groups at once (Blelloch 1990), so that operations grow with the logarithm of tokens.

use crate::mx::{self, Array, Cut, Dtype, Result};

/// Most elements of all tokens' states at once. Longer rows go in parts, one after the other.
const N_ELEMENTS_MAX: usize = 1 << 23;

/// Tokens of a group, which go one after the other: more make more operations, fewer more passes over all states.
const N_GROUP: i32 = 8;

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
        let states = states(&left, &added, state)?;
        let len = states.dim(1);
        let after = mx::slice(&states, &[Cut { axis: 1, start: len - 1, stop: len }])?;
        Ok((self.outputs(&states)?, mx::reshape(&after, state.shape())?))
    }
}

/// The states at each of `[R, L, C, N]` after `[R, C, N]`, from what is left of the one before and what is added: in groups, all
/// groups at once, after the states between groups, which are found in the same way.
fn states(left: &Array, added: &Array, state: &Array) -> Result<Array> {
    let &[r, len, c, n] = left.shape() else { return Err(mx::Error { what: "states of four axes".into() }) };
    if len <= N_GROUP {
        return running(left, added, Some(&mx::expand_dims(state, 1)?));
    }
    let n_groups = (len + N_GROUP - 1) / N_GROUP;
    let grouped = |array: &Array| {
        // What is filled up comes last.
        let filled = match n_groups * N_GROUP - len {
            0 => array.clone(),
            n_more => mx::concatenate(&[array, &mx::zeros(&[r, n_more, c, n], Dtype::Float32)?], 1)?,
        };
        mx::reshape(&filled, &[r * n_groups, N_GROUP, c, n])
    };
    let (left, added) = (grouped(left)?, grouped(added)?);
    let sums = running(&left, &added, None)?;
    let kept = products(&left)?;
    // Of all groups but the last.
    let closed = |array: &Array| {
        let ends = mx::slice(array, &[Cut { axis: 1, start: N_GROUP - 1, stop: N_GROUP }])?;
        let ends = mx::reshape(&ends, &[r, n_groups, c, n])?;
        mx::slice(&ends, &[Cut { axis: 1, start: 0, stop: n_groups - 1 }])
    };
    let between = states(&closed(&kept)?, &closed(&sums)?, state)?;
    let before = mx::concatenate(&[&mx::expand_dims(state, 1)?, &between], 1)?;
    let before = mx::reshape(&before, &[r * n_groups, 1, c, n])?;
    let all = mx::reshape(&mx::add(&sums, &mx::multiply(&kept, &before)?)?, &[r, n_groups * N_GROUP, c, n])?;
    mx::slice(&all, &[Cut { axis: 1, start: 0, stop: len }])
}

/// `s' = left s + added` along axis 1 of `[M, L, C, N]`, from `[M, 1, C, N]` or from nothing.
fn running(left: &Array, added: &Array, start: Option<&Array>) -> Result<Array> {
    let mut all: Vec<Array> = Vec::new();
    for at in 0..left.dim(1) {
        let here = nth(added, at)?;
        all.push(match all.last().or(start) {
            Some(before) => mx::add(&here, &mx::multiply(&nth(left, at)?, before)?)?,
            None => here,
        });
    }
    mx::concatenate(&all.iter().collect::<Vec<_>>(), 1)
}

/// Products of all up to each along axis 1.
fn products(left: &Array) -> Result<Array> {
    let mut all = vec![nth(left, 0)?];
    for at in 1..left.dim(1) {
        all.push(mx::multiply(&all[all.len() - 1], &nth(left, at)?)?);
    }
    mx::concatenate(&all.iter().collect::<Vec<_>>(), 1)
}

fn nth(array: &Array, at: i32) -> Result<Array> {
    mx::slice(array, &[Cut { axis: 1, start: at, stop: at + 1 }])
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
