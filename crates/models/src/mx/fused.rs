//! Chains of elementwise operations as one kernel: a GPU is kept waiting by each kernel that it is handed.
//!
//! MLX compiles the chain at its first use. Its CPU backend would call a C++ compiler for that, so that there the operations
//! run one by one.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::OnceLock;

use mlx_sys as sys;

use super::{Array, Device, Error, Result, check, device, with_vector};

/// Elementwise operations over inputs that broadcast. Must hold nothing but constants.
pub type Chain = fn(&[Array]) -> Result<Array>;

thread_local! {
    static COMPILED: RefCell<HashMap<usize, sys::mlx_closure>> = RefCell::default();
    /// Why a chain failed while MLX looked at its operations: MLX itself only says that it did.
    static REASON: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// The chain's output.
pub fn fused(chain: Chain, inputs: &[&Array]) -> Result<Array> {
    static IS_GPU: OnceLock<bool> = OnceLock::new();
    if *IS_GPU.get_or_init(|| device() == Ok(Device::Gpu)) {
        return compiled(chain, inputs);
    }
    chain(&inputs.iter().copied().cloned().collect::<Vec<_>>())
}

/// The same, compiled.
pub(super) fn compiled(chain: Chain, inputs: &[&Array]) -> Result<Array> {
    let closure = closure(chain)?;
    // SAFETY: the closure lives as long as the thread; the output vector is fresh and freed here.
    unsafe {
        let mut outputs = sys::mlx_vector_array_new();
        let status = with_vector(inputs, |inputs| sys::mlx_closure_apply(&mut outputs, closure, inputs));
        let output = check(status).and_then(|()| entry(outputs, 0));
        sys::mlx_vector_array_free(outputs);
        output.map_err(|error| REASON.take().unwrap_or(error))
    }
}

/// One for each chain and thread.
fn closure(chain: Chain) -> Result<sys::mlx_closure> {
    COMPILED.with_borrow_mut(|compiled| {
        let key = chain as usize;
        if let Some(closure) = compiled.get(&key) {
            return Ok(*closure);
        }
        // SAFETY: the payload is a plain function, which needs no freeing; shapes may change between calls.
        let closure = unsafe {
            let plain = sys::mlx_closure_new_func_payload(Some(run), key as *mut c_void, None);
            let mut closure = sys::mlx_closure_new();
            let status = sys::mlx_compile(&mut closure, plain, true);
            sys::mlx_closure_free(plain);
            check(status).map(|()| closure)
        }?;
        compiled.insert(key, closure);
        Ok(closure)
    })
}

/// What MLX calls to see the chain's operations.
unsafe extern "C" fn run(
    outputs: *mut sys::mlx_vector_array,
    inputs: sys::mlx_vector_array,
    chain: *mut c_void,
) -> i32 {
    // SAFETY: `closure` has put a chain there.
    let chain: Chain = unsafe { std::mem::transmute::<*mut c_void, Chain>(chain) };
    // SAFETY: MLX passes a valid vector.
    let n_inputs = unsafe { sys::mlx_vector_array_size(inputs) };
    let inputs = (0..n_inputs).map(|at| entry(inputs, at)).collect::<Result<Vec<_>>>();
    match inputs.and_then(|inputs| chain(&inputs)) {
        // SAFETY: MLX passes a valid vector to fill.
        Ok(output) => unsafe { sys::mlx_vector_array_set_value(outputs, output.as_ptr()) },
        Err(error) => {
            REASON.set(Some(error));
            1
        }
    }
}

fn entry(vector: sys::mlx_vector_array, at: usize) -> Result<Array> {
    // SAFETY: a fresh handle, owned by the array from here on; MLX checks the index.
    unsafe {
        let mut handle = sys::mlx_array_new();
        let status = sys::mlx_vector_array_get(&mut handle, vector, at);
        let array = Array::from_ptr(handle);
        check(status).map(|()| array)
    }
}

#[cfg(test)]
#[path = "fused_tests.rs"]
mod tests;
