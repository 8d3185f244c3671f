use serde::Deserialize;
use serde_json::Value;

use super::{Rope, RopeConfig};
use crate::cache::{Layout, SequenceCache};
use crate::fixtures::{Numbers, Tensor, golden_dir};
use crate::mx::{self, Array};
use crate::pass::{Pass, PassRow};
use crate::weights::Kernels;

#[derive(Deserialize)]
struct Golden {
    input: Tensor,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    config: Value,
    offset: usize,
    output: Numbers,
}

/// Largest error over two equal rows, which share tables; together they are more tokens than small products serve.
fn error(case: &Case, input: &Array, kernels: Kernels, n_rows: usize) -> f32 {
    let head_dim = case.config["head_dim"].as_u64().unwrap() as usize;
    let n_context = case.config["max_position_embeddings"].as_u64().unwrap() as usize;
    let config = RopeConfig { n_context, ..RopeConfig::deserialize(&case.config).unwrap() };
    let rope = Rope::new(&config, head_dim, kernels, 1.0).unwrap();
    let (h, l) = (input.dim(1), input.dim(2));
    let heads = mx::transpose_axes(&mx::reshape(input, &[h, l, head_dim as i32]).unwrap(), &[1, 0, 2]).unwrap();
    let heads = mx::concatenate(&vec![&heads; n_rows], 0).unwrap();
    let layout = Layout::new(&[], None);
    let mut caches: Vec<_> = (0..n_rows).map(|_| SequenceCache::new(&layout)).collect();
    let len = l as usize;
    let rows = caches.iter_mut().enumerate().map(|(row_idx, cache)| PassRow {
        start: row_idx * len,
        len,
        offset: case.offset,
        n_total: case.offset + len,
        n_sure: usize::MAX,
        cache,
    });
    let out = rope.forward(&heads, &mut Pass::new(rows.collect())).unwrap();
    let out = mx::to_f32(&mx::transpose_axes(&out, &[1, 0, 2]).unwrap()).unwrap();
    let expected = case.output.values();
    let n_head = len * head_dim;
    let errors = expected.chunks(n_head).zip(out.chunks(n_head * n_rows)).flat_map(|(expected, out)| {
        out.chunks(n_head).flat_map(|row| row.iter().zip(expected).map(|(a, b)| (a - b).abs())).collect::<Vec<_>>()
    });
    errors.fold(0.0, f32::max)
}

#[test]
fn rotations_equal_the_references() {
    let text = std::fs::read(golden_dir().join("rope.json")).unwrap();
    let golden: Golden = serde_json::from_slice(&text).unwrap();
    let input = golden.input.dense();
    assert!(golden.cases.len() >= 10);
    for case in &golden.cases {
        for (kernels, n_rows) in [(Kernels::Plain, 1), (Kernels::Plain, 2), (Kernels::Fused, 1), (Kernels::Fused, 2)] {
            let error = error(case, &input, kernels, n_rows);
            assert!(error < 2e-5, "{} at {}, {kernels:?} x {n_rows}: off by {error}", case.config, case.offset);
        }
    }
}

#[test]
fn rotations_that_cannot_be_are_refused_by_name() {
    let check = |config: Value, expected: &str| {
        let config = RopeConfig { n_context: 256, ..RopeConfig::deserialize(&config).unwrap() };
        let error = Rope::new(&config, 16, Kernels::Plain, 1.0).unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    let with = |scaling: Value| serde_json::json!({ "rope_scaling": scaling });
    check(with(serde_json::json!({"rope_type": "spiral"})), "\"spiral\" is not supported");
    check(with(serde_json::json!({"rope_type": 7})), "rope type 7");
    check(with(serde_json::json!({"type": "linear"})), "needs a factor");
    check(with(serde_json::json!({"type": "linear", "factor": 0})), "factor is 0");
    check(with(serde_json::json!({"type": "yarn", "factor": "4"})), "factor is \"4\"");
    check(with(serde_json::json!({"type": "longrope"})), "original_max_position_embeddings");
    let short = serde_json::json!({"type": "longrope", "original_max_position_embeddings": 8, "short_factor": [1.0]});
    check(with(short), "short_factor has 1 positive numbers, but 8 pairs rotate");
    check(serde_json::json!({"rope_theta": 0.0}), "rope_theta 0");
    check(serde_json::json!({"partial_rotary_factor": 7.0}), "of 16 rotated elements");
    check(serde_json::json!({"partial_rotary_factor": 0.2}), "3 of 16 rotated elements");
}
