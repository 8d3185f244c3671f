//! Matrices of 8-bit and 4-bit floats, as DeepSeek publishes them.

use super::{At, Matrix, check_shape, wrong_dtype};
use crate::config::Mode;
use crate::mx::{self, Array, Cut, Dtype, Packed, Packing};
use crate::{LoadError, LoadResult};

/// Rows and columns that may share a factor in matrices of 8-bit floats.
const N_FP8_BLOCKS: [i32; 2] = [128, 32];

/// Elements that share a factor in a row of 4-bit floats.
const N_FP4_GROUP: i32 = 32;

impl At<'_, '_> {
    /// A matrix whose `factors` lie beside it.
    pub(super) fn published(&self, shape: &[i32], factors: &str) -> LoadResult<Matrix> {
        let [n_out, n_in] = *shape else {
            let detail = "8-bit floats come one matrix at a time, not stacked".to_owned();
            return Err(LoadError::Quantization { path: self.path.clone(), detail });
        };
        let stored = self.weights.shape(&self.at("weight").path);
        if n_in % N_FP4_GROUP == 0 && stored.as_deref() == Some(&[n_out, n_in / 2]) {
            return self.fp4([n_out, n_in], factors);
        }
        Ok(Matrix::Dense(self.fp8([n_out, n_in], factors)?))
    }

    /// 8-bit floats with a factor for each block of 128 by 128 (DeepSeek-AI 2024) or 32 by 32, unpacked.
    fn fp8(&self, [n_out, n_in]: [i32; 2], factors: &str) -> LoadResult<Array> {
        let (name, weight) = self.take("weight")?;
        check_shape(&name, &weight, &[n_out, n_in])?;
        if weight.dtype() != Dtype::Uint8 {
            return Err(wrong_dtype(&name, &weight, "F8_E4M3"));
        }
        let (name, factors) = self.take(factors)?;
        let blocks = |n: i32, size: i32| (n + size - 1) / size;
        let grid = |size: i32| [blocks(n_out, size), blocks(n_in, size)];
        let size = N_FP8_BLOCKS.into_iter().find(|size| factors.shape() == grid(*size)).unwrap_or(N_FP8_BLOCKS[0]);
        check_shape(&name, &factors, &grid(size))?;
        let dtype = self.weights.compute.dtype.unwrap_or(Dtype::Bfloat16);
        // [out / size, size, in / size, size], the ends cut off
        let [n_rows, n_columns] = grid(size);
        let factors = mx::reshape(&numbers(&name, &factors)?, &[n_rows, 1, n_columns, 1])?;
        let factors = mx::broadcast_to(&factors, &[n_rows, size, n_columns, size])?;
        let factors = mx::reshape(&factors, &[n_rows * size, n_columns * size])?;
        let cut = [Cut { axis: 0, start: 0, stop: n_out }, Cut { axis: 1, start: 0, stop: n_in }];
        let dense = mx::multiply(&mx::from_fp8(&weight, Dtype::Float32)?, &mx::slice(&factors, &cut)?)?;
        Ok(mx::cast(&dense, dtype)?)
    }

    /// Two 4-bit floats a byte with an exponent for each 32 of a row (DeepSeek-AI 2026): MLX's mxfp4 byte by byte.
    fn fp4(&self, [n_out, n_in]: [i32; 2], factors: &str) -> LoadResult<Matrix> {
        let (name, weight) = self.take("weight")?;
        if weight.dtype() != Dtype::Uint8 && weight.dtype() != Dtype::Int8 {
            return Err(wrong_dtype(&name, &weight, "I8"));
        }
        let (name, scales) = self.take(factors)?;
        check_shape(&name, &scales, &[n_out, n_in / N_FP4_GROUP])?;
        if scales.dtype() != Dtype::Uint8 {
            return Err(wrong_dtype(&name, &scales, "F8_E8M0"));
        }
        let packing = Packing { group_size: N_FP4_GROUP, bits: 4, mode: Mode::Mxfp4.name() };
        self.computed(Packed { weight: mx::view(&weight, Dtype::Uint32)?, scales, biases: None, packing })
    }
}

/// Factors in f32: floats, or exponents of 2 with a bias of 127.
fn numbers(name: &str, factors: &Array) -> LoadResult<Array> {
    if factors.dtype().is_float() {
        return Ok(mx::cast(factors, Dtype::Float32)?);
    }
    if factors.dtype() != Dtype::Uint8 {
        return Err(wrong_dtype(name, factors, "floats or F8_E8M0"));
    }
    // The exponent's place in an f32.
    let shift = Array::from_slice(&[1_u32 << 23], &[1]);
    Ok(mx::view(&mx::multiply(&mx::cast(factors, Dtype::Uint32)?, &shift)?, Dtype::Float32)?)
}
