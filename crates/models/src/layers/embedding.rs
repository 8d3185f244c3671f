//! Token ids to vectors, and back where the two are tied.

use crate::LoadResult;
use crate::layers::linear::Linear;
use crate::mx::{self, Array, Dtype, Packed, Result};
use crate::weights::{At, Kernels, Matrix};

/// A table of `[V, hidden]`.
#[derive(Clone, Debug)]
pub struct Embedding {
    table: Matrix,
    dtype: Dtype,
    kernels: Kernels,
}

impl Embedding {
    /// Takes `weight`.
    pub fn load(at: &At<'_, '_>, n_vocab: i32, n_hidden: i32) -> LoadResult<Self> {
        let table = at.keep_matrix(at.matrix(n_vocab, n_hidden)?)?;
        let dtype = match &table {
            Matrix::Dense(array) => array.dtype(),
            Matrix::Packed(packed) if packed.scales.dtype().is_float() => packed.scales.dtype(),
            Matrix::Packed(_) => at.dtype().unwrap_or(Dtype::Bfloat16),
        };
        Ok(Self { table, dtype, kernels: at.kernels() })
    }

    /// `[T]` ids to `[T, hidden]`.
    pub fn forward(&self, tokens: &Array) -> Result<Array> {
        match &self.table {
            Matrix::Dense(table) => mx::take(table, tokens, 0),
            Matrix::Packed(Packed { weight, scales, biases, packing }) => {
                let row = |array: &Array| mx::take(array, tokens, 0);
                let biases = biases.as_ref().map(row).transpose()?;
                let rows = Packed { weight: row(weight)?, scales: row(scales)?, biases, packing: *packing };
                mx::dequantize(&rows, self.dtype)
            }
        }
    }

    /// The tied output projection, `[T, hidden]` to `[T, V]`.
    pub fn as_linear(&self) -> Result<Linear> {
        Linear::tied(&self.table, self.kernels)
    }
}
