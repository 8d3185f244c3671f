use std::time::Duration;

use super::{ExpertStats, Meter};
use crate::FinishReason;
use crate::plan::{Census, StepWork, Tally};

fn check(steps: &[(usize, usize, u64)], expected: (f64, f64)) {
    let mut meter = Meter::default();
    for &(n_prefill, n_decode, took_ms) in steps {
        meter.step(StepWork { n_prefill, n_decode }, Duration::from_millis(took_ms));
    }
    let stats = meter.snapshot(Census::default(), Tally::default(), (0, ExpertStats::default()));
    let close = |a: f64, b: f64| (a - b).abs() <= b * 1e-6;
    assert!(close(stats.prefill_tokens_per_s, expected.0), "{stats:?}");
    assert!(close(stats.decode_tokens_per_s, expected.1), "{stats:?}");
    assert_eq!(stats.n_prompt_tokens as usize, steps.iter().map(|s| s.0).sum::<usize>());
}

#[test]
fn throughputs_are_apart_and_ignore_steps_without_such_work() {
    check(&[], (0.0, 0.0));
    check(&[(1000, 0, 500)], (2000.0, 0.0));
    check(&[(1000, 0, 500), (0, 4, 20), (0, 4, 20)], (2000.0, 200.0));
    check(&[(0, 1, 0)], (0.0, 0.0));
}

#[test]
fn old_steps_fade() {
    let mut meter = Meter::default();
    meter.step(StepWork { n_prefill: 0, n_decode: 1000 }, Duration::from_secs(1));
    for _ in 0..100 {
        meter.step(StepWork { n_prefill: 0, n_decode: 10 }, Duration::from_secs(1));
    }
    let rate = meter.snapshot(Census::default(), Tally::default(), (0, ExpertStats::default())).decode_tokens_per_s;
    assert!((rate - 10.0).abs() < 0.1, "{rate}");
}

#[test]
fn ends_are_counted_by_reason() {
    let mut meter = Meter::default();
    meter.token();
    let reasons =
        [FinishReason::Stop, FinishReason::Length, FinishReason::Cancelled, FinishReason::Failed("x".to_owned())];
    reasons.iter().for_each(|reason| meter.finish(reason));
    let census = Census { n_running: 1, n_waiting: 2, n_kv_tokens: 3, ..Census::default() };
    let stats = meter.snapshot(census, Tally { n_preempted: 4, ..Tally::default() }, (5, ExpertStats::default()));
    assert_eq!((stats.n_output_tokens, stats.n_finished, stats.n_cancelled, stats.n_failed), (1, 2, 1, 1));
    assert_eq!((stats.n_running, stats.n_waiting, stats.n_kv_tokens), (1, 2, 3));
    assert_eq!((stats.n_preempted, stats.memory_bytes), (4, 5));
}
