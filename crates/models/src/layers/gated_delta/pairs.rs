//! Products of a chunk's queries and keys with its keys, each weighed by the decay between the two.
//!
//! Decays are exponentials of differences that are never above 0 where they count. They are not split into two factors over
//! a whole chunk, as one of them would leave what f32 holds.

use crate::mx::{self, Array, Cut, Result};

/// Tokens of a block inside which decays of single elements are taken pair by pair.
pub(super) const N_BLOCK: i32 = 16;

/// `[.., C, C]`; what lies above the diagonal has no meaning.
pub(super) struct Pairs {
    /// Keys with keys.
    pub keys: Array,
    /// Queries with keys.
    pub queries: Array,
}

/// Of `[.., C, Dk]` and the running sums of logarithms of decay, `[.., C, 1]` or `[.., C, Dk]`.
pub(super) fn pairs(queries: &Array, keys: &Array, sums: &Array) -> Result<Pairs> {
    if sums.dim(-1) > 1 {
        return by_element(queries, keys, sums);
    }
    let keys_t = mx::transpose_axes(keys, &[0, 1, 2, 3, 5, 4])?;
    let between = mx::subtract(sums, &mx::transpose_axes(sums, &[0, 1, 2, 3, 5, 4])?)?;
    let decay = decay(&between)?;
    Ok(Pairs {
        keys: mx::multiply(&mx::matmul(keys, &keys_t)?, &decay)?,
        queries: mx::multiply(&mx::matmul(queries, &keys_t)?, &decay)?,
    })
}

/// `exp` of what is not above 0; of what is, 1.
fn decay(logarithm: &Array) -> Result<Array> {
    mx::exp(&mx::minimum(logarithm, &mx::scalar(0.0))?)
}

/// Each element of a key decays at its own rate. Of two blocks, the later one's first token parts the decay between them into
/// two factors, neither above 1; inside a block there is a product for every pair.
fn by_element(queries: &Array, keys: &Array, sums: &Array) -> Result<Pairs> {
    let (c, k_dim) = (sums.dim(4), sums.dim(5));
    let size = N_BLOCK.min(c);
    let n_blocks = c / size;
    let outer: Vec<i32> = sums.shape()[..4].to_vec();
    let shaped = |array: &Array, rest: &[i32]| mx::reshape(array, &[&array.shape()[..4], rest].concat());
    let blocks = |array: &Array| shaped(array, &[n_blocks, size, k_dim]); // [R, H, G, N, B, S, Dk]
    let (q, k, sums_in) = (blocks(queries)?, blocks(keys)?, blocks(sums)?);
    let both = mx::concatenate(&[&k, &q], 5)?; // [.., B, 2 S, Dk]
    let near = near(&both, &k, &sums_in)?; // [.., B, 2 S, S]
    let all = if n_blocks == 1 {
        near
    } else {
        let far = far(&both, keys, [sums, &sums_in])?; // [.., B, 2 S, C]
        let spread = mx::multiply(&mx::expand_dims(&near, -2)?, &own_block(n_blocks))?;
        let spread = mx::reshape(&spread, far.shape())?;
        mx::select(&before(n_blocks, size), &far, &spread)?
    };
    let part = |start| {
        let half = mx::slice(&all, &[Cut { axis: 5, start, stop: start + size }])?;
        mx::reshape(&half, &[&outer[..], &[c, c]].concat())
    };
    Ok(Pairs { keys: part(0)?, queries: part(size)? })
}

/// `[.., B, 2 S, Dk]` with the keys `[.., B, S, Dk]` of the same block.
fn near(both: &Array, keys: &Array, sums: &Array) -> Result<Array> {
    let size = keys.dim(5);
    let between = mx::subtract(&mx::expand_dims(sums, 6)?, &mx::expand_dims(sums, 5)?)?; // [.., S, S, Dk]
    let decayed = mx::multiply(&decay(&between)?, &mx::expand_dims(keys, 5)?)?;
    let decayed = mx::transpose_axes(&decayed, &[0, 1, 2, 3, 4, 5, 7, 6])?; // [.., S, Dk, S]
    let readers = mx::reshape(both, &[&both.shape()[..5], &[2, size, both.dim(6)]].concat())?;
    let readers = mx::transpose_axes(&readers, &[0, 1, 2, 3, 4, 6, 5, 7])?; // [.., S, 2, Dk]
    let products = mx::transpose_axes(&mx::matmul(&readers, &decayed)?, &[0, 1, 2, 3, 4, 6, 5, 7])?;
    mx::reshape(&products, &[&products.shape()[..5], &[2 * size, size]].concat())
}

/// `[.., B, 2 S, Dk]` with the keys `[.., C, Dk]` of the blocks before; the sums are those of the chunk and of its blocks.
fn far(both: &Array, keys: &Array, sums: [&Array; 2]) -> Result<Array> {
    let [sums, sums_in] = sums;
    let first = mx::slice(sums_in, &[Cut { axis: 5, start: 0, stop: 1 }])?; // [.., B, 1, Dk]
    let since = decay(&mx::subtract(sums_in, &first)?)?;
    let readers = mx::multiply(both, &mx::concatenate(&[&since, &since], 5)?)?;
    let until = decay(&mx::subtract(&first, &mx::expand_dims(sums, 4)?)?)?; // [.., B, C, Dk]
    let keys = mx::multiply(&mx::expand_dims(keys, 4)?, &until)?;
    mx::matmul(&readers, &mx::transpose_axes(&keys, &[0, 1, 2, 3, 4, 6, 5])?)
}

/// `[B, 1, B, 1]`: 1 where both blocks are the same.
fn own_block(n_blocks: i32) -> Array {
    let values: Vec<f32> =
        (0..n_blocks * n_blocks).map(|at| if at / n_blocks == at % n_blocks { 1.0 } else { 0.0 }).collect();
    Array::from_slice(&values, &[n_blocks, 1, n_blocks, 1])
}

/// `[B, 1, C]`: whether a token comes before the block.
fn before(n_blocks: i32, size: i32) -> Array {
    let c = n_blocks * size;
    let values: Vec<bool> = (0..n_blocks * c).map(|at| at % c < at / c * size).collect();
    Array::from_slice(&values, &[n_blocks, 1, c])
}
