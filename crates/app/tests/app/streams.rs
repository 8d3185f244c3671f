//! Many clients at once on the real model, some of which leave.

use std::thread;

use serde_json::{Value, json};

use crate::http::{chat, metric, stream};
use crate::testbed::{Server, smollm2};

const N_LOOKS_MAX: usize = 1000;

/// KV of one position: keys and values of 30 layers, 3 heads of 64, as f32.
const N_TOKEN_BYTES: f64 = 2.0 * 30.0 * 3.0 * 64.0 * 4.0;

/// Positions that a block's storage may hold beyond its own.
const N_SPARE_MAX: f64 = 32.0;

const QUESTIONS: [&str; 8] = [
    "What is the capital of France?",
    "Count from one to five.",
    "Name three colours.",
    "What is 2 + 2?",
    "Who wrote Hamlet?",
    "Say hello in Spanish.",
    "What do bees make?",
    "Name a planet.",
];

fn text_of(chunks: impl Iterator<Item = Value>) -> String {
    chunks.filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned)).collect()
}

fn answer(server: &Server, question: &str) -> String {
    let mut body = chat(question, 12);
    body["stream"] = json!(true);
    text_of(stream(server, "/chat/completions", &body))
}

#[test]
fn eight_streams_answer_as_each_would_alone_while_others_leave() {
    let server = Server::start(&smollm2());
    answer(&server, QUESTIONS[0]);
    let memory_before = (0..N_LOOKS_MAX).map(|_| metric(&server, "memory_bytes")).fold(f64::INFINITY, f64::min);
    let before = memory_before - N_TOKEN_BYTES * metric(&server, "kv_kept_tokens");
    let alone: Vec<String> = QUESTIONS.iter().map(|question| answer(&server, question)).collect();
    let together: Vec<String> = thread::scope(|scope| {
        let answers: Vec<_> = QUESTIONS.iter().map(|question| scope.spawn(|| answer(&server, question))).collect();
        for (n_chunks, question) in QUESTIONS.iter().enumerate() {
            let server = &server;
            scope.spawn(move || {
                let mut body = chat(question, 200);
                body["stream"] = json!(true);
                assert!(stream(server, "/chat/completions", &body).take(n_chunks + 1).count() > 0);
            });
        }
        answers.into_iter().map(|answer| answer.join().expect("a client ends")).collect()
    });
    assert_eq!(together, alone);
    assert_eq!(answer(&server, QUESTIONS[0]), alone[0]);
    for nothing in ["sequences_running", "sequences_waiting", "kv_tokens", "sequences_failed_total"] {
        // The last step may still be on its way out when its client has all of its answer.
        assert!((0..N_LOOKS_MAX).any(|_| metric(&server, nothing) == 0.0), "{nothing}: {}", metric(&server, nothing));
    }
    assert!(metric(&server, "sequences_cancelled_total") > 0.0);
    // Only the weights and what is kept for reuse stay; storage of blocks grows by some positions at a time.
    let kept = || metric(&server, "kv_kept_tokens") + N_SPARE_MAX * metric(&server, "kv_blocks");
    let beside_kept = || metric(&server, "memory_bytes") - N_TOKEN_BYTES * kept();
    assert!((0..N_LOOKS_MAX).any(|_| beside_kept() <= before), "{} bytes, {before} before", beside_kept());
}
