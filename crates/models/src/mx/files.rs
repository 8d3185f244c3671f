//! Checkpoint files.

use std::ffi::{CStr, CString, c_char};
use std::path::Path;

use mlx_sys as sys;

use super::{Array, Dtype, Error, Result, check, contiguous, eval, install_error_handler, last_error};

/// Arrays of a safetensors file by name, not read until they are computed.
pub fn load_safetensors(path: &Path) -> Result<Vec<(String, Array)>> {
    let file = CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|_| Error { what: format!("the path {path:?} holds a NUL byte") })?;
    install_error_handler();
    // Reading is a CPU job whatever the device.
    // SAFETY: map, iterator and metadata handles are fresh and freed below; keys are copied before the next step.
    unsafe {
        let cpu = sys::mlx_default_cpu_stream_new();
        let mut arrays = sys::mlx_map_string_to_array_new();
        let mut metadata = sys::mlx_map_string_to_string_new();
        let status = sys::mlx_load_safetensors(&mut arrays, &mut metadata, file.as_ptr(), cpu);
        let mut tensors = Vec::new();
        if status == 0 {
            let it = sys::mlx_map_string_to_array_iterator_new(arrays);
            let mut key: *const c_char = std::ptr::null();
            let mut value = sys::mlx_array_new();
            while sys::mlx_map_string_to_array_iterator_next(&mut key, &mut value, it) == 0 {
                tensors.push((CStr::from_ptr(key).to_string_lossy().into_owned(), Array::from_ptr(value)));
                value = sys::mlx_array_new();
            }
            sys::mlx_array_free(value);
            sys::mlx_map_string_to_array_iterator_free(it);
        }
        sys::mlx_map_string_to_array_free(arrays);
        sys::mlx_map_string_to_string_free(metadata);
        sys::mlx_stream_free(cpu);
        check(status).map(|()| tensors)
    }
}

/// Appends the elements of arrays in order, each row-major. Waits for them.
pub fn to_bytes(arrays: &[Array], out: &mut Vec<u8>) -> Result<()> {
    let arrays = arrays.iter().map(contiguous).collect::<Result<Vec<_>>>()?;
    eval(&arrays.iter().collect::<Vec<_>>())?;
    out.reserve(arrays.iter().map(Array::nbytes).sum());
    for array in arrays.iter().filter(|array| array.nbytes() > 0) {
        // SAFETY: the array is evaluated and row-major, so that its elements are `nbytes` bytes from the pointer on, which
        // live as long as the handle.
        let bytes = unsafe {
            let data = sys::mlx_array_data_uint8(array.as_ptr());
            if data.is_null() {
                return Err(Error { what: "MLX gave no address of an array".into() });
            }
            std::slice::from_raw_parts(data, array.nbytes())
        };
        out.extend_from_slice(bytes);
    }
    Ok(())
}

/// A row-major array of copied bytes, which must be as many as the shape needs.
pub fn from_bytes(bytes: &[u8], shape: &[i32], dtype: Dtype) -> Result<Array> {
    let n_elements = shape.iter().try_fold(1_usize, |n, &len| n.checked_mul(usize::try_from(len).ok()?));
    if n_elements.and_then(|n| n.checked_mul(item_size(dtype)?)) != Some(bytes.len()) {
        return Err(Error { what: format!("{} bytes are no {dtype:?} array of {shape:?}", bytes.len()) });
    }
    install_error_handler();
    // SAFETY: the bytes are as many as MLX copies, and the shape is valid for the call.
    unsafe {
        let data = bytes.as_ptr().cast();
        let handle = sys::mlx_array_new_data(data, shape.as_ptr(), shape.len() as i32, dtype.into());
        if handle.ctx.is_null() { Err(last_error()) } else { Ok(Array::from_ptr(handle)) }
    }
}

/// Bytes of an element; `None` for types that are never stored.
pub fn item_size(dtype: Dtype) -> Option<usize> {
    match dtype {
        Dtype::Uint8 => Some(1),
        Dtype::Float16 | Dtype::Bfloat16 => Some(2),
        Dtype::Float32 | Dtype::Uint32 | Dtype::Int32 => Some(4),
        _ => None,
    }
}
