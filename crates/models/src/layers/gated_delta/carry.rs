//! From chunk to chunk. What a chunk makes of the state is `kept S + added`; both follow from its tokens alone, so that one
//! product a chunk is all that is done one chunk after the other.

use super::triangles::diagonal;
use crate::layers::decays::decays;
use crate::mx::{self, Array, Cut, Result};

/// What the carry needs of all chunks.
pub(super) struct Carry {
    /// What tokens write, but for what the state before the chunk changes of it: `[R, H, G, N, C, Dv]`.
    pub written: Array,
    /// How the state changes it: `[.., N, C, Dk]`; `None` = not at all.
    pub correction: Option<Array>,
    /// Keys as the chunk's end sees them, `[.., N, Dk, C]`.
    pub keys: Array,
    /// The logarithm of what is left of the state at the chunk's end, `[.., N, 1 or Dk, 1]`.
    pub log_decay: Array,
}

/// The states before each chunk, `[.., N, Dk, Dv]`, what each chunk's tokens write, `[.., N, C, Dv]`, and the state after all.
pub(super) struct Carried {
    pub states: Array,
    pub written: Array,
    pub after: Array,
}

impl Carry {
    /// From the state before the first chunk, `[R, H, G, 1, Dk, Dv]`.
    pub(super) fn run(&self, state: &Array) -> Result<Carried> {
        if self.written.dim(3) == 1 {
            return self.one(state);
        }
        let added = mx::matmul(&self.keys, &self.written)?;
        let (states, after) = match &self.correction {
            None if self.log_decay.dim(4) == 1 => self.summed(state, &added)?,
            correction => self.one_by_one(state, &added, correction.as_ref())?,
        };
        let written = match &self.correction {
            Some(correction) => mx::addmm(&self.written, correction, &states)?,
            None => self.written.clone(),
        };
        Ok(Carried { states, written, after })
    }

    /// A single chunk.
    fn one(&self, state: &Array) -> Result<Carried> {
        let written = match &self.correction {
            Some(correction) => mx::addmm(&self.written, correction, state)?,
            None => self.written.clone(),
        };
        let kept = mx::multiply(state, &mx::exp(&self.log_decay)?)?;
        let after = mx::addmm(&kept, &self.keys, &written)?;
        Ok(Carried { states: state.clone(), written, after })
    }

    /// Nothing is corrected and a state decays as a whole: sums over chunks, all at once.
    fn summed(&self, state: &Array, added: &Array) -> Result<(Array, Array)> {
        let &[r, h, g, n, k_dim, v_dim] = added.shape() else {
            return Err(mx::Error { what: "states of six axes".into() });
        };
        let all = mx::reshape(&mx::concatenate(&[state, added], 3)?, &[r, h, g, n + 1, k_dim * v_dim])?;
        let start = mx::zeros(&[r, h, g, 1], self.log_decay.dtype())?;
        let log_decay = mx::concatenate(&[&start, &mx::reshape(&self.log_decay, &[r, h, g, n])?], 3)?;
        let states = mx::matmul(&decays(&mx::cumsum(&log_decay, 3)?)?, &all)?;
        let states = mx::reshape(&states, &[r, h, g, n + 1, k_dim, v_dim])?;
        let part = |start, stop| mx::slice(&states, &[Cut { axis: 3, start, stop }]);
        Ok((part(0, n)?, part(n, n + 1)?))
    }

    /// One product after the other.
    fn one_by_one(&self, state: &Array, added: &Array, correction: Option<&Array>) -> Result<(Array, Array)> {
        let (n, k_dim) = (added.dim(3), added.dim(4));
        let mut kept = mx::multiply(&diagonal(k_dim), &mx::exp(&self.log_decay)?)?;
        if let Some(correction) = correction {
            kept = mx::addmm(&kept, &self.keys, correction)?;
        }
        let nth = |array: &Array, at: i32| mx::slice(array, &[Cut { axis: 3, start: at, stop: at + 1 }]);
        let (mut state, mut states) = (state.clone(), Vec::with_capacity(n as usize));
        for at in 0..n {
            let after = mx::addmm(&nth(added, at)?, &nth(&kept, at)?, &state)?;
            states.push(std::mem::replace(&mut state, after));
        }
        Ok((mx::concatenate(&states.iter().collect::<Vec<_>>(), 3)?, state))
    }
}
