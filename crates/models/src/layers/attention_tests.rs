//! Attention over shared pieces and packed KV, by both kinds of operations, against sums over what is stored.

use std::rc::Rc;

use super::{AttentionShape, Heads, Sdpa};
use crate::cache::{KvQuantization, Layout, SequenceCache, Stored};
use crate::fixtures::uniforms;
use crate::mx::{self, Array, Dtype};
use crate::pass::{Pass, PassRow, Reach};
use crate::weights::Kernels;

const SHAPE: AttentionShape =
    AttentionShape { n_heads: 4, n_kv_heads: 2, head_dim: 64, scale: 0.125, reach: Reach::All, cap: None };

fn random(name: &str, shape: &[i32]) -> Vec<f32> {
    uniforms(name).take(shape.iter().product::<i32>() as usize).map(|u| u * 2.0 - 1.0).collect()
}

/// Sequences whose caches a step extends.
struct Rows {
    caches: Vec<SequenceCache>,
    lens: Vec<usize>,
    /// One a query head.
    sinks: Option<[f32; 4]>,
}

impl Rows {
    fn forward(&mut self, heads: &[f32], kernels: Kernels) -> Vec<f32> {
        let n_tokens = self.lens.iter().sum::<usize>() as i32;
        let all = Array::from_slice(heads, &[n_tokens, 8, 64]);
        let mut split = SHAPE.split(&mx::reshape(&all, &[n_tokens, 8 * 64]).unwrap()).unwrap();
        if kernels == Kernels::Plain {
            // As the rotation does it: queries carry the scale.
            let part = |start, stop| mx::slice(&split.qk, &[mx::Cut { axis: 1, start, stop }]).unwrap();
            let queries = mx::multiply(&part(0, 4), &mx::scalar(SHAPE.scale)).unwrap();
            let qk = mx::concatenate(&[&queries, &part(4, 6)], 1).unwrap();
            split = Heads { qk, values: split.values };
        }
        let mut start = 0;
        let rows = self.caches.iter_mut().zip(&self.lens).map(|(cache, &len)| {
            let offset = cache.n_positions();
            start += len;
            PassRow { start: start - len, len, offset, n_total: offset + len, n_sure: usize::MAX, cache }
        });
        let rows = rows.collect();
        let sdpa = Sdpa::new(SHAPE, 0, kernels);
        let sdpa = match self.sinks {
            Some(sinks) => sdpa.with_sinks(Array::from_slice(&sinks, &[4])),
            None => sdpa,
        };
        mx::to_f32(&sdpa.forward(&split, &mut Pass::new(rows)).unwrap()).unwrap()
    }

    /// The last positions' attention, from what the caches hold.
    fn expected(&self, heads: &[f32]) -> Vec<f32> {
        let mut out = Vec::new();
        let mut token = 0;
        for (cache, &len) in self.caches.iter().zip(&self.lens) {
            let (mut keys, mut values) = (Vec::new(), Vec::new());
            for stretch in cache.stretches(0).unwrap() {
                keys.push(dense(&stretch.keys));
                values.push(dense(&stretch.values));
            }
            let join =
                |parts: &[Array]| mx::to_f32(&mx::concatenate(&parts.iter().collect::<Vec<_>>(), 1).unwrap()).unwrap();
            let (keys, values, n) = (join(&keys), join(&values), cache.n_positions());
            for at in n - len..n {
                for head in 0..4 {
                    let query = &heads[(token * 8 + head) * 64..][..64];
                    let at_key = |k: usize| ((head / 2) * n + k) * 64;
                    let dot = |k: usize| keys[at_key(k)..][..64].iter().zip(query).map(|(a, b)| a * b).sum::<f32>();
                    let weights: Vec<f32> = (0..=at).map(|k| (dot(k) * SHAPE.scale).exp()).collect();
                    let sink = self.sinks.map_or(0.0, |sinks| sinks[head].exp());
                    let total = weights.iter().sum::<f32>() + sink;
                    let weigh = |d: usize| (0..=at).map(|k| weights[k] * values[at_key(k) + d]).sum::<f32>() / total;
                    out.extend((0..64).map(weigh));
                }
                token += 1;
            }
        }
        out
    }
}

