//! Exponentials and what is made of them.
//!
//! MLX's CPU backend takes 12 ns for the exponential of an element and 4 ns for a power, so that on a CPU large arrays are
//! raised to powers of e. Small ones cost what their number of operations costs.

use std::sync::OnceLock;

use mlx_sys as sys;

use super::ops::{binary, max, multiply, reduce, subtract, sum, unary};
use super::{Array, Device, Dtype, Result, device, divide, scalar};

/// Elements from which on powers pay.
pub const N_POWERS_MIN: usize = 1024;

fn is_by_powers(a: &Array) -> bool {
    static IS_CPU: OnceLock<bool> = OnceLock::new();
    a.size() >= N_POWERS_MIN && a.dtype() == Dtype::Float32 && *IS_CPU.get_or_init(|| device() == Ok(Device::Cpu))
}

fn power_of_e(a: &Array) -> Result<Array> {
    binary(sys::mlx_power, &scalar(std::f32::consts::E), a)
}

/// `e^-a + 1`.
fn one_more_than_exp_of_negative(a: &Array) -> Result<Array> {
    super::add(&power_of_e(&unary(sys::mlx_negative, a)?)?, &scalar(1.0))
}

/// `e^a`.
pub fn exp(a: &Array) -> Result<Array> {
    if is_by_powers(a) { power_of_e(a) } else { unary(sys::mlx_exp, a) }
}

/// `1 / (1 + e^-a)`.
pub fn sigmoid(a: &Array) -> Result<Array> {
    if is_by_powers(a) {
        return divide(&scalar(1.0), &one_more_than_exp_of_negative(a)?);
    }
    unary(sys::mlx_sigmoid, a)
}

/// `a * sigmoid(b)`.
pub fn gated(a: &Array, b: &Array) -> Result<Array> {
    if is_by_powers(b) {
        return divide(a, &one_more_than_exp_of_negative(b)?);
    }
    multiply(a, &sigmoid(b)?)
}

/// Softmax along an axis; sums in f32 whatever the dtype.
pub fn softmax(a: &Array, axis: i32) -> Result<Array> {
    if !is_by_powers(a) {
        return reduce(sys::mlx_softmax_axis, a, axis, true);
    }
    let weights = power_of_e(&subtract(a, &max(a, axis)?)?)?;
    divide(&weights, &sum(&weights, axis)?)
}

#[cfg(test)]
#[path = "exp_tests.rs"]
mod tests;
