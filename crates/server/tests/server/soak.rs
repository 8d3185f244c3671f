//! All dialects at once, silences, and clients that come and go: nothing is left behind.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokbar_engine::EngineOptions;
use tokbar_server::ServerOptions;

use crate::client::leave_after;
use crate::setup::{Setup, TestServer};

const N_CLIENTS: usize = 32;
/// Calls of each client; many more where time is allowed for it.
const N_CALLS: usize = 6;
/// How long clients come and go where long tests are asked for.
const LONG: Duration = Duration::from_secs(600);

/// A path, a body that asks for so many tokens in a stream, and what fills its silences.
fn call(dialect_idx: usize, n_tokens: usize) -> (&'static str, Value, &'static str) {
    let messages = json!([{ "role": "user", "content": "hi" }]);
    match dialect_idx % 6 {
        0 => (
            "/v1/chat/completions",
            json!({ "messages": messages, "max_tokens": n_tokens, "stream": true, "ignore_eos": true }),
            "\"delta\":{\"content\":\"\"}",
        ),
        1 => (
            "/v1/completions",
            json!({ "prompt": "hi", "max_tokens": n_tokens, "stream": true, "ignore_eos": true }),
            ": keep-alive\n\n",
        ),
        2 => (
            "/v1/responses",
            json!({ "input": "hi", "max_output_tokens": n_tokens, "stream": true }),
            "event: response.in_progress\n",
        ),
        3 => ("/v1/messages", json!({ "messages": messages, "max_tokens": n_tokens, "stream": true }), "event: ping\n"),
        4 => (
            "/api/chat",
            json!({ "model": "tiny", "messages": messages, "options": { "num_predict": n_tokens } }),
            "\"content\":\"\"},\"done\":false",
        ),
        _ => (
            "/api/generate",
            json!({ "model": "tiny", "prompt": "hi", "options": { "num_predict": n_tokens } }),
            "\"response\":\"\",\"done\":false",
        ),
    }
}

#[test]
fn silences_are_filled_while_the_prompt_is_computed() {
    let options = ServerOptions { keep_alive: Duration::from_millis(1), ..Setup::default().server };
    let server = TestServer::start(Setup { server: options, reply: Some("ok"), ..Setup::default() });
    for dialect_idx in 0..6 {
        let (path, body, filler) = call(dialect_idx, 20);
        server.probe.hold();
        let mut stream = server.stream(path, &body);
        assert_eq!(stream.status, 200, "{path}: the head comes before the first token");
        let mut seen = String::new();
        while seen.matches(filler).count() < 3 {
            seen += &String::from_utf8(stream.chunk().expect("a stream that goes on")).unwrap();
        }
        server.probe.release();
        let rest = stream.finish();
        assert!(rest.body.contains("ok") || rest.body.contains("\"k\""), "{path}: {}", rest.body);
    }
    server.wait_ended(6);
}

#[test]
fn a_call_that_takes_too_long_ends_with_an_error() {
    let options = ServerOptions { call_timeout: Some(Duration::from_millis(1)), ..Setup::default().server };
    let server = TestServer::start(Setup { server: options, ..Setup::default() });
    server.probe.hold();
    for dialect_idx in 0..6 {
        let (path, mut body, _) = call(dialect_idx, 20);
        let stream = server.post(path, &body);
        assert!(stream.body.contains("was not done within 0.001 s"), "{path}: {}", stream.body);
        body["stream"] = json!(false);
        let whole = server.post(path, &body);
        assert!(whole.status == 504 && whole.body.contains("allow more time"), "{path}: {}", whole.body);
    }
    server.probe.release();
    server.wait_ended(12);
}

/// Tokens of a second turn's prompt, and those of them that came from the cache.
fn second_turn(server: &TestServer, path: &str, turns: [Value; 2]) -> (u64, u64) {
    let [first, second] = turns;
    server.post(path, &first).ok();
    let usage = server.post(path, &second).ok()["usage"].clone();
    let n = |value: &Value| value.as_u64().unwrap_or(0);
    match path {
        "/v1/messages" => {
            let n_cached = n(&usage["cache_read_input_tokens"]);
            (n(&usage["input_tokens"]) + n_cached, n_cached)
        }
        "/v1/responses" => (n(&usage["input_tokens"]), n(&usage["input_tokens_details"]["cached_tokens"])),
        _ => (n(&usage["prompt_tokens"]), n(&usage["prompt_tokens_details"]["cached_tokens"])),
    }
}

