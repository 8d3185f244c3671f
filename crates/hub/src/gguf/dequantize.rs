//! Blocks of quantized weights to f32.
//!
//! Every value is computed in f32 with the operations in the order of the reference implementation, so results agree
//! bit for bit. Source: the block structs of the ggml library and the reference dequantizers of its Python package.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::kind::{K_BLOCK, Kind};

/// Unpacks whole blocks of `kind` from `bytes` into `out`, which must be exactly as long as the blocks hold weights.
pub fn dequantize(kind: Kind, bytes: &[u8], out: &mut [f32]) {
    assert_eq!(bytes.len() / kind.block_n_bytes() * kind.block_len(), out.len(), "blocks and weights disagree");
    let unpack = match kind {
        Kind::F32 => return floats(bytes, out, f32::from_le_bytes),
        Kind::F16 => return halves(bytes, out),
        Kind::BF16 => return floats(bytes, out, |b: [u8; 2]| bf16::from_le_bytes(b).to_f32()),
        Kind::Q4_0 => q4_0,
        Kind::Q4_1 => q4_1,
        Kind::Q5_0 => q5_0,
        Kind::Q5_1 => q5_1,
        Kind::Q8_0 => q8_0,
        Kind::Q2_K => q2_k,
        Kind::Q3_K => q3_k,
        Kind::Q4_K => q4_k,
        Kind::Q5_K => q5_k,
        Kind::Q6_K => q6_k,
    };
    for (block, weights) in bytes.chunks_exact(kind.block_n_bytes()).zip(out.chunks_exact_mut(kind.block_len())) {
        unpack(block, weights);
    }
}

fn floats<const N: usize>(bytes: &[u8], out: &mut [f32], read: impl Fn([u8; N]) -> f32) {
    for (chunk, weight) in bytes.as_chunks::<N>().0.iter().zip(out) {
        *weight = read(*chunk);
    }
}

fn halves(bytes: &[u8], out: &mut [f32]) {
    let mut batch = [f16::ZERO; 512];
    for (chunk, weights) in bytes.chunks(2 * batch.len()).zip(out.chunks_mut(batch.len())) {
        let batch = &mut batch[..weights.len()];
        for (half, pair) in batch.iter_mut().zip(chunk.as_chunks().0) {
            *half = f16::from_le_bytes(*pair);
        }
        batch.convert_to_f32_slice(weights);
    }
}

/// The f16 at byte `at` of a block.
fn half_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// 4-bit values of 16 bytes: low nibbles are weights 0..16, high nibbles weights 16..32.
fn nibbles(bytes: &[u8], out: &mut [f32], value: impl Fn(usize, u8) -> f32) {
    let (low, high) = out.split_at_mut(16);
    for (i, &byte) in bytes.iter().enumerate() {
        low[i] = value(i, byte & 15);
        high[i] = value(i + 16, byte >> 4);
    }
}

fn q4_0(block: &[u8], out: &mut [f32]) {
    let d = half_at(block, 0);
    nibbles(&block[2..], out, |_, q| d * (f32::from(q) - 8.0));
}

fn q4_1(block: &[u8], out: &mut [f32]) {
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    nibbles(&block[4..], out, |_, q| d * f32::from(q) + m);
}

/// The fifth bit of weight `i`, in place, from four bytes of such bits.
fn fifth(high: u32, i: usize) -> u8 {
    ((high >> i) as u8 & 1) << 4
}

fn q5_0(block: &[u8], out: &mut [f32]) {
    let d = half_at(block, 0);
    let high = u32::from_le_bytes([block[2], block[3], block[4], block[5]]);
    nibbles(&block[6..], out, |i, q| d * (f32::from(q | fifth(high, i)) - 16.0));
}

fn q5_1(block: &[u8], out: &mut [f32]) {
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    let high = u32::from_le_bytes([block[4], block[5], block[6], block[7]]);
    nibbles(&block[8..], out, |i, q| d * f32::from(q | fifth(high, i)) + m);
}

fn q8_0(block: &[u8], out: &mut [f32]) {
    let d = half_at(block, 0);
    for (weight, &q) in out.iter_mut().zip(&block[2..]) {
        *weight = d * f32::from(q as i8);
    }
}

/// Sixteen scales and minima of a nibble each, 64 bytes of 2-bit values, then the two super-scales.
fn q2_k(block: &[u8], out: &mut [f32]) {
    let (scales, qs) = (&block[..16], &block[16..80]);
    let (d, d_min) = (half_at(block, 80), half_at(block, 82));
    for (i, weights) in out.chunks_exact_mut(16).enumerate() {
        let scale = d * f32::from(scales[i] & 15);
        let min = d_min * f32::from(scales[i] >> 4);
        for (weight, q) in weights.iter_mut().zip(two_bits(qs, i)) {
            *weight = scale * f32::from(q) - min;
        }
    }
}

