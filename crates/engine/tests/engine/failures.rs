//! Backends that fail, run out of memory or panic.

use tokbar_engine::fake::{Call, Effect, FakeOptions, Fault};
use tokbar_engine::{Engine, EngineOptions, FinishReason, StartError, StepError, SubmitError};

use crate::{Bench, drain, fake, next_token, options, request};

fn failing(call: Call, nth: usize, effect: Effect) -> FakeOptions {
    FakeOptions { faults: vec![Fault { call, nth, effect }], ..fake() }
}

fn device_error() -> Effect {
    Effect::Fail(StepError::Device { detail: "command buffer lost".to_owned() })
}

fn is_failed_with(reason: &FinishReason, expected: &str) -> bool {
    matches!(reason, FinishReason::Failed(detail) if detail.contains(expected))
}

#[test]
fn a_failed_step_ends_its_sequences_and_no_others() {
    for (call, nth) in [(Call::Collect, 3), (Call::Submit, 3), (Call::Open, 0)] {
        let bench = Bench::start(failing(call, nth, device_error()), EngineOptions { n_rows_max: 1, ..options() });
        let (mut hit, spared) = (bench.submit(&request(1, 40)), bench.submit(&request(2, 40)));
        let (tokens, reason, _) = drain(&mut hit);
        assert!(tokens.len() < 5, "{call:?}: {tokens:?}");
        assert!(is_failed_with(&reason, "the device failed: command buffer lost"), "{call:?}: {reason:?}");
        bench.check_whole(&request(2, 40), spared);
        bench.check_whole(&request(3, 40), bench.submit(&request(3, 40)));
        bench.check_nothing_left();
    }
}

#[test]
fn a_panic_fails_everyone_and_later_submits_say_why() {
    for call in [Call::Collect, Call::Submit, Call::Open] {
        let bench = Bench::start(failing(call, 2, Effect::Panic("index out of bounds".to_owned())), options());
        bench.probe.hold();
        // Opening panics while others are still being submitted.
        let mut outputs: Vec<_> = (0..20).map_while(|n| bench.engine.submit(request(n, 1000)).ok()).collect();
        bench.probe.release();
        assert!(!outputs.is_empty());
        for outputs in &mut outputs {
            let (tokens, reason, usage) = drain(outputs);
            assert!(is_failed_with(&reason, "the engine stopped: index out of bounds"), "{call:?}: {reason:?}");
            assert_eq!(usage.n_output, tokens.len());
            assert!(usage.n_prompt >= 10);
            assert_eq!(outputs.blocking_next(), None);
        }
        bench.probe.wait_until(|seen| seen.is_dropped);
        match bench.engine.submit(request(1, 1)) {
            Err(SubmitError::Stopped { reason }) => assert!(reason.contains("index out of bounds"), "{reason}"),
            other => panic!("{call:?}: {:?}", other.map(|outputs| outputs.id())),
        }
        bench.engine.shutdown();
    }
}

#[test]
fn out_of_memory_makes_steps_smaller_and_loses_nothing() {
    let bench = Bench::start(FakeOptions { n_tokens_max: Some(300), ..fake() }, options());
    let requests: Vec<_> = (0..12).map(|n| request(n, 60)).collect();
    let outputs: Vec<_> = requests.iter().map(|request| bench.submit(request)).collect();
    for (request, outputs) in requests.iter().zip(outputs) {
        bench.check_whole(request, outputs);
    }
    assert!(bench.probe.seen().n_live_max <= 300);
    assert!(bench.engine.stats().n_preempted > 0);
    bench.check_nothing_left();
}

#[test]
fn out_of_memory_of_a_running_step_is_made_up_for() {
    let error = || Effect::Fail(StepError::OutOfMemory { detail: "heap".to_owned() });
    let faults = [2, 3, 9].map(|nth| Fault { call: Call::Collect, nth, effect: error() }).to_vec();
    let bench = Bench::start(FakeOptions { faults, ..fake() }, options());
    let requests: Vec<_> = (0..6).map(|n| request(n, 60)).collect();
    let outputs: Vec<_> = requests.iter().map(|request| bench.submit(request)).collect();
    for (request, outputs) in requests.iter().zip(outputs) {
        bench.check_whole(request, outputs);
    }
    bench.check_nothing_left();
}

#[test]
fn a_sequence_that_outgrows_memory_fails_alone() {
    let bench = Bench::start(FakeOptions { n_tokens_max: Some(200), ..fake() }, options());
    let mut hog = bench.submit(&request(1, 1000));
    let small = bench.submit(&request(2, 50));
    next_token(&mut hog);
    let (tokens, reason, _) = drain(&mut hog);
    assert!(is_failed_with(&reason, "out of memory"), "{reason:?}");
    assert!(tokens.len() > 100, "it goes as far as memory does: {}", tokens.len());
    bench.check_whole(&request(2, 50), small);
    bench.check_nothing_left();
}

#[test]
fn a_model_that_does_not_load_is_reported() {
    let load_error = Engine::start(|| Err("no such file".into()), options()).err().unwrap();
    assert!(matches!(&load_error, StartError::Load(_)), "{load_error:?}");
    assert_eq!(load_error.to_string(), "no such file");
    let panic = Engine::start(|| panic!("bad header"), options()).err().unwrap();
    assert_eq!(panic.to_string(), "loading the model panicked: bad header");
}
