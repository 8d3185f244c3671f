//! Receivers that lag or go away.

use tokbar_engine::{EngineOptions, Output, Request};

use crate::{Bench, fake, options, request};

#[test]
fn a_receiver_that_lags_pauses_its_own_sequence_only() {
    let bench = Bench::start(fake(), options());
    let lags = bench.submit(&request(1, 1000));
    for n in 2..6 {
        bench.check_whole(&request(n, 500), bench.submit(&request(n, 500)));
    }
    bench.probe.wait_until(|seen| seen.n_open == 1);
    let n_held = bench.probe.seen().n_tokens;
    assert!(n_held < request(1, 0).prompt.len() + 70, "{n_held} positions for a receiver that reads nothing");
    bench.check_whole(&request(1, 1000), lags);
    bench.check_nothing_left();
}

#[test]
fn progress_that_no_one_reads_does_not_hold_up_prefill() {
    let bench = Bench::start(fake(), EngineOptions { token_budget: 1, ..options() });
    let long = Request { prompt: vec![3; 200], ..request(1, 500) };
    let lags = bench.submit(&long);
    bench.probe.wait_until(|seen| seen.n_tokens >= 200);
    bench.check_whole(&long, lags);
    bench.check_nothing_left();
}

#[test]
fn a_receiver_that_lags_keeps_no_place_from_others() {
    let bench = Bench::start(fake(), EngineOptions { n_rows_max: 1, ..options() });
    let lags = bench.submit(&request(1, 1000));
    bench.check_whole(&request(2, 500), bench.submit(&request(2, 500)));
    bench.check_whole(&request(1, 1000), lags);
    assert!(bench.engine.stats().n_preempted > 0);
    bench.check_nothing_left();
}

#[test]
fn a_dropped_receiver_cancels_within_one_step() {
    let bench = Bench::start(fake(), options());
    bench.probe.hold();
    let outputs = bench.submit(&request(1, 1000));
    bench.probe.wait_until(|seen| seen.n_collects > seen.n_collected);
    drop(outputs);
    let n_submits = bench.probe.seen().n_submits;
    bench.probe.release();
    bench.probe.wait_until(|seen| seen.n_open == 0);
    assert_eq!(n_submits, 2, "one step is computed while the next is queued");
    assert_eq!(bench.probe.seen().n_submits, n_submits, "what was in flight is the last of it");
    bench.check_nothing_left();
}

#[test]
fn a_receiver_dropped_while_waiting_or_idle_is_noticed() {
    let bench = Bench::start(fake(), EngineOptions { n_rows_max: 1, ..options() });
    let (lags, waits) = (bench.submit(&request(1, 1000)), bench.submit(&request(2, 1000)));
    drop(waits);
    bench.probe.wait_until(|seen| seen.n_open == 1 && seen.n_tokens > 60);
    drop(lags);
    bench.check_nothing_left();
}

#[test]
fn prefill_of_long_prompts_is_reported_and_scores_come_before_tokens() {
    let bench = Bench::start(fake(), options());
    let prompt = (0..200).map(|n| n % 500).collect();
    let mut outputs = bench.submit(&Request { prompt, score_prompt: true, ..request(1, 2) });
    let mut kinds = Vec::new();
    while let Some(output) = outputs.blocking_next() {
        kinds.push(match output {
            Output::Prefill { n_computed, n_prompt, .. } => format!("{n_computed} of {n_prompt}"),
            Output::Prompt(scores) => format!("{} scores", scores.len()),
            Output::Token(_) => "token".to_owned(),
            Output::Finish { .. } => "finish".to_owned(),
        });
    }
    assert_eq!(kinds, ["64 of 200", "128 of 200", "192 of 200", "199 scores", "token", "token", "finish"]);
    bench.check_nothing_left();
}
