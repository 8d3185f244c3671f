//! Chunks against steps, and steps against the definition.

use super::{ScanShape, Tokens};
use crate::fixtures::uniforms;
use crate::mx::{self, Array, Cut};

fn random(name: &str, shape: &[i32], low: f32, high: f32) -> Array {
    let n = shape.iter().product::<i32>() as usize;
    Array::from_slice(&uniforms(name).take(n).map(|u| low + u * (high - low)).collect::<Vec<_>>(), shape)
}

fn tokens(shape: ScanShape, r: i32, len: i32) -> Tokens {
    let ScanShape { n_heads, head_dim, n_groups, n_state } = shape;
    Tokens {
        x: random("x", &[r, len, n_heads * head_dim], -1.0, 1.0),
        b: random("b", &[r, len, n_groups * n_state], -1.0, 1.0),
        c: random("c", &[r, len, n_groups * n_state], -1.0, 1.0),
        dt: random("dt", &[r, len, n_heads], 0.0, 2.0),
    }
}

fn cut(tokens: &Tokens, start: i32, stop: i32) -> Tokens {
    let part = |array: &Array| mx::slice(array, &[Cut { axis: 1, start, stop }]).unwrap();
    Tokens { x: part(&tokens.x), b: part(&tokens.b), c: part(&tokens.c), dt: part(&tokens.dt) }
}

fn assert_near(actual: &Array, expected: &Array, what: &str) {
    assert_eq!(actual.shape(), expected.shape(), "{what}");
    let (actual, expected) = (mx::to_f32(actual).unwrap(), mx::to_f32(expected).unwrap());
    let off = actual.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(off < 2e-5, "{what}: off by {off}");
}

/// Token by token.
fn stepped(shape: ScanShape, tokens: &Tokens, a: &Array, state: &Array) -> (Array, Array) {
    let (mut state, mut outputs) = (state.clone(), Vec::new());
    for t in 0..tokens.dt.dim(1) {
        let (y, after) = shape.step(&cut(tokens, t, t + 1), a, &state).unwrap();
        outputs.push(y);
        state = after;
    }
    (mx::concatenate(&outputs.iter().collect::<Vec<_>>(), 1).unwrap(), state)
}

const SHAPES: [ScanShape; 3] = [
    ScanShape { n_heads: 4, head_dim: 3, n_groups: 2, n_state: 5 },
    ScanShape { n_heads: 3, head_dim: 8, n_groups: 1, n_state: 4 },
    ScanShape { n_heads: 2, head_dim: 2, n_groups: 2, n_state: 2 },
];

#[test]
fn chunks_of_any_length_are_steps_one_after_the_other() {
    for shape in SHAPES {
        let a = random("a", &[shape.n_heads], -4.0, -0.01);
        for (r, len, n_chunk) in [(1, 2, 4), (2, 7, 3), (1, 12, 4), (3, 33, 8), (1, 65, 64), (2, 200, 64)] {
            let tokens = tokens(shape, r, len);
            let state = random("state", &[r, shape.n_heads, shape.head_dim, shape.n_state], -1.0, 1.0);
            let (y, after) = shape.chunks(&tokens, &a, &state, n_chunk).unwrap();
            let (expected, expected_after) = stepped(shape, &tokens, &a, &state);
            let what = format!("{shape:?}, {r} rows of {len} in chunks of {n_chunk}");
            assert_near(&y, &expected, &what);
            assert_near(&after, &expected_after, &what);
        }
    }
}

#[test]
fn a_step_is_the_definition() {
    let shape = SHAPES[0];
    let ScanShape { n_heads, head_dim, n_groups, n_state } = shape;
    let a = random("a", &[n_heads], -4.0, -0.01);
    let tokens = tokens(shape, 2, 1);
    let state = random("state", &[2, n_heads, head_dim, n_state], -1.0, 1.0);
    let (y, after) = shape.advance(&tokens, &a, &state).unwrap();
    let [x, b, c, dt] = [&tokens.x, &tokens.b, &tokens.c, &tokens.dt].map(|array| mx::to_f32(array).unwrap());
    let (a, state) = (mx::to_f32(&a).unwrap(), mx::to_f32(&state).unwrap());
    let (mut expected, mut expected_after) = (Vec::new(), Vec::new());
    let [heads, dim, groups, n] = [n_heads, head_dim, n_groups, n_state].map(|n| n as usize);
    for head in 0..2 * heads {
        let (row, h) = (head / heads, head % heads);
        let bc = (row * groups + h / (heads / groups)) * n;
        for p in 0..dim {
            let new = |j: usize| {
                let old = state[(head * dim + p) * n + j];
                (dt[head] * a[h]).exp() * old + dt[head] * x[head * dim + p] * b[bc + j]
            };
            expected.push((0..n).map(|j| new(j) * c[bc + j]).sum::<f32>());
            expected_after.extend((0..n).map(new));
        }
    }
    assert_near(&y, &Array::from_slice(&expected, y.shape()), "outputs");
    assert_near(&after, &Array::from_slice(&expected_after, after.shape()), "state");
}

#[test]
fn a_token_that_forgets_everything_does_no_harm() {
    let shape = SHAPES[1];
    let a = random("a", &[shape.n_heads], -16.0, -1.0);
    let mut tokens = tokens(shape, 1, 40);
    // Far more than what a logarithm's difference could be told apart in.
    let bump: Vec<f32> = (0..40 * shape.n_heads).map(|i| if i / shape.n_heads == 11 { 1e3 } else { 0.01 }).collect();
    tokens.dt = Array::from_slice(&bump, &[1, 40, shape.n_heads]);
    let state = random("state", &[1, shape.n_heads, shape.head_dim, shape.n_state], -1.0, 1.0);
    let (y, after) = shape.chunks(&tokens, &a, &state, 16).unwrap();
    let (expected, expected_after) = stepped(shape, &tokens, &a, &state);
    let scale = mx::scalar(1e-3);
    let scaled = |array: &Array| mx::multiply(array, &scale).unwrap();
    assert_near(&scaled(&y), &scaled(&expected), "outputs");
    assert_near(&scaled(&after), &scaled(&expected_after), "state");
}
