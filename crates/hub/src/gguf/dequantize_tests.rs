use std::collections::BTreeSet;

use super::*;

/// Records of blocks and the values that the reference gives them; see `make_blocks.py` beside the file.
const BLOCKS: &[u8] = include_bytes!("../../tests/fixtures/blocks.bin");

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

#[test]
fn every_kind_equals_the_reference_bit_for_bit() {
    let (mut rest, mut kinds) = (BLOCKS, BTreeSet::new());
    while !rest.is_empty() {
        let kind = Kind::from_number(u32_at(rest, 0) as u32).unwrap();
        let (n_bytes, n_weights) = (u32_at(rest, 4), u32_at(rest, 8));
        let (blocks, after) = rest[12..].split_at(n_bytes);
        let (weights, after) = after.split_at(4 * n_weights);
        let mut out = vec![0.0; n_weights];
        dequantize(kind, blocks, &mut out);
        for (i, (got, expected)) in out.iter().zip(weights.as_chunks().0).enumerate() {
            let expected = f32::from_le_bytes(*expected);
            assert_eq!(got.to_bits(), expected.to_bits(), "{kind:?} weight {i}: {got} is not {expected}");
        }
        kinds.insert(kind);
        rest = after;
    }
    assert_eq!(kinds.len(), 12, "a kind is missing: {kinds:?}");
}

#[test]
fn f32_is_copied() {
    let mut out = [0.0; 2];
    dequantize(Kind::F32, &[0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc1], &mut out);
    assert_eq!(out, [1.0, -10.0]);
}
