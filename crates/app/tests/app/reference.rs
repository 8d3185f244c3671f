//! Greedy text and prompt log-likelihoods equal the Python reference's, through the HTTP surface.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::post;
use crate::testbed::{Server, smollm2};

const TOLERANCE_NATS: f64 = 1e-3;

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
    sum: f64,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../fixtures/smollm2.json")).expect("the fixture is JSON")
}

#[test]
fn greedy_text_equals_the_reference() {
    let server = Server::start(&smollm2());
    for Continued { ids, greedy, text } in reference().prompts {
        let body = json!({"model": "default", "prompt": ids, "max_tokens": greedy.len(), "temperature": 0, "ignore_eos": true});
        let (status, answer) = post(&server, "/completions", &body);
        assert_eq!((status, answer["choices"][0]["text"].as_str()), (200, Some(text.as_str())), "{answer}");
    }
}

#[test]
fn prompt_log_likelihoods_equal_the_reference() {
    let server = Server::start(&smollm2());
    for Scored { name, text, logprobs, sum } in reference().texts {
        let body = json!({"model": "default", "prompt": text, "max_tokens": 0, "echo": true, "logprobs": 1});
        let (status, answer) = post(&server, "/completions", &body);
        assert_eq!(status, 200, "{answer}");
        let got: Vec<Option<f64>> = answer["choices"][0]["logprobs"]["token_logprobs"]
            .as_array()
            .expect("scores")
            .iter()
            .map(Value::as_f64)
            .collect();
        assert_eq!((got.len(), got[0]), (logprobs.len() + 1, None), "{name}");
        for (idx, (got, expected)) in got[1..].iter().flatten().zip(&logprobs).enumerate() {
            assert!((got - expected).abs() <= TOLERANCE_NATS, "{name}, token {}: {got} is not {expected}", idx + 1);
        }
        let total: f64 = got.iter().flatten().sum();
        assert!((total - sum).abs() <= TOLERANCE_NATS, "{name}: {total} is not {sum}");
    }
}
