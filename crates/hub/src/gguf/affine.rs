//! Affine groups as MLX stores them: `w = scale * q + bias`, `q` packed least significant bit first.
//!
//! GGUF kinds that already are such groups are repacked without loss; any other weights can be quantized.

use half::f16;

use super::kind::Kind;

/// Weights in a group when quantizing on request.
pub const GROUP_LEN: usize = 64;
/// Weights in a group when repacking: one GGUF block.
pub const REPACK_GROUP_LEN: usize = 32;
/// Bits that MLX packs.
pub const BITS: [u32; 6] = [2, 3, 4, 5, 6, 8];

/// Packed groups of some rows, ready to be written.
#[derive(Debug, Default, PartialEq)]
pub struct Packed {
    /// Values of `bits` each, little-endian.
    pub values: Vec<u8>,
    /// One scale per group.
    pub scales: Vec<f16>,
    /// One bias per group.
    pub biases: Vec<f16>,
}

/// A scale or bias that f16 cannot hold.
#[derive(Debug, PartialEq)]
pub struct ScaleOverflow;

impl Packed {
    /// Drops all groups but keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.scales.clear();
        self.biases.clear();
    }

    fn push_scale(&mut self, scale: f32, bias: f32) -> Result<(), ScaleOverflow> {
        let (scale, bias) = (f16::from_f32(scale), f16::from_f32(bias));
        if !scale.is_finite() || !bias.is_finite() {
            return Err(ScaleOverflow);
        }
        self.scales.push(scale);
        self.biases.push(bias);
        Ok(())
    }

    /// Appends the blocks of `bytes` exactly as they are; `kind` must be one that [`repack_bits`] knows.
    pub fn repack(&mut self, kind: Kind, bytes: &[u8]) -> Result<(), ScaleOverflow> {
        for block in bytes.chunks_exact(kind.block_n_bytes()) {
            let half = |at: usize| f16::from_le_bytes([block[at], block[at + 1]]).to_f32();
            let d = half(0);
            match kind {
                Kind::Q4_0 => {
                    self.push_scale(d, -8.0 * d)?;
                    self.push_nibbles(&block[2..]);
                }
                Kind::Q4_1 => {
                    self.push_scale(d, half(2))?;
                    self.push_nibbles(&block[4..]);
                }
                Kind::Q8_0 => {
                    self.push_scale(d, -128.0 * d)?;
                    // Signed to unsigned by adding 128.
                    self.values.extend(block[2..].iter().map(|q| q ^ 0x80));
                }
                _ => unreachable!("{kind:?} is not an affine kind"),
            }
        }
        Ok(())
    }

    /// A block keeps weight `i` beside weight `i + 16`; MLX wants neighbours together.
    fn push_nibbles(&mut self, bytes: &[u8]) {
        for pair in bytes.chunks_exact(2) {
            self.values.push(pair[0] & 15 | pair[1] << 4);
        }
        for pair in bytes.chunks_exact(2) {
            self.values.push(pair[0] >> 4 | pair[1] & 0xf0);
        }
    }

    /// Quantizes whole groups of `group_len` finite weights to `bits`, choosing scales as `mlx.core.quantize` does: the
    /// edge of larger magnitude is exact, and so is zero.
    pub fn quantize(&mut self, weights: &[f32], group_len: usize, bits: u32) -> Result<(), ScaleOverflow> {
        let q_max = ((1u32 << bits) - 1) as f32;
        for group in weights.chunks_exact(group_len) {
            let (scale, bias) = scale_and_bias(group, q_max);
            self.push_scale(scale, bias)?;
            let (mut word, mut n_bits) = (0u32, 0);
            for &weight in group {
                let q = ((weight - bias) / scale).round_ties_even().clamp(0.0, q_max);
                word |= (q as u32) << n_bits;
                n_bits += bits;
                while n_bits >= 8 {
                    self.values.push(word as u8);
                    word >>= 8;
                    n_bits -= 8;
                }
            }
        }
        Ok(())
    }
}

/// Bits of the affine form of `kind`, or `None` when it has none.
pub fn repack_bits(kind: Kind) -> Option<u32> {
    match kind {
        Kind::Q4_0 | Kind::Q4_1 => Some(4),
        Kind::Q8_0 => Some(8),
        _ => None,
    }
}

fn scale_and_bias(group: &[f32], q_max: f32) -> (f32, f32) {
    let max = group.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let min = group.iter().copied().fold(f32::INFINITY, f32::min);
    let from_min = min.abs() > max.abs();
    let edge = if from_min { min } else { max };
    let step = ((max - min) / q_max).max(1e-7);
    let scale = if from_min { step } else { -step };
    let q_edge = (edge / scale).round_ties_even();
    if q_edge == 0.0 { (scale, 0.0) } else { (edge / q_edge, edge) }
}

#[cfg(test)]
#[path = "affine_tests.rs"]
mod tests;
