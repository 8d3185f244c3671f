use super::ShortConv;
use crate::fixtures::uniforms;
use crate::mx::{self, Array, Cut};
use crate::weights::Kernels;

const SHAPE: [i32; 2] = [6, 4];

fn array(name: &str, shape: &[i32]) -> Array {
    let values: Vec<f32> = uniforms(name).take(shape.iter().product::<i32>() as usize).map(|u| u - 0.5).collect();
    Array::from_slice(&values, shape)
}

/// `y[t] = sum over j of w[j] x[t - 3 + j]`.
fn expected(x: &[f32], taps: &[f32], len: usize) -> Vec<f32> {
    let [n_channels, n_taps] = SHAPE.map(|n| n as usize);
    let mut y = Vec::new();
    for t in 0..len {
        for channel in 0..n_channels {
            let term = |j: usize| match (t + j).checked_sub(n_taps - 1) {
                Some(at) => taps[channel * n_taps + j] * x[at * n_channels + channel],
                None => 0.0,
            };
            y.push((0..n_taps).map(term).sum());
        }
    }
    y
}

#[test]
fn both_ways_and_every_cut_give_the_sum_over_the_last_inputs() {
    let weight = array("filter", &[SHAPE[0] * SHAPE[1]]);
    let x = array("input", &[1, 11, SHAPE[0]]);
    let expected = expected(&mx::to_f32(&x).unwrap(), &mx::to_f32(&weight).unwrap(), 11);
    for kernels in [Kernels::Fused, Kernels::Plain] {
        let conv = ShortConv::new(&weight, SHAPE, kernels).unwrap();
        for cuts in [vec![11], vec![1; 11], vec![4, 1, 1, 5], vec![1, 10], vec![2, 2, 7]] {
            let (mut state, mut start, mut outputs) = (conv.start(&x).unwrap(), 0, Vec::new());
            for len in cuts {
                let part = mx::slice(&x, &[Cut { axis: 1, start, stop: start + len }]).unwrap();
                let (y, after) = conv.forward(&part, &state).unwrap();
                assert_eq!((y.shape(), after.shape()), (&[1, len, 6][..], &[1, 3, 6][..]));
                outputs.extend(mx::to_f32(&y).unwrap());
                (state, start) = (after, start + len);
            }
            let off = outputs.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(off < 1e-6 && outputs.len() == expected.len(), "{kernels:?}: {off}");
        }
    }
}
