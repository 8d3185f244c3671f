//! Products in which each row picks its matrix.

use mlx_sys as sys;

use super::quantized::some_int;
use super::{Array, Packed, Packing, Result, op};

/// Whether the rows of a gathered product come in the order of their matrices, which kernels make use of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Indexes ascend.
    Sorted,
    /// Indexes come as they come.
    Any,
}

/// `x @ w[experts]`: `x` is `[.., M, in]`, `w` `[E, in, out]`; the leading axes of `x` and the axes of `experts` broadcast.
pub fn gather_mm(x: &Array, w: &Array, experts: &Array, order: Order) -> Result<Array> {
    // SAFETY: handles are valid for the call; an empty handle stands for "none".
    op(|out, s| unsafe {
        let (none, is_sorted) = (sys::mlx_array_new(), order == Order::Sorted);
        sys::mlx_gather_mm(out, x.as_ptr(), w.as_ptr(), none, experts.as_ptr(), is_sorted, s)
    })
}

/// `x @ w[experts]^T` with packed `w`, `[E, out, in]`; otherwise as [`gather_mm`].
pub fn gather_qmm(x: &Array, w: &Packed, experts: &Array, order: Order) -> Result<Array> {
    let Packing { group_size, bits, mode } = w.packing;
    // SAFETY: handles are valid for the call; an empty handle stands for "none".
    op(|out, s| unsafe {
        let none = sys::mlx_array_new();
        let biases = w.biases.as_ref().map_or(none, Array::as_ptr);
        let (x, weight, scales, experts) = (x.as_ptr(), w.weight.as_ptr(), w.scales.as_ptr(), experts.as_ptr());
        let (group_size, bits, mode) = (some_int(group_size), some_int(bits), mode.as_ptr());
        let is_sorted = order == Order::Sorted;
        sys::mlx_gather_qmm(out, x, weight, scales, biases, none, experts, true, group_size, bits, mode, is_sorted, s)
    })
}
