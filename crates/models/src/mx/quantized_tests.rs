use super::{Packed, Packing, dequantize, quantize, quantized_matmul};
use crate::fixtures::uniforms;
use crate::mx::{self, Array, Dtype};

const N_OUT: usize = 8;
const N_IN: usize = 512;

/// A packed matrix of random bits, scales and biases.
fn random(bits: usize, group_size: usize) -> Packed {
    let mut numbers = uniforms(&format!("{bits} bits by {group_size}"));
    let mut floats = |n: usize| -> Vec<f32> { numbers.by_ref().take(n).collect() };
    let n_groups = N_IN / group_size;
    let shape = [N_OUT as i32, n_groups as i32];
    let scales = Array::from_slice(&floats(N_OUT * n_groups), &shape);
    let biases = Array::from_slice(&floats(N_OUT * n_groups), &shape);
    let n_words = N_IN * bits / 32;
    let words: Vec<u32> =
        (0..N_OUT * n_words).map(|_| floats(2).iter().fold(0, |w, u| (w << 16) | (u * 65536.0) as u32)).collect();
    let packing = Packing { group_size: group_size as i32, bits: bits as i32, mode: c"affine" };
    Packed { weight: Array::from_slice(&words, &[N_OUT as i32, n_words as i32]), scales, biases: Some(biases), packing }
}

/// Bit by bit: a row is one stream of little-endian bits.
fn unpacked(packed: &Packed) -> Vec<f32> {
    let (bits, group_size) = (packed.packing.bits as usize, packed.packing.group_size as usize);
    let words = mx::to_u32(&packed.weight).unwrap();
    let scales = mx::to_f32(&packed.scales).unwrap();
    let biases = mx::to_f32(packed.biases.as_ref().unwrap()).unwrap();
    let n_words = N_IN * bits / 32;
    let bit = |row: usize, at: usize| (words[row * n_words + at / 32] >> (at % 32)) & 1;
    let element = |row: usize, i: usize| (0..bits).map(|b| bit(row, i * bits + b) << b).sum::<u32>() as f32;
    let group = |row: usize, i: usize| row * (N_IN / group_size) + i / group_size;
    let value = |row: usize, i: usize| element(row, i) * scales[group(row, i)] + biases[group(row, i)];
    (0..N_OUT).flat_map(|row| (0..N_IN).map(move |i| (row, i))).map(|(row, i)| value(row, i)).collect()
}

#[test]
fn affine_packings_unpack_bit_by_bit() {
    for bits in [2, 3, 4, 5, 6, 8] {
        for group_size in [8, 16, 32, 64, 128, 256, 512] {
            let packed = random(bits, group_size);
            let expected = unpacked(&packed);
            let found = mx::to_f32(&dequantize(&packed, Dtype::Float32).unwrap()).unwrap();
            let error = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(error < 1e-4 * (1 << bits) as f32, "{bits} bits by {group_size}: off by {error}");
        }
    }
}

#[test]
fn products_with_packed_matrices_are_those_with_unpacked_ones() {
    let x: Vec<f32> = uniforms("x").take(3 * N_IN).collect();
    let x = Array::from_slice(&x, &[3, N_IN as i32]);
    let matrix: Vec<f32> = uniforms("matrix").take(N_OUT * N_IN).map(|u| u - 0.5).collect();
    let matrix = Array::from_slice(&matrix, &[N_OUT as i32, N_IN as i32]);
    let affine = [2, 3, 4, 5, 6, 8].map(|bits| Packing { group_size: 64, bits, mode: c"affine" });
    let floats = [(32, 4, c"mxfp4"), (32, 8, c"mxfp8"), (16, 4, c"nvfp4")];
    let floats = floats.map(|(group_size, bits, mode)| Packing { group_size, bits, mode });
    for packing in affine.into_iter().chain(floats) {
        assert!(packing.multiplies());
        let packed = quantize(&matrix, packing).unwrap();
        let dense = dequantize(&packed, Dtype::Float32).unwrap();
        let expected = mx::to_f32(&mx::matmul(&x, &mx::transpose(&dense).unwrap()).unwrap()).unwrap();
        let found = mx::to_f32(&quantized_matmul(&x, &packed).unwrap()).unwrap();
        let error = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(error < 1e-3, "{packing:?}: off by {error}");
    }
}
