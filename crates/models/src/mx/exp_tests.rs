use super::*;
use crate::mx;

/// Numbers from -110 to 110, dense around 0, and what masks and overflows leave.
fn inputs(n: usize) -> Vec<f32> {
    let ramp = (0..n).map(|i| (i as f32 / n as f32 * 2.0 - 1.0).powi(3) * 110.0);
    ramp.chain([f32::NEG_INFINITY, -200.0, 0.0, 200.0]).collect()
}

fn check(f: impl Fn(&Array) -> Result<Array>, expected: impl Fn(f64) -> f64) {
    // Both ways: by powers and by MLX's own operation.
    for n in [2 * N_POWERS_MIN, N_POWERS_MIN / 2] {
        let inputs = inputs(n);
        let out = mx::to_f32(&f(&Array::from_slice(&inputs, &[inputs.len() as i32])).unwrap()).unwrap();
        for (x, y) in inputs.iter().zip(out) {
            let expected = expected(f64::from(*x));
            if expected.is_nan() || expected > 1e38 {
                continue;
            }
            let error = (f64::from(y) - expected).abs();
            assert!(error <= 2e-5 * expected.abs() + 1e-35, "{x}: {y}, expected {expected}");
        }
    }
}

#[test]
fn exponentials_are_exact_by_either_way() {
    check(exp, f64::exp);
    check(sigmoid, |x| 1.0 / (1.0 + (-x).exp()));
    check(|x| gated(x, x), |x| if x == f64::NEG_INFINITY { f64::NAN } else { x / (1.0 + (-x).exp()) });
}

#[test]
fn softmax_is_exact_by_either_way() {
    for n in [2 * N_POWERS_MIN, N_POWERS_MIN / 2] {
        let inputs: Vec<f32> = inputs(n).into_iter().map(|x| x / 10.0).collect();
        let a = Array::from_slice(&inputs, &[2, inputs.len() as i32 / 2]);
        let out = mx::to_f32(&softmax(&a, -1).unwrap()).unwrap();
        for (inputs, out) in inputs.chunks(inputs.len() / 2).zip(out.chunks(inputs.len() / 2)) {
            let sum: f64 = inputs.iter().map(|x| f64::from(*x).exp()).sum();
            for (x, y) in inputs.iter().zip(out) {
                let expected = f64::from(*x).exp() / sum;
                assert!((f64::from(*y) - expected).abs() <= 1e-5 * expected + 1e-30, "{x}: {y}, expected {expected}");
            }
        }
    }
}
