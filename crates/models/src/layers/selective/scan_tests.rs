//! Sums of many tokens against steps, and steps against the definition.

use super::Tokens;
use crate::fixtures::uniforms;
use crate::mx::{self, Array};

const N_CHANNELS: i32 = 6;
const N_STATE: i32 = 3;

fn random(name: &str, shape: &[i32], low: f32, high: f32) -> Array {
    let n = shape.iter().product::<i32>() as usize;
    Array::from_slice(&uniforms(name).take(n).map(|u| low + u * (high - low)).collect::<Vec<_>>(), shape)
}

fn tokens(r: i32, len: i32) -> Tokens {
    Tokens {
        x: random("x", &[r, len, N_CHANNELS], -1.0, 1.0),
        b: random("b", &[r, len, N_STATE], -1.0, 1.0),
        c: random("c", &[r, len, N_STATE], -1.0, 1.0),
        dt: random("dt", &[r, len, N_CHANNELS], 0.0, 2.0),
    }
}

fn given(r: i32) -> (Array, Array) {
    let a = random("a", &[N_CHANNELS, N_STATE], -3.0, -0.01);
    (a, random("state", &[r, N_CHANNELS, N_STATE], -1.0, 1.0))
}

fn assert_near(actual: &Array, expected: &Array, what: &str) {
    assert_eq!(actual.shape(), expected.shape(), "{what}");
    let (actual, expected) = (mx::to_f32(actual).unwrap(), mx::to_f32(expected).unwrap());
    let off = actual.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(off < 1e-5, "{what}: off by {off}");
}

#[test]
fn parts_of_any_length_are_steps_one_after_the_other() {
    for (r, len) in [(1, 2), (2, 7), (3, 64), (1, 65), (2, 130)] {
        let (a, state) = given(r);
        let tokens = tokens(r, len);
        let (expected, expected_after) = tokens.in_parts(&a, &state, 1).unwrap();
        for n_part in [2, 5, 16, 1000] {
            let (y, after) = tokens.in_parts(&a, &state, n_part).unwrap();
            let what = format!("{r} rows of {len} in parts of {n_part}");
            assert_near(&y, &expected, &what);
            assert_near(&after, &expected_after, &what);
        }
        assert_near(&tokens.scan(&a, &state).unwrap().0, &expected, "of the usual length");
    }
}

#[test]
fn a_step_is_the_definition() {
    let (a, state) = given(2);
    let tokens = tokens(2, 1);
    let (y, after) = tokens.step(&a, &state).unwrap();
    let [x, b, c, dt] = [&tokens.x, &tokens.b, &tokens.c, &tokens.dt].map(|array| mx::to_f32(array).unwrap());
    let (a, state) = (mx::to_f32(&a).unwrap(), mx::to_f32(&state).unwrap());
    let (channels, n) = (N_CHANNELS as usize, N_STATE as usize);
    let (mut expected, mut expected_after) = (Vec::new(), Vec::new());
    for at in 0..2 * channels {
        let (row, channel) = (at / channels, at % channels);
        let new = |j: usize| (dt[at] * a[channel * n + j]).exp() * state[at * n + j] + dt[at] * x[at] * b[row * n + j];
        expected.push((0..n).map(|j| new(j) * c[row * n + j]).sum::<f32>());
        expected_after.extend((0..n).map(new));
    }
    assert_near(&y, &Array::from_slice(&expected, y.shape()), "outputs");
    assert_near(&after, &Array::from_slice(&expected_after, after.shape()), "state");
}
