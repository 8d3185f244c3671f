//! Many clients at once, some of which go away.

use std::thread;

use serde_json::{Value, json};
use tokbar_engine::fake::expected_tokens;
use tokbar_engine::{EngineOptions, Request, SamplingOptions};

use crate::client::leave_after;
use crate::setup::{Setup, TestServer};

const N_CLIENTS: usize = 64;

/// What a client does with its stream.
enum Fate {
    /// Reads it all.
    Stay,
    /// Goes away after so many chunks.
    Leave(usize),
}

/// Spreads fates without a clock or a random source.
fn fate(client_idx: usize) -> Fate {
    let mixed = client_idx.wrapping_mul(0x9e37_79b9) >> 3;
    if mixed.is_multiple_of(3) { Fate::Leave(mixed % 11) } else { Fate::Stay }
}

fn prompt(client_idx: usize) -> String {
    format!("client {client_idx} ").repeat(1 + client_idx % 40)
}

/// Those who leave ask for more than all buffers between here and there hold, so they cannot be too late.
fn body(client_idx: usize) -> Value {
    let leaves = matches!(fate(client_idx), Fate::Leave(_));
    json!({
        "prompt": prompt(client_idx), "temperature": 1, "seed": client_idx, "stream": true,
        "max_tokens": if leaves { 1_000_000 } else { 40 + client_idx },
        "ignore_eos": leaves || client_idx.is_multiple_of(2),
    })
}

fn alone(server: &TestServer, client_idx: usize) -> String {
    let request = Request {
        prompt: server.tokens(&prompt(client_idx)),
        sampling: SamplingOptions { temperature: 1.0, seed: client_idx as u64, ..SamplingOptions::default() },
        max_tokens: 40 + client_idx,
        stop_tokens: Vec::new(),
        ignore_eos: client_idx.is_multiple_of(2),
        score_prompt: false,
        ..Request::default()
    };
    let tokens = expected_tokens(&server.fake, &request);
    server.text.tokenizer.decode(&tokens)
}

fn run(server: &TestServer, client_idx: usize) {
    let mut stream = server.stream("/v1/completions", &body(client_idx));
    assert_eq!(stream.status, 200);
    match fate(client_idx) {
        Fate::Leave(n_chunks) => {
            for _ in 0..n_chunks {
                stream.chunk();
            }
        }
        Fate::Stay => {
            let chunks = stream.finish().chunks();
            let text: String = chunks.iter().map(|chunk| chunk["choices"][0]["text"].as_str().unwrap()).collect();
            assert_eq!(text, alone(server, client_idx), "client {client_idx}");
        }
    }
}

#[test]
fn concurrent_streams_equal_lone_runs_and_leave_nothing() {
    let engine = EngineOptions { token_budget: 64, n_rows_max: 16, ..EngineOptions::default() };
    let server = TestServer::start(Setup { engine, ..Setup::roomy() });
    thread::scope(|scope| {
        for client_idx in 0..N_CLIENTS {
            let server = &server;
            scope.spawn(move || run(server, client_idx));
        }
    });
    server.wait_ended(N_CLIENTS as u64);
    let (seen, stats) = (server.probe.seen(), server.engine.stats());
    assert!(seen.n_rows_max > 1, "calls must have shared steps: {seen:?}");
    let n_left = (0..N_CLIENTS).filter(|client_idx| matches!(fate(*client_idx), Fate::Leave(_))).count() as u64;
    let counts = (stats.n_finished, stats.n_cancelled, stats.n_failed, stats.n_kv_tokens);
    assert_eq!(counts, (N_CLIENTS as u64 - n_left, n_left, 0, 0), "{stats:?}");
}

#[test]
fn a_client_that_leaves_during_prefill_cancels_its_sequence() {
    let server = TestServer::start(Setup::roomy());
    for (n_before, is_stream) in [(0, true), (1, false)] {
        // Read to the end this would take a million steps.
        let body = json!({
            "prompt": "long ".repeat(700), "max_tokens": 1_000_000, "ignore_eos": true, "stream": is_stream,
        });
        server.probe.hold();
        let n_collects = server.probe.seen().n_collects;
        leave_after(server.address, "/v1/completions", &body, || {
            server.probe.wait_until(|seen| seen.n_collects > n_collects);
        });
        server.probe.release();
        server.wait_ended(n_before + 1);
    }
    let stats = server.engine.stats();
    assert_eq!((stats.n_cancelled, stats.n_finished), (2, 0), "{stats:?}");
}
