use super::{GatedDelta, HeadShape, Tokens};
use crate::fixtures::uniforms;
use crate::mx::{self, Array, Cut};

const SHAPE: HeadShape = HeadShape { n_k_heads: 2, n_v_heads: 4, k_dim: 8, v_dim: 6 };

/// How quickly states decay, and how much alike keys are.
#[derive(Clone, Copy, Debug)]
struct Case {
    shape: HeadShape,
    len: i32,
    n_rows: i32,
    /// Logarithms of decay are between 0 and this.
    fastest: f32,
    by_element: bool,
    has_beta: bool,
    /// All keys are one and `beta` is 1.
    is_stubborn: bool,
}

impl Case {
    fn of(len: i32) -> Self {
        let (fastest, n_rows) = (-0.3, 2);
        Self { shape: SHAPE, len, n_rows, fastest, by_element: false, has_beta: true, is_stubborn: false }
    }

    fn tokens(&self) -> Tokens {
        let HeadShape { n_k_heads, n_v_heads, k_dim, v_dim } = self.shape;
        let array = |name: &str, last: &[i32], map: &dyn Fn(f32) -> f32| {
            let shape = [&[self.n_rows, self.len], last].concat();
            let n = shape.iter().product::<i32>() as usize;
            let values: Vec<f32> = uniforms(&format!("{name} {}", self.len)).take(n).map(map).collect();
            Array::from_slice(&values, &shape)
        };
        let keys = array("keys", &[n_k_heads, k_dim], &|u| if self.is_stubborn { 1.0 } else { u - 0.5 });
        let norm = mx::rsqrt(&mx::sum(&mx::square(&keys).unwrap(), -1).unwrap()).unwrap();
        let n_decay = if self.by_element { k_dim } else { 1 };
        // A few tokens let everything decay, whatever the case.
        let decay = |u: f32| if u > 0.99 { -200.0 } else { u * self.fastest };
        Tokens {
            queries: array("queries", &[n_k_heads, k_dim], &|u| u - 0.5),
            keys: mx::multiply(&keys, &norm).unwrap(),
            values: array("values", &[n_v_heads, v_dim], &|u| u - 0.5),
            log_decay: array("decay", &[n_v_heads, n_decay], &decay),
            beta: self.has_beta.then(|| array("beta", &[n_v_heads], &|u| if self.is_stubborn { 1.0 } else { u })),
        }
    }

    fn state(&self) -> Array {
        let HeadShape { n_v_heads, k_dim, v_dim, .. } = self.shape;
        let shape = [self.n_rows, n_v_heads, k_dim, v_dim];
        let n = shape.iter().product::<i32>() as usize;
        Array::from_slice(&uniforms("state").take(n).map(|u| u - 0.5).collect::<Vec<_>>(), &shape)
    }
}

/// Token by token in f64, as the module's text says.
fn plain(case: &Case, tokens: &Tokens, state: &Array) -> (Vec<f64>, Vec<f64>) {
    let read = |array: &Array| mx::to_f32(array).unwrap().into_iter().map(f64::from).collect::<Vec<_>>();
    let (q, k, v) = (read(&tokens.queries), read(&tokens.keys), read(&tokens.values));
    let (g, beta) = (read(&tokens.log_decay), tokens.beta.as_ref().map(read));
    let [h, hv, dk, dv] =
        [case.shape.n_k_heads, case.shape.n_v_heads, case.shape.k_dim, case.shape.v_dim].map(|n| n as usize);
    let n_decay = tokens.log_decay.dim(-1) as usize;
    let mut state = read(state);
    let mut outputs = Vec::new();
    for (row, len) in (0..case.n_rows as usize).map(|row| (row, case.len as usize)) {
        for t in row * len..(row + 1) * len {
            for head in 0..hv {
                let s = &mut state[(row * hv + head) * dk * dv..][..dk * dv];
                let at = (t * h + head * h / hv) * dk;
                let (q, k, v) = (&q[at..at + dk], &k[at..at + dk], &v[(t * hv + head) * dv..][..dv]);
                for (i, row) in s.chunks_mut(dv).enumerate() {
                    let g = g[(t * hv + head) * n_decay + i % n_decay];
                    row.iter_mut().for_each(|element| *element *= g.exp());
                }
                for j in 0..dv {
                    let held: f64 = (0..dk).map(|i| k[i] * s[i * dv + j]).sum();
                    let written = beta.as_ref().map_or(v[j], |beta| beta[t * hv + head] * (v[j] - held));
                    (0..dk).for_each(|i| s[i * dv + j] += k[i] * written);
                }
                outputs.extend((0..dv).map(|j| (0..dk).map(|i| q[i] * s[i * dv + j]).sum::<f64>()));
            }
        }
    }
    (outputs, state)
}

