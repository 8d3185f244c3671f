use std::time::Duration;

use super::{N_CHUNK_MIN, StepCosts};
use crate::plan::StepWork;

/// After steps of (prefill, decode, ms), how much prefill fits 500 ms, of which four fifths are aimed at.
fn check(steps: &[(usize, usize, u64)], expected: usize) {
    let mut costs = StepCosts::default();
    for &(n_prefill, n_decode, took_ms) in steps {
        costs.observe(StepWork { n_prefill, n_decode }, Duration::from_millis(took_ms));
    }
    assert_eq!(costs.n_prefill_within(Duration::from_millis(500)), expected, "{costs:?}");
}

#[test]
fn prefill_fills_what_decode_leaves_of_the_target() {
    check(&[], usize::MAX);
    check(&[(0, 4, 100)], usize::MAX);
    check(&[(512, 0, 1024)], 200);
    check(&[(0, 4, 100), (512, 0, 1024)], 150);
    check(&[(0, 4, 100), (400, 4, 900)], 150);
}

#[test]
fn however_slow_it_is_prefill_goes_on() {
    check(&[(512, 0, 60_000)], N_CHUNK_MIN);
    check(&[(0, 4, 900), (512, 0, 512)], N_CHUNK_MIN);
}

#[test]
fn chunks_of_a_few_positions_teach_nothing() {
    check(&[(512, 0, 1024), (1, 8, 300), (7, 0, 300)], 200);
}

/// A device whose steps take 40 ms and 1 ms a position: the chunk settles where a step takes what is aimed at.
#[test]
fn the_chunk_settles_where_a_step_takes_what_is_aimed_at() {
    let mut costs = StepCosts::default();
    let mut n_prefill = 512;
    for _ in 0..40 {
        costs.observe(StepWork { n_prefill: 0, n_decode: 2 }, Duration::from_millis(40));
        costs.observe(StepWork { n_prefill, n_decode: 2 }, Duration::from_millis(40 + n_prefill as u64));
        n_prefill = costs.n_prefill_within(Duration::from_millis(500));
    }
    assert!((355..=360).contains(&n_prefill), "{n_prefill}");
}
