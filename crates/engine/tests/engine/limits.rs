//! What is refused, and how it is said.

use tokbar_engine::fake::FakeOptions;
use tokbar_engine::{EngineOptions, ModelInfo, Request, SamplingOptions, StartError, SubmitError};

use crate::{Bench, drain, fake, options, request};

fn check_refused(request: Request, expected: &str) {
    let bench = Bench::start(fake(), EngineOptions { kv_budget_bytes: Some(4 * 1000), ..options() });
    let error = bench.engine.submit(request).err().unwrap();
    assert_eq!(error.to_string(), expected);
    assert_eq!(bench.probe.seen().n_opens, 0);
}

#[test]
fn requests_that_cannot_be_honoured_are_refused() {
    let base = || request(1, 10);
    check_refused(Request { prompt: vec![], ..base() }, "the prompt has no tokens");
    check_refused(
        Request { prompt: vec![1, 500], ..base() },
        "the prompt's token 500 does not exist; tokens run from 0 to 500, exclusive",
    );
    check_refused(
        Request { prompt: vec![1; 1000], ..base() },
        "the prompt's 1000 tokens and one of output take 4004 bytes of KV cache, more than the budget of 4000 bytes, \
         which holds 1000; shorten the prompt or raise the budget",
    );
    check_refused(
        Request { prompt: vec![1; 1_000_000], max_tokens: 0, ..base() },
        "the prompt's 1000000 tokens and one of output take 4000004 bytes of KV cache, more than the budget of 4000 \
         bytes, which holds 1000; shorten the prompt or raise the budget",
    );
    check_refused(
        Request { sampling: SamplingOptions { top_p: 2.0, ..SamplingOptions::default() }, ..base() },
        "top_p is 2, but must be between 0 and 1",
    );
}

#[test]
fn a_prompt_beyond_the_model_is_told_apart_from_one_beyond_the_budget() {
    let bench = Bench::start(fake(), options());
    let error = bench.engine.submit(Request { prompt: vec![1; 2000], ..request(1, 10) }).err().unwrap();
    let expected = "the prompt has 2000 tokens, but the context holds 2000 with the output; shorten the prompt";
    assert_eq!(error.to_string(), expected);
    bench.check_nothing_left();
}

#[test]
fn the_context_is_what_the_model_and_the_kv_budget_hold() {
    for (kv_budget_bytes, expected) in [(None, 2000), (Some(4 * 5000), 2000), (Some(4 * 123), 123)] {
        let bench = Bench::start(fake(), EngineOptions { kv_budget_bytes, ..options() });
        assert_eq!(bench.engine.info().n_context, expected);
        let fills = request(3, usize::MAX);
        let (tokens, _, _) = drain(&mut bench.submit(&fills));
        assert_eq!(fills.prompt.len() + tokens.len(), expected);
        bench.check_nothing_left();
    }
}

#[test]
fn without_a_budget_half_of_what_the_weights_leave_is_kv() {
    for (memory_bytes, expected) in [(0, 9000), (1000 + 2 * 4 * 3000, 3000), (1000, 2048), (1 << 40, 9000)] {
        let fake = FakeOptions { info: ModelInfo { memory_bytes, n_context: 9000, ..fake().info }, ..fake() };
        let bench = Bench::start(fake, options());
        assert_eq!(bench.engine.info().n_context, expected, "{memory_bytes} bytes");
        bench.check_nothing_left();
    }
}

#[test]
fn unusable_options_do_not_start() {
    let cases = [
        (EngineOptions { token_budget: 0, ..options() }, "token_budget is 0, but must be at least 1"),
        (EngineOptions { n_rows_max: 0, ..options() }, "n_rows_max is 0, but must be at least 1"),
        (EngineOptions { n_block: 0, ..options() }, "n_block is 0, but must be at least 1"),
        (EngineOptions { n_snapshot_gap: 0, ..options() }, "n_snapshot_gap is 0, but must be at least 1"),
        (
            EngineOptions { kv_budget_bytes: Some(7), ..options() },
            "the KV budget of 7 bytes holds 1 tokens of 4 bytes; raise it",
        ),
    ];
    for (options, expected) in cases {
        let error: StartError = Bench::try_start(fake(), options).err().unwrap();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_full_queue_refuses_and_takes_again_when_one_is_done() {
    let bench = Bench::start(fake(), EngineOptions { n_rows_max: 1, n_waiting_max: 2, ..options() });
    bench.probe.hold();
    let mut held: Vec<_> = (0..3).map(|n| bench.submit(&request(n, 30))).collect();
    for _ in 0..100 {
        let error = bench.engine.submit(request(9, 30)).err().unwrap();
        assert_eq!(error, SubmitError::QueueFull { n_live: 3 });
    }
    bench.probe.release();
    bench.check_whole(&request(0, 30), held.remove(0));
    bench.check_whole(&request(9, 30), bench.submit(&request(9, 30)));
    for (n, outputs) in held.into_iter().enumerate() {
        bench.check_whole(&request(n as u32 + 1, 30), outputs);
    }
    bench.check_nothing_left();
}
