//! Elementwise, matrix, reduction and shape operations.

use mlx_sys as sys;

use super::{Array, Dtype, Error, NO_DTYPE, Result, op, with_vector};

pub(super) type Unary = unsafe extern "C" fn(*mut sys::mlx_array, sys::mlx_array, sys::mlx_stream) -> i32;
pub(super) type Binary =
    unsafe extern "C" fn(*mut sys::mlx_array, sys::mlx_array, sys::mlx_array, sys::mlx_stream) -> i32;
type AlongAxis = unsafe extern "C" fn(*mut sys::mlx_array, sys::mlx_array, i32, sys::mlx_stream) -> i32;
pub(super) type Reduce = unsafe extern "C" fn(*mut sys::mlx_array, sys::mlx_array, i32, bool, sys::mlx_stream) -> i32;

pub(super) fn unary(f: Unary, a: &Array) -> Result<Array> {
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe { f(out, a.as_ptr(), s) })
}

pub(super) fn binary(f: Binary, a: &Array, b: &Array) -> Result<Array> {
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe { f(out, a.as_ptr(), b.as_ptr(), s) })
}

fn along(f: AlongAxis, a: &Array, axis: i32) -> Result<Array> {
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe { f(out, a.as_ptr(), axis, s) })
}

pub(super) fn reduce(f: Reduce, a: &Array, axis: i32, keep: bool) -> Result<Array> {
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe { f(out, a.as_ptr(), axis, keep, s) })
}

/// `a + b`, broadcast.
pub fn add(a: &Array, b: &Array) -> Result<Array> {
    binary(sys::mlx_add, a, b)
}
/// `a - b`, broadcast.
pub fn subtract(a: &Array, b: &Array) -> Result<Array> {
    binary(sys::mlx_subtract, a, b)
}
/// `a * b`, broadcast.
pub fn multiply(a: &Array, b: &Array) -> Result<Array> {
    binary(sys::mlx_multiply, a, b)
}
/// `a / b`, broadcast.
pub fn divide(a: &Array, b: &Array) -> Result<Array> {
    binary(sys::mlx_divide, a, b)
}
/// Elementwise minimum.
pub fn minimum(a: &Array, b: &Array) -> Result<Array> {
    binary(sys::mlx_minimum, a, b)
}
/// Elementwise maximum.
pub fn maximum(a: &Array, b: &Array) -> Result<Array> {
    binary(sys::mlx_maximum, a, b)
}
/// `a @ b` over the last two axes.
pub fn matmul(a: &Array, b: &Array) -> Result<Array> {
    binary(sys::mlx_matmul, a, b)
}
/// `a <= b`, elementwise.
pub fn less_equal(a: &Array, b: &Array) -> Result<Array> {
    binary(sys::mlx_less_equal, a, b)
}
/// `a > b`, elementwise.
pub fn greater(a: &Array, b: &Array) -> Result<Array> {
    binary(sys::mlx_greater, a, b)
}
/// `a >= b`, elementwise.
pub fn greater_equal(a: &Array, b: &Array) -> Result<Array> {
    binary(sys::mlx_greater_equal, a, b)
}
/// `a & b` of integers, elementwise, broadcast.
pub fn bitwise_and(a: &Array, b: &Array) -> Result<Array> {
    binary(sys::mlx_bitwise_and, a, b)
}
/// `log(e^a + e^b)`, broadcast.
pub fn logaddexp(a: &Array, b: &Array) -> Result<Array> {
    binary(sys::mlx_logaddexp, a, b)
}
/// Hyperbolic tangent.
pub fn tanh(a: &Array) -> Result<Array> {
    unary(sys::mlx_tanh, a)
}
/// Error function.
pub fn erf(a: &Array) -> Result<Array> {
    unary(sys::mlx_erf, a)
}
/// Inverse of the error function.
fn erfinv(a: &Array) -> Result<Array> {
    unary(sys::mlx_erfinv, a)
}
/// `a * a`.
pub fn square(a: &Array) -> Result<Array> {
    unary(sys::mlx_square, a)
}
/// Square root.
pub fn sqrt(a: &Array) -> Result<Array> {
    unary(sys::mlx_sqrt, a)
}
/// `1 / sqrt(a)`.
pub fn rsqrt(a: &Array) -> Result<Array> {
    unary(sys::mlx_rsqrt, a)
}
/// Reverses all axes.
pub fn transpose(a: &Array) -> Result<Array> {
    unary(sys::mlx_transpose, a)
}
/// Ascending along an axis.
pub fn sort(a: &Array, axis: i32) -> Result<Array> {
    along(sys::mlx_sort_axis, a, axis)
}
/// Indexes that sort ascending along an axis; `u32`.
pub fn argsort(a: &Array, axis: i32) -> Result<Array> {
    along(sys::mlx_argsort_axis, a, axis)
}
/// Inserts an axis of length 1.
pub fn expand_dims(a: &Array, axis: i32) -> Result<Array> {
    along(sys::mlx_expand_dims, a, axis)
}
/// Removes an axis of length 1.
pub fn squeeze(a: &Array, axis: i32) -> Result<Array> {
    along(sys::mlx_squeeze_axis, a, axis)
}
/// Sum along an axis, which stays with length 1.
pub fn sum(a: &Array, axis: i32) -> Result<Array> {
    reduce(sys::mlx_sum_axis, a, axis, true)
}
/// Largest along an axis, which stays with length 1.
pub fn max(a: &Array, axis: i32) -> Result<Array> {
    reduce(sys::mlx_max_axis, a, axis, true)
}
/// Smallest along an axis, which stays with length 1.
pub fn min(a: &Array, axis: i32) -> Result<Array> {
    reduce(sys::mlx_min_axis, a, axis, true)
}
/// `log(sum(exp(a)))` along an axis, which stays with length 1.
pub fn logsumexp(a: &Array, axis: i32) -> Result<Array> {
    reduce(sys::mlx_logsumexp_axis, a, axis, true)
}
/// First index of the largest along an axis, which goes; `u32`.
pub fn argmax(a: &Array, axis: i32) -> Result<Array> {
    reduce(sys::mlx_argmax_axis, a, axis, false)
}

