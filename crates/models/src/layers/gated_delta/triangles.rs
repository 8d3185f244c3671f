//! Inverses of triangles: small ones on the diagonal first, then joined two by two, so that no product is larger than what
//! it makes.

use crate::mx::{self, Array, Cut, Result};

/// Most rows of a triangle that is inverted as one.
const N_SMALL: i32 = 16;

/// Inverts triangles.
pub(super) struct Triangles {
    /// For blocks of 1, 2, 4, ... rows: `[S, S]`, 1 where of two neighbouring blocks the row is in the second and the column
    /// in the first.
    levels: Vec<Array>,
}

impl Triangles {
    pub(super) fn new() -> Self {
        let n = N_SMALL as usize;
        let level = |size: usize| {
            let is_between = |i: usize, j: usize| {
                i / (2 * size) == j / (2 * size) && !(i / size).is_multiple_of(2) && (j / size).is_multiple_of(2)
            };
            let values: Vec<f32> = (0..n * n).map(|at| f32::from(u8::from(is_between(at / n, at % n)))).collect();
            Array::from_slice(&values, &[N_SMALL; 2])
        };
        Self { levels: (0..n.ilog2()).map(|level_idx| level(1 << level_idx)).collect() }
    }

    /// `(1 + A)^-1` of the part of `[.., C, C]` below the diagonal; `C` is a power of 2.
    pub(super) fn inverse(&self, a: &Array) -> Result<Array> {
        let c = a.dim(-1);
        let flat = mx::reshape(a, &[-1, c, c])?;
        let mut size = c.min(N_SMALL);
        let mut inverse = self.small(&mx::blocks(&flat, 0, size, size)?)?; // [M, B, S, S]
        while size < c {
            inverse = joined(&inverse, &mx::blocks(&flat, size, size, 2 * size)?)?;
            size *= 2;
        }
        mx::reshape(&inverse, a.shape())
    }

    /// Of `[.., S, S]`, as one: inverses of blocks on the diagonal of twice the size at each level.
    fn small(&self, a: &Array) -> Result<Array> {
        let size = a.dim(-1);
        let mut inverse = diagonal(size);
        for (level_idx, mask) in self.levels.iter().enumerate().take_while(|(level_idx, _)| 1 << level_idx < size) {
            let cut = |axis| Cut { axis, start: 0, stop: size };
            let between = mx::multiply(a, &mx::slice(mask, &[cut(0), cut(1)])?)?;
            let corner = match level_idx {
                0 => between,
                _ => mx::matmul(&mx::matmul(&inverse, &between)?, &inverse)?,
            };
            inverse = mx::subtract(&inverse, &corner)?;
        }
        Ok(inverse)
    }
}

/// Inverses `[M, B, S, S]` and what is left of the second and below the first of each two, `[M, B / 2, S, S]`, to inverses
/// `[M, B / 2, 2 S, 2 S]`.
fn joined(inverses: &Array, below: &Array) -> Result<Array> {
    let (m, n, size) = (below.dim(0), below.dim(1), below.dim(2));
    let pairs = mx::reshape(inverses, &[m, n, 2, size, size])?;
    let half = |start| mx::squeeze(&mx::slice(&pairs, &[Cut { axis: 2, start, stop: start + 1 }])?, 2);
    let (first, second) = (half(0)?, half(1)?);
    let corner = mx::scale(&mx::matmul(&mx::matmul(&second, below)?, &first)?, -1.0)?;
    let upper = mx::concatenate(&[&first, &mx::zeros(&[m, n, size, size], first.dtype())?], 3)?;
    let lower = mx::concatenate(&[&corner, &second], 3)?;
    mx::concatenate(&[&upper, &lower], 2)
}

/// `[N, N]`: 1 on the diagonal.
pub(super) fn diagonal(n: i32) -> Array {
    let values: Vec<f32> = (0..n * n).map(|at| if at / n == at % n { 1.0 } else { 0.0 }).collect();
    Array::from_slice(&values, &[n, n])
}