/// The 2-bit values of sub-block `i` of 16 weights: each half of 128 weights shares 32 bytes, 32 weights per bit pair.
fn two_bits(qs: &[u8], i: usize) -> impl Iterator<Item = u8> {
    let first = i / 8 * 32 + i % 2 * 16;
    let shift = i % 8 / 2 * 2;
    qs[first..first + 16].iter().map(move |byte| byte >> shift & 3)
}

/// 32 bytes of third bits (set means no offset), 64 bytes of low bits, 12 bytes of 6-bit scales, the super-scale.
fn q3_k(block: &[u8], out: &mut [f32]) {
    let (mask, qs, scales) = (&block[..32], &block[32..96], &block[96..108]);
    let d = half_at(block, 108);
    for (i, weights) in out.chunks_exact_mut(16).enumerate() {
        let low = if i < 8 { scales[i] & 15 } else { scales[i - 8] >> 4 };
        let high = scales[8 + i % 4] >> (i / 4 * 2) & 3;
        let scale = d * (f32::from(low | high << 4) - 32.0);
        let bits = &mask[i % 2 * 16..][..16];
        for ((weight, q), bit) in weights.iter_mut().zip(two_bits(qs, i)).zip(bits) {
            let offset = if bit >> (i / 2) & 1 == 1 { 0.0 } else { 4.0 };
            *weight = scale * (f32::from(q) - offset);
        }
    }
}

/// The 6-bit scale and minimum of sub-block `i` of eight, from their 12 packed bytes.
fn scale_min(packed: &[u8], i: usize) -> (f32, f32) {
    let (scale, min) = if i < 4 {
        (packed[i] & 63, packed[i + 4] & 63)
    } else {
        (packed[i + 4] & 15 | packed[i - 4] >> 2 & 48, packed[i + 4] >> 4 | packed[i] >> 2 & 48)
    };
    (f32::from(scale), f32::from(min))
}

/// Two super-scales, 12 bytes of scales and minima, 128 bytes of nibbles (64 weights share 32 bytes).
fn q4_k(block: &[u8], out: &mut [f32]) {
    let (d, d_min) = (half_at(block, 0), half_at(block, 2));
    for (i, weights) in out.chunks_exact_mut(32).enumerate() {
        let (scale, min) = scale_min(&block[4..16], i);
        let (scale, min) = (d * scale, d_min * min);
        let shift = i % 2 * 4;
        for (weight, byte) in weights.iter_mut().zip(&block[16 + i / 2 * 32..]) {
            *weight = scale * f32::from(byte >> shift & 15) - min;
        }
    }
}

/// As 4-bit, with 32 bytes of fifth bits before the nibbles: bit `i` of each byte belongs to sub-block `i`.
fn q5_k(block: &[u8], out: &mut [f32]) {
    let (d, d_min) = (half_at(block, 0), half_at(block, 2));
    let high = &block[16..48];
    for (i, weights) in out.chunks_exact_mut(32).enumerate() {
        let (scale, min) = scale_min(&block[4..16], i);
        let (scale, min) = (d * scale, d_min * min);
        let shift = i % 2 * 4;
        for ((weight, byte), bits) in weights.iter_mut().zip(&block[48 + i / 2 * 32..]).zip(high) {
            let q = byte >> shift & 15 | (bits >> i & 1) << 4;
            *weight = scale * f32::from(q) - min;
        }
    }
}

/// 128 bytes of low nibbles, 64 bytes of high bit pairs, sixteen signed 8-bit scales, the super-scale.
fn q6_k(block: &[u8], out: &mut [f32]) {
    let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
    let d = half_at(block, 208);
    for (i, weights) in out.chunks_exact_mut(16).enumerate() {
        let scale = d * f32::from(scales[i] as i8);
        let (half, within) = (i / 8, i % 8);
        let (low_shift, high_shift) = (within / 4 * 4, within / 2 * 2);
        let low = &low[half * 64 + within % 4 * 16..][..16];
        let high = &high[half * 32 + within % 2 * 16..][..16];
        for ((weight, l), h) in weights.iter_mut().zip(low).zip(high) {
            let q = l >> low_shift & 15 | (h >> high_shift & 3) << 4;
            *weight = scale * (f32::from(q) - 32.0);
        }
    }
}

const _: () = assert!(K_BLOCK == 256, "the K-quant layouts above are for blocks of 256");

#[cfg(test)]
#[path = "dequantize_tests.rs"]
mod tests;
