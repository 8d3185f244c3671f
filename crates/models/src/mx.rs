//! The one door to MLX: arrays, and the operations this crate uses, as functions that return errors instead of aborting.
//!
//! Knows `mlx_rs` and the raw C calls; nothing outside this module does. Must not know models.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_void};
use std::sync::Once;

use mlx_sys as sys;

mod exp;
mod fast;
mod files;
mod fused;
mod gather;
mod ops;
mod quantized;

pub use exp::{exp, gated, sigmoid, softmax};
pub use fast::{Mask, Pairs, attention, layer_norm, rms_norm, rope};
pub use files::{from_bytes, item_size, load_safetensors, to_bytes};
pub use fused::fused;
pub use gather::{Order, gather_mm, gather_qmm};
pub use ops::*; // Every operation is part of the door.
#[cfg(test)]
pub use quantized::to_fp8;
pub use quantized::{Packed, Packing, dequantize, from_fp8, quantize, quantized_matmul, quantized_matmul_rows};

pub use mlx_rs::{Array, Dtype};

/// What MLX reports.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[error("{what}")]
pub struct Error {
    /// MLX's own message, without the source location.
    pub what: String,
}

/// Result of an MLX call.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether the allocator refused. Not all refusals get here: MLX's CPU backend crashes when the system grants no memory,
    /// and Metal ends the process when a command buffer fails that runs already. Memory must be admitted beforehand.
    pub fn is_out_of_memory(&self) -> bool {
        let what = self.what.to_ascii_lowercase();
        what.contains("malloc") || what.contains("out of memory") || what.contains("allocate")
    }
}

/// Where operations run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// MLX's CPU backend.
    Cpu,
    /// Metal or CUDA.
    Gpu,
}

thread_local! {
    static STREAM: Cell<Option<sys::mlx_stream>> = const { Cell::new(None) };
    static LAST_ERROR: RefCell<Option<String>> = const { RefCell::new(None) };
}

#[cfg(test)]
thread_local! {
    static N_OPERATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Operations that this thread has built, views included.
#[cfg(test)]
pub fn n_operations() -> usize {
    N_OPERATIONS.get()
}

extern "C" fn keep_error(message: *const c_char, _data: *mut c_void) {
    // SAFETY: MLX passes a NUL-terminated message that outlives the call.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    LAST_ERROR.with_borrow_mut(|last| *last = Some(text));
}

fn last_error() -> Error {
    let text = LAST_ERROR.with_borrow_mut(Option::take).unwrap_or_else(|| "MLX gave no reason".into());
    // mlx-c appends ` at <its source file>:<line>`.
    let what = text.rsplit_once(" at /").map_or(text.as_str(), |(what, _)| what).to_owned();
    Error { what }
}

fn check(status: i32) -> Result<()> {
    if status == 0 { Ok(()) } else { Err(last_error()) }
}

/// The calling thread's stream on the default device.
fn stream() -> sys::mlx_stream {
    STREAM.get().unwrap_or_else(|| {
        install_error_handler();
        // SAFETY: out-parameters are fresh handles; the device lives until the stream has been read from it.
        let stream = unsafe {
            let mut device = sys::mlx_device_new();
            sys::mlx_get_default_device(&mut device);
            let mut stream = sys::mlx_stream_new();
            sys::mlx_get_default_stream(&mut stream, device);
            sys::mlx_device_free(device);
            stream
        };
        STREAM.set(Some(stream));
        stream
    })
}

fn install_error_handler() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // mlx_rs installs its own handler at its first call; make that call first, so that ours stays.
        drop(mlx_rs::memory::active_memory());
        // SAFETY: the handler is a plain function without state.
        unsafe { sys::mlx_set_error_handler(Some(keep_error), std::ptr::null_mut(), None) };
    });
}

fn op(call: impl FnOnce(*mut sys::mlx_array, sys::mlx_stream) -> i32) -> Result<Array> {
    let stream = stream();
    #[cfg(test)]
    N_OPERATIONS.set(N_OPERATIONS.get() + 1);
    // SAFETY: a fresh empty handle, owned by `out` from here on; MLX fills it on success.
    unsafe {
        let mut handle = sys::mlx_array_new();
        let status = call(&mut handle, stream);
        let out = Array::from_ptr(handle);
        check(status).map(|()| out)
    }
}

const NO_DTYPE: sys::mlx_optional_dtype =
    sys::mlx_optional_dtype { value: sys::mlx_dtype__MLX_FLOAT32, has_value: false };

