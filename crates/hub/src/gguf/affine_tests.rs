use super::*;
use crate::gguf::dequantize::dequantize;

/// Rows and what MLX quantizes them to; see `make_affine.py` beside the file.
const AFFINE: &[u8] = include_bytes!("../../tests/fixtures/affine.bin");

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

/// Unpacks groups the slow, obvious way: bit by bit.
fn unpack(packed: &Packed, group_len: usize, bits: u32) -> Vec<f32> {
    let bit = |i: usize| u32::from(packed.values[i / 8] >> (i % 8) & 1);
    (0..packed.scales.len() * group_len)
        .map(|i| {
            let q: u32 = (0..bits as usize).map(|k| bit(i * bits as usize + k) << k).sum();
            packed.scales[i / group_len].to_f32() * q as f32 + packed.biases[i / group_len].to_f32()
        })
        .collect()
}

#[test]
fn quantizing_equals_mlx() {
    let (mut rest, mut seen) = (AFFINE, Vec::new());
    while !rest.is_empty() {
        let head: Vec<usize> = rest[..12].as_chunks().0.iter().map(|b| u32::from_le_bytes(*b) as usize).collect();
        let (bits, n, n_packed) = (head[0] as u32, head[1], head[2]);
        let (weights, after) = rest[12..].split_at(4 * n);
        let (values, after) = after.split_at(n_packed);
        let (scales, after) = after.split_at(4 * n / GROUP_LEN);
        let (biases, after) = after.split_at(4 * n / GROUP_LEN);
        let mut packed = Packed::default();
        packed.quantize(&floats(weights), GROUP_LEN, bits).unwrap();
        assert_eq!(packed.values, values, "{bits} bits");
        let halves = |bytes| floats(bytes).into_iter().map(f16::from_f32).collect::<Vec<_>>();
        assert_eq!((&packed.scales, &packed.biases), (&halves(scales), &halves(biases)), "{bits} bits");
        seen.push(bits);
        rest = after;
    }
    assert_eq!(seen, BITS);
}

#[test]
fn the_error_is_at_most_half_a_step() {
    let weights: Vec<f32> = (0..GROUP_LEN * 4).map(|i| ((i * 7919 % 1000) as f32 - 300.0) / 997.0).collect();
    for bits in BITS {
        let mut packed = Packed::default();
        packed.quantize(&weights, GROUP_LEN, bits).unwrap();
        for (i, (w, back)) in weights.iter().zip(unpack(&packed, GROUP_LEN, bits)).enumerate() {
            let step = packed.scales[i / GROUP_LEN].to_f32().abs();
            // Rounding the edge to whole steps may stretch the far end, and f16 scales add their own rounding.
            assert!((w - back).abs() <= 0.75 * step + 2e-3, "{bits} bits, weight {i}: {w} became {back}");
        }
    }
}

#[test]
fn repacking_loses_nothing() {
    for (kind, n_scales) in [(Kind::Q4_0, 1), (Kind::Q4_1, 2), (Kind::Q8_0, 1)] {
        let n_bytes = kind.block_n_bytes();
        let mut blocks: Vec<u8> = (0..n_bytes * 50).map(|i| (i * 151 + i / 7) as u8).collect();
        for block in blocks.chunks_exact_mut(n_bytes) {
            for at in 0..n_scales {
                block[2 * at + 1] = block[2 * at + 1] & 0x83 | (block[2 * at + 1] % 0x17) << 2;
            }
        }
        let mut expected = vec![0.0; 50 * REPACK_GROUP_LEN];
        dequantize(kind, &blocks, &mut expected);
        let mut packed = Packed::default();
        packed.repack(kind, &blocks).unwrap();
        assert_eq!(unpack(&packed, REPACK_GROUP_LEN, repack_bits(kind).unwrap()), expected, "{kind:?}");
    }
}

#[test]
fn a_scale_that_f16_cannot_hold_is_reported() {
    let mut block = [0; 34];
    block[..2].copy_from_slice(&f16::from_f32(600.0).to_le_bytes());
    assert_eq!(Packed::default().repack(Kind::Q8_0, &block), Err(ScaleOverflow));
    block[..2].copy_from_slice(&f16::NAN.to_le_bytes());
    assert_eq!(Packed::default().repack(Kind::Q8_0, &block), Err(ScaleOverflow));
    assert_eq!(Packed::default().quantize(&[1e6; GROUP_LEN], GROUP_LEN, 4), Err(ScaleOverflow));
}
