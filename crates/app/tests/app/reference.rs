//! Greedy text and prompt log-likelihoods equal the Python reference's, through the HTTP surface.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::post;
use crate::testbed::{Server, gemma3, smollm2};

const TOLERANCE_NATS: f64 = 1e-3;
/// What a token may lose by keys and values in eight bits.
const PACKED_NATS: f64 = 0.05;

#[derive(Deserialize)]
struct Reference {
    prompts: Vec<Continued>,
    texts: Vec<Scored>,
}

#[derive(Deserialize)]
struct Continued {
    ids: Vec<u32>,
    greedy: Vec<u32>,
    text: String,
}

#[derive(Deserialize)]
struct Scored {
    name: String,
    text: String,
    logprobs: Vec<f64>,
}

fn reference(fixture: &str) -> Reference {
    serde_json::from_str(fixture).expect("the fixture is JSON")
}

const SMOLLM2: &str = include_str!("../fixtures/smollm2.json");
const GEMMA3: &str = include_str!("../fixtures/gemma3.json");

#[test]
fn greedy_text_equals_the_reference() {
    check_greedy(&smollm2(), SMOLLM2);
}

#[test]
fn greedy_text_of_gemma_equals_the_reference() {
    check_greedy(&gemma3(), GEMMA3);
}

/// Every prompt, for at least twenty tokens.
fn check_greedy(model: &Path, fixture: &str) {
    let server = Server::start(model);
    for Continued { ids, greedy, text } in reference(fixture).prompts {
        assert!(greedy.len() >= 20, "{text:?} is too short to tell");
        let body = json!({"model": "default", "prompt": ids, "max_tokens": greedy.len(), "temperature": 0, "ignore_eos": true});
        let (status, answer) = post(&server, "/completions", &body);
        assert_eq!((status, answer["choices"][0]["text"].as_str()), (200, Some(text.as_str())), "{answer}");
    }
}

#[test]
fn prompt_log_likelihoods_equal_the_reference() {
    let server = Server::start(&smollm2());
    for text in reference(SMOLLM2).texts {
        for (idx, (got, expected)) in scores(&server, &text).into_iter().zip(&text.logprobs).enumerate() {
            let off = (got - expected).abs();
            assert!(off <= TOLERANCE_NATS, "{}, token {}: {got} is not {expected}", text.name, idx + 1);
        }
    }
}

#[test]
fn kv_in_eight_bits_scores_prompts_nearly_as_well() {
    let server = Server::start_with(&smollm2(), &["--kv-bits", "8", "--kv-bits-from", "1"]);
    for text in reference(SMOLLM2).texts {
        let off: Vec<f64> = scores(&server, &text).into_iter().zip(&text.logprobs).map(|(got, is)| got - is).collect();
        let mean = |all: &dyn Fn(f64) -> f64| off.iter().map(|off| all(*off)).sum::<f64>() / off.len() as f64;
        let (bias, distance) = (mean(&|off| off), mean(&f64::abs));
        println!("{}: {bias:+.4} nats a token on average, {distance:.4} apart", text.name);
        assert!(distance > TOLERANCE_NATS, "{}: nothing is packed", text.name);
        assert!(bias > -PACKED_NATS && distance < 2.0 * PACKED_NATS, "{}: {off:?}", text.name);
    }
}

/// Log-probability of each token of a text after the first.
fn scores(server: &Server, text: &Scored) -> Vec<f64> {
    let body = json!({"model": "default", "prompt": text.text, "max_tokens": 0, "echo": true, "logprobs": 1});
    let (status, answer) = post(server, "/completions", &body);
    assert_eq!(status, 200, "{answer}");
    let got = answer["choices"][0]["logprobs"]["token_logprobs"].as_array().expect("scores");
    assert_eq!((got.len(), &got[0]), (text.logprobs.len() + 1, &Value::Null), "{}", text.name);
    got[1..].iter().map(|score| score.as_f64().expect("a score")).collect()
}
