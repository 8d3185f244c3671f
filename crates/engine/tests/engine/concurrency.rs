//! Many at once.

use std::thread;

use tokbar_engine::fake::expected_tokens;
use tokbar_engine::{EngineOptions, FinishReason, Request};

use crate::{Bench, drain, fake, next_token, options, request};

/// Of 64 requests every third goes away after some tokens; the others must be whole.
fn check_concurrent(options: EngineOptions) {
    let bench = Bench::start(fake(), options);
    let requests: Vec<Request> = (0..64).map(|n| request(n, 20 + n as usize * 7 % 150)).collect();
    thread::scope(|scope| {
        for (n, request) in requests.iter().enumerate() {
            let bench = &bench;
            scope.spawn(move || {
                let mut outputs = bench.submit(request);
                if n % 3 != 0 {
                    return bench.check_whole(request, outputs);
                }
                let tokens: Vec<_> = (0..n / 4).map(|_| next_token(&mut outputs)).collect();
                assert!(expected_tokens(&bench.fake, request).starts_with(&tokens), "request {n}");
            });
        }
    });
    bench.probe.wait_until(|seen| seen.n_open == 0);
    bench.engine.shutdown();
    let stats = bench.engine.stats();
    assert!(stats.n_finished >= 42, "{stats:?}");
    assert_eq!((stats.n_finished + stats.n_cancelled, stats.n_failed), (64, 0));
    bench.check_nothing_left();
}

#[test]
fn streams_with_random_cancels_equal_lone_runs() {
    check_concurrent(options());
    check_concurrent(EngineOptions { n_rows_max: 64, ..options() });
}

#[test]
fn streams_that_preempt_one_another_equal_lone_runs() {
    let options = EngineOptions { kv_budget_bytes: Some(4 * 2000), n_rows_max: 64, ..options() };
    check_concurrent(options);
}

#[test]
fn a_lone_request_is_a_batch_of_one() {
    let bench = Bench::start(fake(), options());
    let stops = Request { ignore_eos: false, ..request(1, 1900) };
    assert!(expected_tokens(&bench.fake, &stops).len() < 1900, "EOS comes before the limit");
    for request in [request(1, 1), request(2, 0), request(3, 500), stops] {
        bench.check_whole(&request, bench.submit(&request));
    }
    assert_eq!(bench.probe.seen().n_rows_max, 1);
    bench.check_nothing_left();
}

#[test]
fn outputs_can_be_awaited() {
    let bench = Bench::start(fake(), options());
    let request = request(5, 100);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let n_tokens = runtime.block_on(async {
        let mut outputs = bench.submit(&request);
        let mut n_tokens = 0;
        while let Some(output) = outputs.next().await {
            n_tokens += usize::from(matches!(output, tokbar_engine::Output::Token(_)));
        }
        n_tokens
    });
    assert_eq!(n_tokens, 100);
    bench.check_nothing_left();
}

#[test]
fn clones_share_one_engine_and_the_last_one_stops_it() {
    let bench = Bench::start(fake(), options());
    let clone = bench.engine.clone();
    let mut outputs = clone.submit(request(1, 1900)).unwrap();
    let probe = bench.probe.clone();
    drop(bench);
    next_token(&mut outputs);
    assert!(!probe.seen().is_dropped);
    drop(clone);
    assert!(probe.seen().is_dropped);
    assert_eq!(drain(&mut outputs).1, FinishReason::Cancelled);
}