fn assert_close(actual: &Array, expected: &[f64], what: &str) {
    let actual = mx::to_f32(actual).unwrap();
    assert_eq!(actual.len(), expected.len(), "{what}");
    let off = actual.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs());
    let off = off.fold(0.0, |a: f64, b| if b.is_nan() { b } else { a.max(b) });
    let largest = expected.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
    assert!(off < 2e-5 * largest, "{what}: off by {off}, of up to {largest}");
}

/// Computes the tokens in parts of the given lengths.
fn in_parts(case: &Case, tokens: &Tokens, lengths: &[i32]) -> (Array, Array) {
    let rule = GatedDelta::new(case.shape);
    let (mut state, mut outputs, mut start) = (case.state(), Vec::new(), 0);
    for len in lengths {
        let cut = |array: &Array| mx::slice(array, &[Cut { axis: 1, start, stop: start + len }]).unwrap();
        let part = Tokens {
            queries: cut(&tokens.queries),
            keys: cut(&tokens.keys),
            values: cut(&tokens.values),
            log_decay: cut(&tokens.log_decay),
            beta: tokens.beta.as_ref().map(cut),
        };
        let (output, after) = rule.advance(&part, &state).unwrap();
        outputs.push(output);
        (state, start) = (after, start + len);
    }
    (mx::concatenate(&outputs.iter().collect::<Vec<_>>(), 1).unwrap(), state)
}

fn check(case: Case) {
    let tokens = case.tokens();
    let (outputs, state) = plain(&case, &tokens, &case.state());
    let len = case.len;
    let (mut ragged, mut n_left) = (Vec::new(), len);
    for n in [1, 7, 2, 30, 1, 70].into_iter().cycle() {
        if n_left == 0 {
            break;
        }
        ragged.push(n.min(n_left));
        n_left -= n.min(n_left);
    }
    for lengths in [vec![len], vec![1; len as usize], ragged] {
        let (actual, after) = in_parts(&case, &tokens, &lengths);
        assert_close(&actual, &outputs, &format!("outputs of {case:?} in {lengths:?}"));
        assert_close(&after, &state, &format!("state of {case:?} in {lengths:?}"));
    }
}

#[test]
fn chunks_and_steps_give_what_a_plain_loop_gives() {
    for len in [1, 2, 3, 5, 8, 16, 17, 33, 63, 64, 65, 127, 128, 200] {
        check(Case::of(len));
        check(Case { has_beta: false, ..Case::of(len) });
        check(Case { by_element: true, ..Case::of(len) });
    }
}

#[test]
fn decay_of_any_speed_leaves_the_numbers_finite() {
    for fastest in [0.0, -1e-4, -5.0, -80.0, -3000.0] {
        for by_element in [false, true] {
            check(Case { fastest, by_element, ..Case::of(130) });
            check(Case { fastest, by_element, has_beta: false, ..Case::of(70) });
        }
    }
}

#[test]
fn keys_that_are_all_alike_lose_no_digits() {
    // Powers of the triangle to be inverted reach 1e18 here.
    for by_element in [false, true] {
        check(Case { fastest: 0.0, is_stubborn: true, by_element, ..Case::of(128) });
    }
}

#[test]
fn long_inputs_are_cut_where_arrays_would_grow_too_large() {
    // 64 heads of 128 elements: 2 ^ 26 elements are 512 tokens.
    let shape = HeadShape { n_k_heads: 64, n_v_heads: 64, k_dim: 128, v_dim: 1 };
    let case = Case { shape, n_rows: 1, by_element: true, ..Case::of(520) };
    let tokens = case.tokens();
    let whole = in_parts(&case, &tokens, &[520]);
    let parts = in_parts(&case, &tokens, &[512, 8]);
    let off = mx::to_f32(&mx::subtract(&whole.1, &parts.1).unwrap()).unwrap();
    assert!(off.iter().all(|off| off.abs() < 1e-6));
    assert_eq!(whole.0.shape(), parts.0.shape());
}
