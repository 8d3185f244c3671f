//! What a token costs between the engine and its client: 32 streams at once, step by step. Prints figures; with a debug build
//! they are an upper bound.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use serde_json::json;
use tokbar_engine::{EngineOptions, Speculation};

use crate::setup::{Setup, TestServer};

const N_CLIENTS: usize = 32;
/// Of a step: long enough that all tokens of the one before have come.
const PACE: Duration = Duration::from_millis(10);

/// How long after its step each token came, by step.
fn read(server: &TestServer, n_tokens: usize) -> Vec<(usize, Duration)> {
    let body = json!({ "prompt": "x", "max_tokens": n_tokens, "stream": true });
    let mut stream = server.stream("/v1/completions", &body);
    let mut lags = Vec::new();
    while stream.chunk().is_some() {
        let seen = server.probe.seen();
        lags.push((seen.n_collected, seen.collected_at.unwrap().elapsed()));
    }
    lags
}

#[test]
fn tokens_of_many_streams_are_soon_with_their_clients() {
    let n_tokens = if std::env::var_os("TOKBAR_TEST_ALL").is_some() { 2000 } else { 50 };
    // A token is a letter, and a step gives each stream one.
    let reply: &str = Box::leak("x".repeat(n_tokens + 1).into_boxed_str());
    let mut setup = Setup { reply: Some(reply), ..Setup::roomy() };
    setup.fake.pace = PACE;
    setup.engine = EngineOptions { n_rows_max: N_CLIENTS, speculation: Speculation::Off, ..EngineOptions::default() };
    let server = TestServer::start(setup);
    let mut slowest: BTreeMap<usize, (usize, Duration)> = BTreeMap::new();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..N_CLIENTS).map(|_| scope.spawn(|| read(&server, n_tokens))).collect();
        for client in clients {
            for (step_idx, lag) in client.join().unwrap() {
                let seen = slowest.entry(step_idx).or_default();
                *seen = (seen.0 + 1, seen.1.max(lag));
            }
        }
    });
    // The first and last steps have fewer streams.
    let full = slowest.values().filter(|(n, _)| *n >= N_CLIENTS);
    let mut costs: Vec<Duration> = full.map(|(n, lag)| *lag / u32::try_from(*n).unwrap()).collect();
    costs.sort();
    assert!(costs.len() > n_tokens / 4, "{} steps had all streams", costs.len());
    let at = |percent: usize| costs[(costs.len() - 1) * percent / 100];
    eprintln!("{N_CLIENTS} streams, {} steps: a token costs p50 {:?}, p99 {:?}", costs.len(), at(50), at(99));
}