/// Agents send the whole conversation each turn, with marks that move and headers that change.
#[test]
fn second_turns_come_from_the_cache_but_for_their_tail() {
    // What opens an answer is what stands before it later on.
    let template = "{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>\n{% endfor %}\
                    <|start|>assistant{{ '\n' }}";
    let (reply, template) = (Some("It is blue."), Some(template));
    let server = TestServer::start(Setup { reply, template, ..Setup::default() });
    let long = "Rules of conduct. ".repeat(30);
    let marked = |text: &str| json!([{ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } }]);
    let billing = |mark: &str| json!({ "type": "text", "text": format!("x-anthropic-billing-header: cch={mark};") });
    let system = |mark: &str, left: usize| {
        let text = format!("{long}\n<total_tokens>{left} tokens left</total_tokens>");
        json!([billing(mark), { "type": "text", "text": text }])
    };
    let said = json!({ "role": "assistant", "content": "It is blue." });
    let user = |content: Value| json!({ "role": "user", "content": content });
    let chat = |role: &str, turns: Value| {
        let mut messages = vec![json!({ "role": role, "content": long })];
        messages.extend(turns.as_array().unwrap().clone());
        json!({ "messages": messages, "max_tokens": 50 })
    };
    let cases = [
        (
            "/v1/messages",
            [
                json!({ "max_tokens": 50, "system": system("a1", 90), "messages": [user(marked("look"))] }),
                json!({ "max_tokens": 50, "system": system("b2", 80),
                "messages": [user(json!("look")), said, user(marked("again"))] }),
            ],
        ),
        (
            "/v1/chat/completions",
            [
                chat("system", json!([user(json!("gaze"))])),
                chat("system", json!([user(json!("gaze")), said, user(json!("again"))])),
            ],
        ),
        (
            "/v1/responses",
            [
                json!({ "instructions": long, "input": "peer", "store": false }),
                json!({ "instructions": long, "input": [user(json!("peer")), said, user(json!("again"))], "store": false }),
            ],
        ),
    ];
    for (path, turns) in cases {
        let (n_prompt, n_cached) = second_turn(&server, path, turns);
        let n_tail = server.tokens("<|end|>\n<|start|>user\nagain<|end|>\n<|start|>assistant\n").len() as u64 + 2;
        assert!(n_prompt > 500 && n_prompt - n_cached <= n_tail, "{path}: {n_cached} of {n_prompt}");
    }
}

/// Spreads fates without a clock or a random source.
fn mix(client_idx: usize, call_idx: usize) -> usize {
    let mixed = (client_idx * 7919 + call_idx).wrapping_mul(0x9e37_79b9_7f4a_7c15_usize);
    mixed ^ (mixed >> 29)
}

/// Some read all, some leave in the middle, some leave before they read anything.
fn run(server: &TestServer, client_idx: usize, n_calls: usize) {
    for call_idx in 0..n_calls {
        let fate = mix(client_idx, call_idx);
        let (path, body, _) = call(fate >> 3, 1 + fate % 50);
        match fate % 3 {
            0 => {
                let reply = server.post(path, &body);
                assert_eq!(reply.status, 200, "{path}: {}", reply.body);
            }
            1 => {
                let mut stream = server.stream(path, &body);
                for _ in 0..fate % 5 {
                    stream.chunk();
                }
            }
            _ => leave_after(server.address, path, &body, || ()),
        }
    }
}

/// Bytes that this process holds in memory.
#[cfg(target_os = "linux")]
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn clients_that_come_and_go_leave_nothing() {
    let is_long = std::env::var_os("TOKBAR_TEST_ALL").is_some();
    let (n_calls, length) = if is_long { (N_CALLS * 100, LONG) } else { (N_CALLS, Duration::ZERO) };
    // Room for all calls at once and little more: what is kept of earlier ones must go.
    let engine =
        EngineOptions { token_budget: 64, n_rows_max: 16, kv_budget_bytes: Some(1 << 20), ..EngineOptions::default() };
    let options = ServerOptions { n_calls_per_minute: None, ..Setup::default().server };
    let server = TestServer::start(Setup { engine, server: options, ..Setup::default() });
    let round = |n_calls: usize| {
        thread::scope(|scope| {
            for client_idx in 0..N_CLIENTS {
                let server = &server;
                scope.spawn(move || run(server, client_idx, n_calls));
            }
        });
        // Those who left before they were read may never have reached the engine.
        server.probe.wait_until(|seen| seen.n_open == 0);
    };
    // Among it all the answers that are kept.
    round(n_calls);
    #[cfg(target_os = "linux")]
    let before = resident_bytes();
    let start = Instant::now();
    let mut n_rounds = 0;
    while n_rounds == 0 || start.elapsed() < length {
        round(n_calls);
        n_rounds += 1;
    }
    let stats = server.engine.stats();
    assert_eq!((stats.n_failed, stats.n_preempted), (0, 0), "{stats:?}");
    #[cfg(target_os = "linux")]
    if is_long {
        let after = resident_bytes();
        let grown = after.saturating_sub(before);
        let n_calls = n_rounds * n_calls;
        eprintln!("{N_CLIENTS} clients, {n_calls} calls each: {before} bytes of memory before, {after} after");
        assert!(grown < 32 << 20, "memory grew by {grown} bytes over {n_calls} calls of each client");
    }
    assert_eq!(server.get("/ready").status, 200);
}
