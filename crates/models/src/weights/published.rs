//! Matrices of 8-bit and 4-bit floats and of 4-bit integers, as their makers publish them.

use super::{At, Matrix, check_shape, wrong_dtype};
use crate::config::Mode;
use crate::mx::{self, Array, Cut, Dtype, Packed, Packing};
use crate::{LoadError, LoadResult};

/// Rows and columns that may share a factor in matrices of 8-bit floats.
const N_FP8_BLOCKS: [i32; 2] = [128, 32];

/// Elements that share a factor in a row of 4-bit floats.
const N_FP4_GROUP: i32 = 32;

/// A tensor's name as MLX conversions have it, where an original has another; `None` for what only a computation in whole numbers or
/// 8-bit floats needs.
pub fn published_name(name: &str) -> Option<String> {
    // What inputs would be divided by; here they are not rounded.
    if name.ends_with("activation_scale") || name.ends_with(".weight_shape") {
        return None;
    }
    let leaves = [(".weight_packed", ".weight"), (".weight_scale", ".scales")];
    let renamed = leaves.iter().find_map(|(theirs, ours)| Some(format!("{}{ours}", name.strip_suffix(theirs)?)));
    Some(renamed.unwrap_or_else(|| name.to_owned()))
}

impl At<'_, '_> {
    /// Matrices whose `factors` lie beside them: one, or those of all experts.
    pub(super) fn published(&self, shape: &[i32], factors: &str) -> LoadResult<Matrix> {
        let stored = self.weights.shape(&self.at("weight").path);
        if let [n_out, n_in] = *shape
            && n_in % N_FP4_GROUP == 0
            && stored.as_deref() == Some(&[n_out, n_in / 2])
        {
            return self.fp4([n_out, n_in], factors);
        }
        Ok(Matrix::Dense(self.fp8(shape, factors)?))
    }

    /// 8-bit floats `[.., out, in]` with a factor for each matrix (Mistral AI 2025), or for each block of 128 by 128 (DeepSeek-AI 2024)
    /// or 32 by 32 of it; unpacked.
    fn fp8(&self, shape: &[i32], factors: &str) -> LoadResult<Array> {
        let (name, weight) = self.take("weight")?;
        check_shape(&name, &weight, shape)?;
        if weight.dtype() != Dtype::Uint8 {
            return Err(wrong_dtype(&name, &weight, "F8_E4M3"));
        }
        let (name, factors) = self.take(factors)?;
        let factors = spread(&name, &factors, shape)?;
        let dense = mx::multiply(&mx::from_fp8(&weight, Dtype::Float32)?, &factors)?;
        Ok(mx::cast(&dense, self.weights.compute.dtype.unwrap_or(Dtype::Bfloat16))?)
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

/// Factors of matrices `[.., out, in]`, as they multiply those: `[.., 1, 1]`, or one for each element.
fn spread(name: &str, factors: &Array, shape: &[i32]) -> LoadResult<Array> {
    let (outer, [n_out, n_in]) = match *shape {
        [n_out, n_in] => (None, [n_out, n_in]),
        [n, n_out, n_in] => (Some(n), [n_out, n_in]),
        _ => {
            return Err(LoadError::Shape { name: name.to_owned(), found: factors.shape().to_vec(), expected: vec![1] });
        }
    };
    let numbers = numbers(name, factors)?;
    let n_factors: i64 = factors.shape().iter().map(|n| i64::from(*n)).product();
    if n_factors == 1 {
        return Ok(mx::reshape(&numbers, &[1, 1])?);
    }
    if let Some(n) = outer.filter(|n| n_factors == i64::from(*n)) {
        return Ok(mx::reshape(&numbers, &[n, 1, 1])?);
    }
    let blocks = |n: i32, size: i32| (n + size - 1) / size;
    let grid = |size: i32| -> Vec<i32> { outer.into_iter().chain([n_out, n_in].map(|n| blocks(n, size))).collect() };
    let size = N_FP8_BLOCKS.into_iter().find(|size| factors.shape() == grid(*size)).unwrap_or(N_FP8_BLOCKS[0]);
    check_shape(name, factors, &grid(size))?;
    // [.., out / size, size, in / size, size], the ends cut off
    let (n, [n_rows, n_columns]) = (outer.unwrap_or(1), [n_out, n_in].map(|n| blocks(n, size)));
    let numbers = mx::reshape(&numbers, &[n, n_rows, 1, n_columns, 1])?;
    let numbers = mx::broadcast_to(&numbers, &[n, n_rows, size, n_columns, size])?;
    let numbers = mx::reshape(&numbers, &[n, n_rows * size, n_columns * size])?;
    let cut = [Cut { axis: 1, start: 0, stop: n_out }, Cut { axis: 2, start: 0, stop: n_in }];
    Ok(mx::reshape(&mx::slice(&numbers, &cut)?, shape)?)
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
