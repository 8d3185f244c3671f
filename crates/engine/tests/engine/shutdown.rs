//! Stopping at any time.

use std::thread;

use tokbar_engine::{EngineOptions, FinishReason, SubmitError};

use crate::{Bench, drain, fake, next_token, options, request};

#[test]
fn shutdown_during_work_cancels_all_and_leaves_nothing() {
    let bench = Bench::start(fake(), EngineOptions { n_rows_max: 4, ..options() });
    let mut outputs: Vec<_> = (0..30).map(|n| bench.submit(&request(n, 1000))).collect();
    next_token(&mut outputs[0]);
    bench.engine.shutdown();
    let seen = bench.probe.seen();
    assert_eq!((seen.n_open, seen.n_tokens, seen.is_dropped), (0, 0, true));
    for outputs in &mut outputs {
        let (tokens, reason, usage) = drain(outputs);
        assert_eq!(reason, FinishReason::Cancelled);
        assert_eq!(usage.n_output, tokens.len() + usize::from(outputs.id().0 == 0));
    }
    let error = bench.engine.submit(request(1, 1)).err().unwrap();
    assert_eq!(error, SubmitError::Stopped { reason: "it was shut down".to_owned() });
    bench.engine.shutdown();
    bench.check_nothing_left();
}

#[test]
fn shutdown_while_others_submit_leaves_no_one_waiting() {
    for _ in 0..20 {
        let bench = Bench::start(fake(), options());
        thread::scope(|scope| {
            for n in 0..8 {
                let bench = &bench;
                scope.spawn(move || {
                    loop {
                        match bench.engine.submit(request(n, 30)) {
                            Ok(mut outputs) => drop(drain(&mut outputs)),
                            Err(SubmitError::Stopped { .. }) => return,
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
            bench.probe.wait_until(|seen| seen.n_opens > 20);
            bench.engine.shutdown();
        });
        bench.check_nothing_left();
    }
}

#[test]
fn shutdown_of_an_idle_engine_returns_and_twice_is_once() {
    let bench = Bench::start(fake(), options());
    bench.check_whole(&request(1, 5), bench.submit(&request(1, 5)));
    thread::scope(|scope| {
        scope.spawn(|| bench.engine.shutdown());
        scope.spawn(|| bench.engine.shutdown());
    });
    bench.check_nothing_left();
}