fn with_vector<T>(arrays: &[&Array], f: impl FnOnce(sys::mlx_vector_array) -> T) -> T {
    let handles: Vec<_> = arrays.iter().map(|a| a.as_ptr()).collect();
    // SAFETY: the handles are borrowed for the call; the vector holds its own references and is freed here.
    unsafe {
        let vector = sys::mlx_vector_array_new_data(handles.as_ptr(), handles.len());
        let result = f(vector);
        sys::mlx_vector_array_free(vector);
        result
    }
}

/// Computes arrays and waits for them.
pub fn eval(arrays: &[&Array]) -> Result<()> {
    stream();
    // SAFETY: the vector is valid for the call.
    check(with_vector(arrays, |vector| unsafe { sys::mlx_eval(vector) }))
}

/// Starts computing arrays.
pub fn async_eval(arrays: &[&Array]) -> Result<()> {
    stream();
    // SAFETY: the vector is valid for the call.
    check(with_vector(arrays, |vector| unsafe { sys::mlx_async_eval(vector) }))
}

/// The default device's kind.
pub fn device() -> Result<Device> {
    install_error_handler();
    let kind = mlx_rs::Device::try_default().and_then(|device| device.get_type()).map_err(|_| last_error())?;
    Ok(match kind {
        mlx_rs::DeviceType::Cpu => Device::Cpu,
        mlx_rs::DeviceType::Gpu => Device::Gpu,
    })
}

/// Bytes in use and bytes the allocator keeps for reuse.
pub fn memory() -> (usize, usize) {
    (mlx_rs::memory::active_memory().unwrap_or(0), mlx_rs::memory::cache_memory().unwrap_or(0))
}

/// Most bytes in use since [`reset_peak`].
#[cfg(test)]
pub fn peak_memory() -> usize {
    mlx_rs::memory::peak_memory().unwrap_or(0)
}

/// Counts the peak anew.
#[cfg(test)]
pub fn reset_peak() {
    mlx_rs::memory::reset_peak_memory().unwrap();
}

/// Bytes that the allocator takes from the device before it gives back what it keeps; 0 when unknown.
pub fn memory_limit() -> usize {
    mlx_rs::memory::memory_limit().unwrap_or(0)
}

/// Bounds what the allocator keeps for reuse, for the whole process.
pub fn set_cache_limit(bytes: usize) -> Result<()> {
    mlx_rs::memory::set_cache_limit(bytes).map(drop).map_err(|_| last_error())
}

/// Gives back what the allocator keeps for reuse.
pub fn clear_cache() -> Result<()> {
    mlx_rs::memory::clear_cache().map_err(|_| last_error())
}

/// A row-major array's elements as f32; waits for it.
pub fn to_f32(a: &Array) -> Result<Vec<f32>> {
    let a = if a.dtype() == Dtype::Float32 { contiguous(a)? } else { contiguous(&cast(a, Dtype::Float32)?)? };
    // Its error is MLX's own; the other's is how far it got.
    eval(&[&a])?;
    a.to_vec_exact::<f32>().map_err(|error| Error { what: error.to_string() })
}

/// A row-major array's elements as u32; waits for it.
pub fn to_u32(a: &Array) -> Result<Vec<u32>> {
    let a = if a.dtype() == Dtype::Uint32 { contiguous(a)? } else { contiguous(&cast(a, Dtype::Uint32)?)? };
    // Its error is MLX's own; the other's is how far it got.
    eval(&[&a])?;
    a.to_vec_exact::<u32>().map_err(|error| Error { what: error.to_string() })
}

/// Where an evaluated array's elements are.
#[cfg(test)]
pub fn address(a: &Array) -> usize {
    // SAFETY: the handle is valid for the call; the pointer is not followed.
    unsafe { sys::mlx_array_data_uint8(a.as_ptr()) as usize }
}

/// Tells MLX where its Metal kernels are, before it looks for them by itself; without Metal it does not matter.
pub fn set_metallib(path: &std::path::Path) -> Result<()> {
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|_| Error { what: format!("{} holds a zero byte", path.display()) })?;
    install_error_handler();
    // SAFETY: the text is NUL-terminated and copied within the call.
    check(unsafe { sys::mlx_metal_set_metallib_path(path.as_ptr()) })
}

/// Apple's clock, which `mlx_rs` links against for random seeds.
#[cfg(not(target_vendor = "apple"))]
#[unsafe(no_mangle)]
pub extern "C" fn mach_approximate_time() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos() as u64)
}