fn dense(stored: &Stored) -> Array {
    match stored {
        Stored::Dense(array) => array.clone(),
        Stored::Packed(packed) => mx::dequantize(packed, Dtype::Float32).unwrap(),
    }
}

fn check(quantization: Option<KvQuantization>, kernels: Kernels, sinks: Option<[f32; 4]>) {
    let layout = Layout::new(&[crate::cache::CacheKind::Full], quantization);
    let mut trunk = Rows { caches: vec![SequenceCache::new(&layout)], lens: vec![40], sinks };
    let mut worst = 0.0_f32;
    let mut step = |rows: &mut Rows, name: &str| {
        let n_tokens = rows.lens.iter().sum::<usize>() as i32;
        let heads = random(name, &[n_tokens, 8, 64]);
        let actual = rows.forward(&heads, kernels);
        let expected = rows.expected(&heads);
        assert_eq!(actual.len(), expected.len());
        worst = actual.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(worst, f32::max);
    };
    step(&mut trunk, "trunk");
    let branch = |n: usize| SequenceCache::on(&layout, trunk.caches[0].pieces(&(0..n)));
    let mut rows = Rows { caches: vec![branch(40), branch(17), SequenceCache::new(&layout)], lens: vec![], sinks };
    for (i, lens) in [[1, 1, 1], [5, 1, 160], [1, 3, 1], [1, 1, 1]].into_iter().enumerate() {
        rows.lens = lens.to_vec();
        step(&mut rows, &format!("branches {i}"));
    }
    // One that reads a branch's own tail behind the trunk's.
    let n = rows.caches[1].n_positions();
    let pieces = rows.caches[1].pieces(&(0..n - 1));
    let mut twig = Rows { caches: vec![SequenceCache::on(&layout, pieces)], lens: vec![1], sinks };
    step(&mut twig, "twig");
    assert!(twig.caches[0].stretches(0).unwrap().len() > 2);
    assert!(worst < 2e-5, "{quantization:?} {kernels:?}: off by {worst}");
    assert!(Rc::strong_count(&layout) > 4);
}

#[test]
fn attention_is_exact_over_pieces_and_packings() {
    let packed = |bits, min_length| Some(KvQuantization { bits, min_length });
    for quantization in [None, packed(8, 0), packed(4, 0), packed(8, 20), packed(4, 42)] {
        for sinks in [None, Some([-1.0, 0.5, 2.0, 6.0])] {
            check(quantization, Kernels::Plain, sinks);
            check(quantization, Kernels::Fused, sinks);
        }
    }
}

#[test]
fn attention_is_exact_far_behind_a_long_prefix() {
    for quantization in [None, Some(KvQuantization { bits: 8, min_length: 1040 })] {
        for sinks in [None, Some([-1.0, 0.5, 2.0, 6.0])] {
            let layout = Layout::new(&[crate::cache::CacheKind::Full], quantization);
            let mut trunk = Rows { caches: vec![SequenceCache::new(&layout)], lens: vec![1100], sinks };
            trunk.forward(&random("long trunk", &[1100, 8, 64]), Kernels::Plain);
            let branch = SequenceCache::on(&layout, trunk.caches[0].pieces(&(0..1090)));
            let mut rows = Rows { caches: vec![branch], lens: vec![], sinks };
            for len in [64, 70] {
                rows.lens = vec![len];
                let heads = random(&format!("{len} more"), &[len as i32, 8, 64]);
                let actual = rows.forward(&heads, Kernels::Plain);
                let expected = rows.expected(&heads);
                let worst = actual.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0_f32, f32::max);
                assert!(worst < 2e-5, "{quantization:?}, {len} more: off by {worst}");
            }
        }
    }
}