/// `condition ? a : b`, broadcast.
pub fn select(condition: &Array, a: &Array, b: &Array) -> Result<Array> {
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe { sys::mlx_where(out, condition.as_ptr(), a.as_ptr(), b.as_ptr(), s) })
}

/// `a @ b + c` in one operation.
pub fn addmm(c: &Array, a: &Array, b: &Array) -> Result<Array> {
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe { sys::mlx_addmm(out, c.as_ptr(), a.as_ptr(), b.as_ptr(), 1.0, 1.0, s) })
}

/// `[B, S, C]` through a filter `[C, K, 1]` of its own for each of the `C` channels: `[B, S - K + 1, C]`.
pub fn conv_channels(x: &Array, filters: &Array) -> Result<Array> {
    let n_channels = x.dim(-1);
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe { sys::mlx_conv1d(out, x.as_ptr(), filters.as_ptr(), 1, 0, 1, n_channels, s) })
}

/// Running sum along an axis, the element itself included.
pub fn cumsum(a: &Array, axis: i32) -> Result<Array> {
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe { sys::mlx_cumsum_axis(out, a.as_ptr(), axis, false, true, NO_DTYPE, s) })
}

/// Indexes such that the `kth` and all after it along the last axis are the largest.
pub fn argpartition(a: &Array, kth: i32) -> Result<Array> {
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe { sys::mlx_argpartition_axis(out, a.as_ptr(), kth, -1, s) })
}

/// Rows (or slices along `axis`) by index.
pub fn take(a: &Array, indices: &Array, axis: i32) -> Result<Array> {
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe { sys::mlx_take_axis(out, a.as_ptr(), indices.as_ptr(), axis, s) })
}

