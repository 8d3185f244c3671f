use super::{Chain, compiled};
use crate::fixtures::uniforms;
use crate::mx::{self, Array, Dtype, Result};

fn random(name: &str, shape: &[i32], dtype: Dtype) -> Array {
    let n = shape.iter().product::<i32>() as usize;
    let values: Vec<f32> = uniforms(name).take(n).map(|u| u * 4.0 - 2.0).collect();
    mx::cast(&Array::from_slice(&values, shape), dtype).unwrap()
}

/// A chain that broadcasts, converts and returns the type of an input.
fn chain(x: &[Array]) -> Result<Array> {
    let sum = mx::add(&mx::cast(&x[0], Dtype::Float32)?, &x[1])?;
    mx::cast(&mx::multiply(&mx::gated(&sum, &sum)?, &mx::scalar(-1.5))?, x[0].dtype())
}

fn check(chain: Chain, inputs: &[&Array]) {
    let plain = chain(&inputs.iter().copied().cloned().collect::<Vec<_>>()).unwrap();
    let compiled = compiled(chain, inputs).unwrap();
    assert_eq!((compiled.shape(), compiled.dtype()), (plain.shape(), plain.dtype()));
    for (a, b) in mx::to_f32(&compiled).unwrap().iter().zip(mx::to_f32(&plain).unwrap()) {
        assert!(
            (a - b).abs() <= 1e-6 + 0.01 * b.abs() * f32::from(u8::from(plain.dtype() != Dtype::Float32)),
            "{a} {b}"
        );
    }
}

#[test]
fn a_compiled_chain_computes_what_its_operations_do_in_all_shapes() {
    for (n_rows, n) in [(1, 8), (3, 8), (5, 40), (1, 3000)] {
        let x = random("x", &[n_rows, 2, n], Dtype::Float32);
        check(chain, &[&x, &random("bias", &[n], Dtype::Float32)]);
        check(chain, &[&mx::cast(&x, Dtype::Float16).unwrap(), &random("bias", &[n], Dtype::Float32)]);
    }
}

#[test]
fn a_chain_that_cannot_be_says_why() {
    let [a, b] = [2, 3].map(|n| random("x", &[n], Dtype::Float32));
    let error = compiled(|x| mx::add(&x[0], &x[1]), &[&a, &b]).unwrap_err();
    assert!(error.what.contains("broadcast"), "{error}");
}
