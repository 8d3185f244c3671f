//! Busy, failing and stopping servers.

use std::time::Duration;

use serde_json::{Value, json};
use tokbar_engine::fake::{Call as FakeCall, Effect, FakeOptions, Fault};
use tokbar_engine::{EngineOptions, StepError};
use tokbar_server::ServerOptions;

use crate::client::{Call, send_raw};
use crate::setup::{N_VOCAB, Setup, TestServer};

const PATH: &str = "/v1/completions";

/// Never done before it is cancelled, in a roomy context.
fn endless() -> Value {
    json!({ "prompt": "x", "max_tokens": 1_000_000, "ignore_eos": true, "stream": true })
}

fn failing_at(nth: usize) -> Setup {
    let effect = Effect::Fail(StepError::Device { detail: "the device burns".to_owned() });
    let mut fake = FakeOptions { faults: vec![Fault { call: FakeCall::Collect, nth, effect }], ..Default::default() };
    fake.info.n_vocab = N_VOCAB;
    Setup { fake, ..Setup::default() }
}

#[test]
fn a_full_queue_says_when_to_come_back() {
    let engine = EngineOptions { n_rows_max: 1, n_waiting_max: 1, ..EngineOptions::default() };
    let server = TestServer::start(Setup { engine, ..Setup::roomy() });
    let running = [server.stream(PATH, &endless()), server.stream(PATH, &endless())];
    let reply = server.post(PATH, &json!({ "prompt": "y" }));
    assert_eq!(reply.status, 429, "{}", reply.body);
    assert_eq!(reply.header("retry-after"), Some("2"));
    assert_eq!(reply.json()["error"]["code"], "rate_limit_exceeded");
    assert_eq!(reply.json()["error"]["type"], "rate_limit_error");
    drop(running);
    server.wait_ended(2);
    assert_eq!(server.post(PATH, &json!({ "prompt": "y" })).status, 200);
}

#[test]
fn several_choices_run_all_or_none() {
    let engine = EngineOptions { n_rows_max: 1, n_waiting_max: 1, ..EngineOptions::default() };
    let server = TestServer::start(Setup { engine, ..Setup::default() });
    server.probe.hold();
    assert_eq!(server.post(PATH, &json!({ "prompt": "y", "n": 3 })).status, 429);
    server.probe.release();
    server.wait_ended(2);
    assert_eq!(server.post(PATH, &json!({ "prompt": "y", "n": 2 })).status, 200);
}

#[test]
fn a_failing_engine_is_an_error_event_or_a_500() {
    let server = TestServer::start(failing_at(3));
    let events = server.post(PATH, &json!({ "prompt": "abc", "ignore_eos": true, "stream": true })).events();
    let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
    assert_eq!(last["error"]["type"], "server_error", "{events:?}");
    assert!(last["error"]["message"].as_str().unwrap().contains("the device burns"), "{last}");
    server.wait_ended(1);
    assert_eq!(server.post(PATH, &json!({ "prompt": "abc" })).status, 200, "the next call works again");

    let server = TestServer::start(failing_at(0));
    let reply = server.post(PATH, &json!({ "prompt": "abc" }));
    assert_eq!(reply.status, 500, "{}", reply.body);
    assert_eq!(reply.json()["error"]["code"], "generation_failed");
}

#[test]
fn a_stopped_engine_is_a_503() {
    let server = TestServer::hashing();
    server.engine.shutdown();
    let reply = server.post(PATH, &json!({ "prompt": "abc" }));
    assert_eq!((reply.status, reply.json()["error"]["code"].clone()), (503, json!("model_stopped")));
}

#[test]
fn a_graceful_stop_lets_calls_finish() {
    let mut server = TestServer::replying("done");
    server.probe.hold();
    let stream = server.stream(PATH, &json!({ "prompt": "x", "stream": true }));
    server.ask_to_stop();
    server.probe.release();
    let chunks = stream.finish().chunks();
    let text: String = chunks.iter().map(|chunk| chunk["choices"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(text, "done");
    server.wait_stopped();
    server.wait_ended(1);
    assert!(std::net::TcpStream::connect(server.address).is_err(), "the port is free again");
}

#[test]
fn calls_beyond_the_grace_time_are_cancelled() {
    let options = ServerOptions { shutdown_grace: Duration::ZERO, ..Setup::default().server };
    let mut server = TestServer::start(Setup { server: options, ..Setup::roomy() });
    let mut stream = server.stream(PATH, &endless());
    assert!(stream.chunk().is_some());
    server.wait_stopped();
    server.wait_ended(1);
}

#[test]
fn one_connection_too_many_is_told_so() {
    let options = ServerOptions { n_connections_max: 1, ..Setup::default().server };
    let server = TestServer::start(Setup { server: options, ..Setup::roomy() });
    let mut stream = server.stream(PATH, &endless());
    assert!(stream.chunk().is_some());
    let reply = send_raw(server.address, b"", false).finish();
    assert_eq!((reply.status, reply.json()["error"]["code"].clone()), (503, json!("overloaded")));
}

#[test]
fn a_connection_serves_many_calls() {
    let server = TestServer::hashing();
    let call = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let last = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let reply = send_raw(server.address, format!("{call}{call}{last}").as_bytes(), false).rest();
    // The head of the first answer is read already.
    assert_eq!(reply.matches("\"status\":\"ok\"").count(), 3, "{reply}");
}

#[test]
fn a_reader_that_is_slow_holds_up_nobody() {
    let server = TestServer::start(Setup::roomy());
    let slow = server.stream(PATH, &endless());
    let quick = server.post(PATH, &json!({ "prompt": "y", "max_tokens": 500, "ignore_eos": true })).ok();
    assert_eq!(quick["usage"]["completion_tokens"], 500);
    drop(slow);
    server.wait_ended(2);
    assert_eq!(Call::get("/health").send(server.address).status, 200);
}
