//! The engine on its real thread, with a backend whose every wrong row shows in the output.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use tokbar_engine::fake::{FakeBackend, FakeOptions, Probe, expected_tokens};
use tokbar_engine::{Engine, EngineOptions, FinishReason, Output, Outputs, Request, SamplingOptions};

fn start(fake: FakeOptions, options: EngineOptions) -> (Engine, Arc<Probe>) {
    let backend = FakeBackend::new(fake);
    let probe = backend.probe();
    let backend = std::sync::Mutex::new(Some(backend));
    let engine = Engine::start(move || Ok(Box::new(backend.into_inner().unwrap().unwrap())), options).unwrap();
    (engine, probe)
}

fn request(prompt: &[u32], max_tokens: usize) -> Request {
    Request {
        prompt: prompt.to_vec(),
        sampling: SamplingOptions::default(),
        max_tokens,
        stop_tokens: Vec::new(),
        ignore_eos: false,
        score_prompt: false,
    }
}

fn drain(outputs: &mut Outputs) -> (Vec<u32>, FinishReason) {
    let mut tokens = Vec::new();
    while let Some(output) = outputs.blocking_next() {
        match output {
            Output::Token(score) => tokens.push(score.token),
            Output::Finish { reason, .. } => return (tokens, reason),
            _ => {}
        }
    }
    panic!("no finish");
}

#[test]
fn a_lone_request_yields_its_tokens_and_leaves_nothing() {
    let fake = FakeOptions::default();
    let (engine, probe) = start(fake.clone(), EngineOptions::default());
    let request = request(&[1, 2, 3], 100);
    let (tokens, reason) = drain(&mut engine.submit(request.clone()).unwrap());
    assert_eq!(tokens, expected_tokens(&fake, &request));
    assert_eq!(reason, FinishReason::Length);
    engine.shutdown();
    assert_eq!((probe.seen().n_open, probe.seen().n_tokens, probe.seen().is_dropped), (0, 0, true));
}
