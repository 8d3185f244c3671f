//! Matrices of 8-bit floats, as DeepSeek publishes them.

use super::{At, check_shape, wrong_dtype};
use crate::mx::{self, Array, Cut, Dtype};
use crate::{LoadError, LoadResult};

/// Rows and columns that share a factor in matrices of 8-bit floats.
const N_FP8_BLOCK: i32 = 128;

impl At<'_, '_> {
    /// A matrix of 8-bit floats with a factor for each block of 128 by 128 (DeepSeek-AI 2024), unpacked.
    pub(super) fn fp8(&self, shape: &[i32]) -> LoadResult<Array> {
        let [n_out, n_in] = *shape else {
            let detail = "8-bit floats come one matrix at a time, not stacked".to_owned();
            return Err(LoadError::Quantization { path: self.path.clone(), detail });
        };
        let (name, weight) = self.take("weight")?;
        check_shape(&name, &weight, shape)?;
        if weight.dtype() != Dtype::Uint8 {
            return Err(wrong_dtype(&name, &weight, "F8_E4M3"));
        }
        let blocks = |n: i32| (n + N_FP8_BLOCK - 1) / N_FP8_BLOCK;
        let factors = self.floats("weight_scale_inv", &[blocks(n_out), blocks(n_in)])?;
        let dtype = self.weights.compute.dtype.unwrap_or(Dtype::Bfloat16);
        // [out / 128, 128, in / 128, 128], the ends cut off
        let (padded_out, padded_in) = (blocks(n_out) * N_FP8_BLOCK, blocks(n_in) * N_FP8_BLOCK);
        let grid = [blocks(n_out), 1, blocks(n_in), 1];
        let spread = [grid[0], N_FP8_BLOCK, grid[2], N_FP8_BLOCK];
        let factors = mx::cast(&factors, Dtype::Float32)?;
        let factors = mx::broadcast_to(&mx::reshape(&factors, &grid)?, &spread)?;
        let factors = mx::reshape(&factors, &[padded_out, padded_in])?;
        let cut = [Cut { axis: 0, start: 0, stop: n_out }, Cut { axis: 1, start: 0, stop: n_in }];
        let dense = mx::multiply(&mx::from_fp8(&weight, Dtype::Float32)?, &mx::slice(&factors, &cut)?)?;
        Ok(mx::cast(&dense, dtype)?)
    }
}
