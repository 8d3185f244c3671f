//! Operations that GPUs have fused kernels for.

use mlx_sys as sys;

use super::{Array, Result, op};

/// RMS norm over the last axis (Zhang and Sennrich 2019), fused where the backend has a kernel.
pub fn rms_norm(x: &Array, weight: Option<&Array>, eps: f32) -> Result<Array> {
    // SAFETY: handles are valid for the call; an empty handle stands for "none".
    op(|out, s| unsafe {
        let weight = weight.map_or(sys::mlx_array_new(), Array::as_ptr);
        sys::mlx_fast_rms_norm(out, x.as_ptr(), weight, eps, s)
    })
}

/// Which elements of a vector are rotated together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairs {
    /// Element `i` with `i + n / 2` of the `n` that are rotated.
    #[default]
    Halves,
    /// Element `2 i` with `2 i + 1` (Su et al. 2021; `rope_traditional`).
    Neighbours,
}

impl From<bool> for Pairs {
    fn from(are_neighbours: bool) -> Self {
        if are_neighbours { Self::Neighbours } else { Self::Halves }
    }
}

impl Pairs {
    /// The elements of pair `i` of `n`.
    pub fn elements(self, i: usize, n: usize) -> [usize; 2] {
        match self {
            Pairs::Halves => [i, i + n],
            Pairs::Neighbours => [2 * i, 2 * i + 1],
        }
    }
}

/// Rotates the first `dims` of the last axis. `x` is `[B, H, L, D]`, `offsets` `[B]`, `freqs` the wavelengths over 2 pi,
/// `[dims / 2]`.
pub fn rope(x: &Array, dims: i32, pairs: Pairs, offsets: &Array, freqs: &Array) -> Result<Array> {
    let base = sys::mlx_optional_float { value: 0.0, has_value: false };
    // SAFETY: handles are valid for the call.
    op(|out, s| unsafe {
        let (offsets, freqs, traditional) = (offsets.as_ptr(), freqs.as_ptr(), pairs == Pairs::Neighbours);
        sys::mlx_fast_rope_dynamic(out, x.as_ptr(), dims, traditional, base, 1.0, offsets, freqs, s)
    })
}

/// Layer norm over the last axis (arXiv 1607.06450), fused where the backend has a kernel.
pub fn layer_norm(x: &Array, weight: &Array, bias: Option<&Array>, eps: f32) -> Result<Array> {
    // SAFETY: handles are valid for the call; an empty handle stands for "none".
    op(|out, s| unsafe {
        let bias = bias.map_or(sys::mlx_array_new(), Array::as_ptr);
        sys::mlx_fast_layer_norm(out, x.as_ptr(), weight.as_ptr(), bias, eps, s)
    })
}

/// Which keys a query sees.
#[derive(Clone, Copy)]
pub enum Mask<'a> {
    /// All of them.
    All,
    /// Those up to its own position; the last query sits at the last key.
    Causal,
    /// Those where the boolean `[L, S]` array is true.
    Array(&'a Array),
}

/// Attention of `[B, Hq, L, D]` queries over `[B, Hk, S, D]` keys and values; `sinks` `[Hq]` are the scores of a key without
/// a value.
pub fn attention(qkv: [&Array; 3], scale: f32, mask: Mask<'_>, sinks: Option<&Array>) -> Result<Array> {
    let (mode, array) = match mask {
        Mask::All => (c"", None),
        Mask::Causal => (c"causal", None),
        Mask::Array(array) => (c"array", Some(array)),
    };
    // SAFETY: handles are valid for the call; an empty handle stands for "none".
    op(|out, s| unsafe {
        let none = sys::mlx_array_new();
        let mask = array.map_or(none, Array::as_ptr);
        let [q, k, v] = qkv.map(Array::as_ptr);
        let sinks = sinks.map_or(none, Array::as_ptr);
        sys::mlx_fast_scaled_dot_product_attention(out, q, k, v, scale, mode.as_ptr(), mask, sinks, false, s)
    })
}