/// One element per index along `axis`; shapes agree elsewhere.
pub fn take_along(a: &Array, indices: &Array, axis: i32) -> Result<Array> {
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe { sys::mlx_take_along_axis(out, a.as_ptr(), indices.as_ptr(), axis, s) })
}

/// Copy of `a` with `values` added at `indices` along `axis`.
pub fn scatter_add(a: &Array, indices: &Array, values: &Array, axis: i32) -> Result<Array> {
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe { sys::mlx_scatter_add_axis(out, a.as_ptr(), indices.as_ptr(), values.as_ptr(), axis, s) })
}

/// Same elements, another shape; one entry may be -1.
pub fn reshape(a: &Array, shape: &[i32]) -> Result<Array> {
    // SAFETY: handles and the shape slice are valid for the call.
    op(|out, s| unsafe { sys::mlx_reshape(out, a.as_ptr(), shape.as_ptr(), shape.len(), s) })
}

/// Permutes axes.
pub fn transpose_axes(a: &Array, axes: &[i32]) -> Result<Array> {
    // SAFETY: handles and the axes slice are valid for the call.
    op(|out, s| unsafe { sys::mlx_transpose_axes(out, a.as_ptr(), axes.as_ptr(), axes.len(), s) })
}

/// Repeats along axes of length 1 without copying.
pub fn broadcast_to(a: &Array, shape: &[i32]) -> Result<Array> {
    // SAFETY: handles and the shape slice are valid for the call.
    op(|out, s| unsafe { sys::mlx_broadcast_to(out, a.as_ptr(), shape.as_ptr(), shape.len(), s) })
}

/// Converts elements.
pub fn cast(a: &Array, dtype: Dtype) -> Result<Array> {
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe { sys::mlx_astype(out, a.as_ptr(), dtype.into(), s) })
}

/// The same bytes as elements of another type; the last axis changes its length.
pub fn view(a: &Array, dtype: Dtype) -> Result<Array> {
    // SAFETY: the handle is valid for the call.
    op(|out, s| unsafe { sys::mlx_view(out, a.as_ptr(), dtype as sys::mlx_dtype, s) })
}

/// Row-major copy where `a` is a strided view.
pub fn contiguous(a: &Array) -> Result<Array> {
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe { sys::mlx_contiguous(out, a.as_ptr(), false, s) })
}

/// Square blocks of `size` of `[M, C, C]`, the first from row `row` and column 0 on, each next one `step` rows and columns further:
/// `[M, N, size, size]`. Of what is row-major, a view.
pub fn blocks(a: &Array, row: i32, size: i32, step: i32) -> Result<Array> {
    let &[m, c, width] = a.shape() else { return Err(Error { what: format!("blocks of {:?}", a.shape()) }) };
    if c != width || row < 0 || size < 1 || step < 1 || row + size > c {
        return Err(Error { what: format!("blocks of {size} from row {row} of {:?}", a.shape()) });
    }
    let shape = [m, (c - row - size) / step + 1, size, size];
    let c = i64::from(c);
    let strides = [c * c, i64::from(step) * (c + 1), c, 1];
    // SAFETY: handles and both slices are valid for the call, and the last block ends inside the array.
    op(|out, s| unsafe {
        let (n, offset) = (shape.len(), (i64::from(row) * c) as usize);
        sys::mlx_as_strided(out, a.as_ptr(), shape.as_ptr(), n, strides.as_ptr(), n, offset, s)
    })
}

/// All zeros.
pub fn zeros(shape: &[i32], dtype: Dtype) -> Result<Array> {
    // SAFETY: the shape slice is valid for the call.
    op(|out, s| unsafe { sys::mlx_zeros(out, shape.as_ptr(), shape.len(), dtype.into(), s) })
}

/// A 0-d constant.
pub fn scalar(value: f32) -> Array {
    Array::from_f32(value)
}

