//! Packed matrices.

use std::ffi::CStr;

use mlx_sys as sys;

use super::{Array, Dtype, Error, NO_DTYPE, Result, cast, check, op, stream};

pub(super) fn some_int(value: i32) -> sys::mlx_optional_int {
    sys::mlx_optional_int { value, has_value: true }
}

/// How a matrix is packed.
#[derive(Clone, Copy, Debug)]
pub struct Packing {
    /// Elements that share a scale.
    pub group_size: i32,
    /// Bits an element.
    pub bits: i32,
    /// MLX's name of the mode.
    pub mode: &'static CStr,
}

impl Packing {
    /// Whether [`quantized_matmul`] knows it; [`dequantize`] knows more.
    pub fn multiplies(&self) -> bool {
        self.mode != c"affine" || [32, 64, 128].contains(&self.group_size)
    }
}

/// A packed `[out, in]` matrix.
#[derive(Clone, Debug)]
pub struct Packed {
    /// `[out, in * bits / 32]`, `u32`.
    pub weight: Array,
    /// `[out, in / group_size]`.
    pub scales: Array,
    /// As the scales; only the affine mode has them.
    pub biases: Option<Array>,
    /// How it is packed.
    pub packing: Packing,
}

impl Packed {
    /// Whether both are packed in the same way, so that they can be joined.
    pub fn is_alike(&self, other: &Packed) -> bool {
        let packing = |p: &Packed| (p.packing.group_size, p.packing.bits, p.packing.mode, p.scales.dtype());
        packing(self) == packing(other)
    }
}

/// `x @ w^T` with a packed `w`.
pub fn quantized_matmul(x: &Array, w: &Packed) -> Result<Array> {
    multiply(x, w, Side::Columns)
}

/// `x @ w` with a packed `w`.
pub fn quantized_matmul_rows(x: &Array, w: &Packed) -> Result<Array> {
    multiply(x, w, Side::Rows)
}

/// What a row of the result sums over.
#[derive(PartialEq)]
enum Side {
    Rows,
    Columns,
}

fn multiply(x: &Array, w: &Packed, side: Side) -> Result<Array> {
    let Packing { group_size, bits, mode } = w.packing;
    // SAFETY: handles are valid for the call; an empty handle stands for "none".
    op(|out, s| unsafe {
        let biases = w.biases.as_ref().map_or(sys::mlx_array_new(), Array::as_ptr);
        let (x, weight, scales) = (x.as_ptr(), w.weight.as_ptr(), w.scales.as_ptr());
        let (group_size, bits) = (some_int(group_size), some_int(bits));
        sys::mlx_quantized_matmul(
            out,
            x,
            weight,
            scales,
            biases,
            side == Side::Columns,
            group_size,
            bits,
            mode.as_ptr(),
            s,
        )
    })
}

/// The matrix that `w` packs, in `dtype`. Affine groups are unpacked in that type, so that no digit of theirs is lost.
pub fn dequantize(w: &Packed, dtype: Dtype) -> Result<Array> {
    let Packing { group_size, bits, mode } = w.packing;
    let biases = w.biases.as_ref().map(|biases| cast(biases, dtype)).transpose()?;
    let scales = if biases.is_some() { cast(&w.scales, dtype)? } else { w.scales.clone() };
    // SAFETY: handles are valid for the call; an empty handle stands for "none".
    let dense = op(|out, s| unsafe {
        let none = sys::mlx_array_new();
        let biases = biases.as_ref().map_or(none, Array::as_ptr);
        let (group_size, bits) = (some_int(group_size), some_int(bits));
        let (weight, scales) = (w.weight.as_ptr(), scales.as_ptr());
        sys::mlx_dequantize(out, weight, scales, biases, group_size, bits, mode.as_ptr(), none, NO_DTYPE, s)
    })?;
    if dense.dtype() == dtype { Ok(dense) } else { cast(&dense, dtype) }
}

/// 8-bit floats (E4M3, as `u8`) in `dtype`.
pub fn from_fp8(x: &Array, dtype: Dtype) -> Result<Array> {
    // SAFETY: the handle is valid for the call.
    op(|out, s| unsafe { sys::mlx_from_fp8(out, x.as_ptr(), dtype as sys::mlx_dtype, s) })
}

/// The nearest 8-bit floats (E4M3), as `u8`.
#[cfg(test)]
pub fn to_fp8(x: &Array) -> Result<Array> {
    // SAFETY: the handle is valid for the call.
    op(|out, s| unsafe { sys::mlx_to_fp8(out, x.as_ptr(), s) })
}

/// Packs matrices along the last axis.
pub fn quantize(w: &Array, packing: Packing) -> Result<Packed> {
    let Packing { group_size, bits, mode } = packing;
    let stream = stream();
    // SAFETY: the vector handle is fresh and freed below; its elements are copied out as owned handles.
    let parts = unsafe {
        let mut vector = sys::mlx_vector_array_new();
        let none = sys::mlx_array_new();
        let (group_size, bits) = (some_int(group_size), some_int(bits));
        let status = sys::mlx_quantize(&mut vector, w.as_ptr(), group_size, bits, mode.as_ptr(), none, stream);
        let parts = check(status).and_then(|()| {
            let n = sys::mlx_vector_array_size(vector);
            (0..n).map(|i| op(|out, _| sys::mlx_vector_array_get(out, vector, i))).collect::<Result<Vec<_>>>()
        });
        sys::mlx_vector_array_free(vector);
        parts?
    };
    let mut parts = parts.into_iter();
    match (parts.next(), parts.next(), parts.next()) {
        (Some(weight), Some(scales), biases) => Ok(Packed { weight, scales, biases, packing }),
        _ => Err(Error { what: "quantize returned too few arrays".into() }),
    }
}

#[cfg(test)]
#[path = "quantized_tests.rs"]
mod tests;
