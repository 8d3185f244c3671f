//! Checkpoint files.

use std::ffi::{CStr, CString, c_char};
use std::path::Path;

use mlx_sys as sys;

use super::{Array, Error, Result, check, install_error_handler};

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
