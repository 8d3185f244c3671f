//! A matrix for each head, or each group of heads: `[H, out, in]`.

use crate::LoadResult;
use crate::mx::{self, Array, Packed, Result};
use crate::weights::{At, Matrix};

/// See the module.
pub struct PerHead(Kind);

enum Kind {
    /// A view, `[H, in, out]`.
    Dense(Array),
    Packed(Packed),
}

impl PerHead {
    /// Of matrices that `at` gave, `[H, out, in]`.
    pub fn new(at: &At<'_, '_>, matrix: Matrix) -> LoadResult<Self> {
        Ok(Self(match at.keep_matrix(matrix)? {
            Matrix::Dense(array) => Kind::Dense(mx::transpose_axes(&array, &[0, 2, 1])?),
            Matrix::Packed(packed) => Kind::Packed(packed),
        }))
    }

    /// Takes `weight`, `[H out, in]`: the rows of one head after those of the other. `sizes` are heads, outputs and inputs.
    pub fn load_joined(at: &At<'_, '_>, sizes: [i32; 3]) -> LoadResult<Self> {
        let [n_heads, n_out, n_in] = sizes;
        let apart = |array: &Array| mx::reshape(array, &[n_heads, n_out, -1]);
        let matrix = match at.matrix(n_heads * n_out, n_in)? {
            Matrix::Dense(array) => Matrix::Dense(apart(&array)?),
            Matrix::Packed(packed) => Matrix::Packed(Packed {
                weight: apart(&packed.weight)?,
                scales: apart(&packed.scales)?,
                biases: packed.biases.as_ref().map(apart).transpose()?,
                packing: packed.packing,
            }),
        };
        Self::new(at, matrix)
    }

    /// `[T, H, in]` to `[T, H, out]`.
    pub fn forward(&self, x: &Array) -> Result<Array> {
        let x = mx::transpose_axes(x, &[1, 0, 2])?;
        let y = match &self.0 {
            Kind::Dense(matrix) => mx::matmul(&x, matrix)?,
            Kind::Packed(packed) => mx::quantized_matmul(&x, packed)?,
        };
        mx::transpose_axes(&y, &[1, 0, 2])
    }
}
