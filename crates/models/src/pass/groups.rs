//! Rows of a pass with equally many tokens: layers that take rows together take these as one array.

use super::PassRow;
use crate::mx::{self, Array, Cut, Result};

/// All rows of a pass.
pub struct Groups {
    groups: Vec<Group>,
    /// For each token of the pass, where the groups one after the other have it; `None` = in the same order.
    back: Option<Array>,
}

/// Rows with equally many tokens.
pub struct Group {
    /// Which.
    pub rows: Vec<usize>,
    /// How many tokens each.
    pub len: usize,
    tokens: Tokens,
}

/// Which tokens of the pass.
enum Tokens {
    All,
    Range(Cut),
    Some(Array),
}

impl Groups {
    pub(super) fn of(rows: &[PassRow<'_>]) -> Self {
        let mut members: Vec<(usize, Vec<usize>)> = Vec::new();
        for (row_idx, row) in rows.iter().enumerate() {
            match members.iter_mut().find(|(len, _)| *len == row.len) {
                Some((_, rows)) => rows.push(row_idx),
                None => members.push((row.len, vec![row_idx])),
            }
        }
        let n_tokens = rows.iter().map(|row| row.len).sum();
        let mut order: Vec<usize> = Vec::with_capacity(n_tokens);
        let groups = members.into_iter().map(|(len, members)| {
            let first = order.len();
            order.extend(members.iter().flat_map(|row_idx| rows[*row_idx].start..rows[*row_idx].start + len));
            Group { tokens: Tokens::of(&order[first..], n_tokens), rows: members, len }
        });
        let groups = groups.collect();
        let mut back = vec![0_u32; n_tokens];
        order.iter().enumerate().for_each(|(at, token)| back[*token] = at as u32);
        let is_ordered = order.is_sorted();
        Self { groups, back: (!is_ordered).then(|| Array::from_slice(&back, &[n_tokens as i32])) }
    }

    /// Each group.
    pub fn iter(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter()
    }

    /// `[R, L, N]` of each group as `[T, N]`.
    pub fn join(&self, parts: &[Array]) -> Result<Array> {
        let flat = |part: &Array| mx::reshape(part, &[part.dim(0) * part.dim(1), part.dim(2)]);
        let flat = parts.iter().map(flat).collect::<Result<Vec<_>>>()?;
        let joined = match flat.as_slice() {
            [part] => part.clone(),
            parts => mx::concatenate(&parts.iter().collect::<Vec<_>>(), 0)?,
        };
        match &self.back {
            Some(back) => mx::take(&joined, back, 0),
            None => Ok(joined),
        }
    }
}

impl Group {
    /// Its rows' part of `[T, ..]`: `[R, L, ..]`.
    pub fn take(&self, x: &Array) -> Result<Array> {
        let taken = match &self.tokens {
            Tokens::All => x.clone(),
            Tokens::Range(cut) => mx::slice(x, &[*cut])?,
            Tokens::Some(tokens) => mx::take(x, tokens, 0)?,
        };
        let shape = [&[self.rows.len() as i32, self.len as i32], x.shape().get(1..).unwrap_or_default()].concat();
        mx::reshape(&taken, &shape)
    }
}

impl Tokens {
    fn of(tokens: &[usize], n_tokens: usize) -> Self {
        let is_range = tokens.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        match tokens {
            tokens if is_range && tokens.len() == n_tokens => Self::All,
            [first, ..] if is_range => {
                Self::Range(Cut { axis: 0, start: *first as i32, stop: (first + tokens.len()) as i32 })
            }
            tokens => {
                let tokens: Vec<u32> = tokens.iter().map(|token| *token as u32).collect();
                Self::Some(Array::from_slice(&tokens, &[tokens.len() as i32]))
            }
        }
    }
}