/// How many standard deviations above the mean of a normal distribution the `part` of it lies below.
pub fn deviations(part: f32) -> Result<f32> {
    let at = super::to_f32(&erfinv(&scalar(2.0 * part - 1.0))?)?;
    Ok(at.first().copied().unwrap_or_default() * std::f32::consts::SQRT_2)
}

/// `a * factor` in the type of `a`.
pub fn scale(a: &Array, factor: f32) -> Result<Array> {
    multiply(a, &cast(&scalar(factor), a.dtype())?)
}

/// A cut along one axis: positions `start..stop`.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Which axis, from the first.
    pub axis: usize,
    /// First position kept.
    pub start: i32,
    /// One past the last position kept.
    pub stop: i32,
}

/// The part of `a` inside all cuts, as a view.
pub fn slice(a: &Array, cuts: &[Cut]) -> Result<Array> {
    let (starts, stops, strides) = bounds(a, cuts)?;
    let n = starts.len();
    // SAFETY: handles and the three slices of length `n` are valid for the call.
    op(|out, s| unsafe {
        sys::mlx_slice(out, a.as_ptr(), starts.as_ptr(), n, stops.as_ptr(), n, strides.as_ptr(), n, s)
    })
}

/// `a` with `update` at positions `start..` along one axis; in place when nothing else holds `a`.
pub fn slice_update(a: &Array, update: &Array, axis: usize, start: i32) -> Result<Array> {
    let length = update.shape().get(axis).copied().unwrap_or(0);
    slice_update_within(a, update, &[Cut { axis, start, stop: start + length }])
}

/// `a` with `update` inside all cuts; in place when nothing else holds `a`.
pub fn slice_update_within(a: &Array, update: &Array, cuts: &[Cut]) -> Result<Array> {
    let (starts, stops, strides) = bounds(a, cuts)?;
    let n = starts.len();
    // SAFETY: handles and the three slices of length `n` are valid for the call.
    op(|out, s| unsafe {
        let (a, update) = (a.as_ptr(), update.as_ptr());
        sys::mlx_slice_update(out, a, update, starts.as_ptr(), n, stops.as_ptr(), n, strides.as_ptr(), n, s)
    })
}

/// `a` with slices of `updates` at the places that `indices`, one array for each of `axes`, name; the slices have length 1
/// along these axes. `updates` has the axes of an index array, then those of `a`. In place when nothing else holds `a`.
pub fn scatter(a: &Array, indices: &[&Array], updates: &Array, axes: &[i32]) -> Result<Array> {
    op(|out, s| {
        // SAFETY: the vector handle is freed after the call that reads it; the axes slice is valid for the call.
        with_vector(indices, |indices| unsafe {
            sys::mlx_scatter(out, a.as_ptr(), indices, updates.as_ptr(), axes.as_ptr(), axes.len(), s)
        })
    })
}

/// Starts, stops and strides per axis. MLX clamps what lies outside, which would hide our mistakes, so it is an error.
fn bounds(a: &Array, cuts: &[Cut]) -> Result<(Vec<i32>, Vec<i32>, Vec<i32>)> {
    let mut starts = vec![0; a.ndim()];
    let mut stops = a.shape().to_vec();
    for &Cut { axis, start, stop } in cuts {
        if axis >= starts.len() || start < 0 || start > stop || stop > stops[axis] {
            return Err(Error { what: format!("cut {start}..{stop} on axis {axis} of {:?}", a.shape()) });
        }
        starts[axis] = start;
        stops[axis] = stop;
    }
    let strides = vec![1; starts.len()];
    Ok((starts, stops, strides))
}

/// Joins along an existing axis.
pub fn concatenate(arrays: &[&Array], axis: i32) -> Result<Array> {
    // SAFETY: the vector handle is freed after the call that reads it.
    op(|out, s| with_vector(arrays, |vector| unsafe { sys::mlx_concatenate_axis(out, vector, axis, s) }))
}
