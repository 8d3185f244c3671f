use super::{Linear, Weight, block_rows, stack};
use crate::fixtures::uniforms;
use crate::mx::{self, Array};
use crate::weights::{Kernels, Matrix};

fn random(name: &str, shape: [i32; 2]) -> Array {
    let values: Vec<f32> = uniforms(name).take((shape[0] * shape[1]) as usize).map(|u| u - 0.5).collect();
    Array::from_slice(&values, &shape)
}

fn linear(matrices: &[Array], bias: Option<&Array>, kernels: Kernels) -> Linear {
    let matrices = stack(matrices.iter().cloned().map(Matrix::Dense).collect(), kernels).unwrap();
    let weights = matrices.into_iter().map(|matrix| Weight::new(matrix, kernels).unwrap()).collect();
    Linear { weights, bias: bias.cloned() }
}

fn assert_close(a: &Array, b: &Array, what: &str) {
    assert_eq!(a.shape(), b.shape(), "{what}");
    let (a, b) = (mx::to_f32(a).unwrap(), mx::to_f32(b).unwrap());
    let error = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(error < 2e-4, "{what}: off by {error}");
}

/// Projections of one input, small enough to be stacked, or large enough to be kept apart and run in blocks.
fn check(n_in: i32, sizes: &[i32], with_bias: Option<()>) {
    let matrices: Vec<_> = sizes.iter().enumerate().map(|(i, n)| random(&format!("w{i}"), [*n, n_in])).collect();
    let n_out: i32 = sizes.iter().sum();
    let bias = with_bias.map(|()| mx::reshape(&random("bias", [1, n_out]), &[n_out]).unwrap());
    let (plain, fused) =
        (linear(&matrices, bias.as_ref(), Kernels::Plain), linear(&matrices, bias.as_ref(), Kernels::Fused));
    assert_eq!(fused.weights.len(), 1, "a GPU has one matrix");
    for n_tokens in [1, 2, 3, 8, 9, 20] {
        let what = format!("{n_in} to {sizes:?}, {n_tokens} tokens, {with_bias:?}");
        let x = random("x", [n_tokens, n_in]);
        let whole = mx::concatenate(&matrices.iter().collect::<Vec<_>>(), 0).unwrap();
        let mut expected = mx::matmul(&x, &mx::transpose(&whole).unwrap()).unwrap();
        if let Some(bias) = &bias {
            expected = mx::add(&expected, bias).unwrap();
        }
        let residual = random("residual", [n_tokens, n_out]);
        for linear in [&plain, &fused] {
            assert_close(&linear.forward(&x).unwrap(), &expected, &what);
            let sum = mx::add(&residual, &expected).unwrap();
            assert_close(&linear.forward_onto(&residual, &x).unwrap(), &sum, &what);
            let parts = linear.forward_parts(&x, sizes).unwrap();
            assert_close(&mx::concatenate(&parts.iter().collect::<Vec<_>>(), 1).unwrap(), &expected, &what);
        }
    }
}

#[test]
fn projections_agree_however_they_are_kept() {
    for bias in [None, Some(())] {
        check(48, &[48, 16, 16], bias);
        check(576, &[3072], bias);
        check(576, &[576, 192, 192], bias);
        check(300, &[1009], bias);
        check(2048, &[700, 700], bias);
    }
}

#[test]
fn blocks_divide_a_matrix_or_are_not_used() {
    let cases = [
        ((960, 576, 1), None),
        ((3072, 576, 1), Some(768)),
        ((3072, 576, 8), Some(96)),
        ((49152, 576, 1), Some(768)),
        ((4096, 4096, 1), Some(64)),
        // A prime number of outputs has no useful divisor.
        ((100_003, 576, 1), None),
    ];
    for ((n_out, n_in, n_tokens), expected) in cases {
        assert_eq!(block_rows(n_out, n_in, n_tokens), expected, "{n_out} x {n_in}, {n_tokens}");
    }
}
