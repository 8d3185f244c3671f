//! Transcripts of `/v1/completions`.

use serde_json::{Value, json};
use tokbar_engine::fake::{expected_prompt_scores, expected_tokens};
use tokbar_engine::{Request, SamplingOptions};

use crate::setup::{NOW, TestServer};

const PATH: &str = "/v1/completions";

fn request(prompt: Vec<u32>, max_tokens: usize) -> Request {
    Request {
        prompt,
        sampling: SamplingOptions::default(),
        max_tokens,
        stop_tokens: Vec::new(),
        ignore_eos: false,
        score_prompt: false,
        ..Request::default()
    }
}

fn written(server: &TestServer, prompt: &str, max_tokens: usize) -> String {
    server.text.tokenizer.decode(&expected_tokens(&server.fake, &request(server.tokens(prompt), max_tokens)))
}

#[test]
fn every_form_of_prompt_is_continued() {
    let server = TestServer::hashing();
    let (a, b) = (server.tokens("abc"), server.tokens("déf"));
    let cases = [
        (json!("abc"), vec!["abc"]),
        (json!(["abc", "déf"]), vec!["abc", "déf"]),
        (json!(a), vec!["abc"]),
        (json!([a, b]), vec!["abc", "déf"]),
    ];
    for (prompt, texts) in cases {
        let body = json!({ "model": "default", "prompt": prompt, "temperature": 0, "max_tokens": 20 });
        let answer = server.post(PATH, &body).ok();
        assert_eq!((&answer["object"], &answer["created"]), (&json!("text_completion"), &json!(NOW)));
        let expected: Vec<String> = texts.iter().map(|text| written(&server, text, 20)).collect();
        let choices = answer["choices"].as_array().unwrap();
        let got: Vec<&str> = choices.iter().map(|choice| choice["text"].as_str().unwrap()).collect();
        assert_eq!(got, expected, "{prompt}");
        let n_prompt: usize = texts.iter().map(|text| text.len()).sum();
        assert_eq!(answer["usage"]["prompt_tokens"], n_prompt, "{prompt}");
    }
    let default = server.post(PATH, &json!({ "prompt": "abc", "temperature": 0 })).ok();
    assert_eq!(default["choices"][0]["text"], written(&server, "abc", 16));
}

#[test]
fn a_stream_adds_up_to_the_whole() {
    let server = TestServer::hashing();
    let mut body = json!({
        "prompt": ["abc", "xyz"], "n": 2, "temperature": 1, "seed": 3, "max_tokens": 25, "logprobs": 2, "echo": true,
    });
    let whole = server.post(PATH, &body).ok();
    body["stream"] = json!(true);
    body["stream_options"] = json!({ "include_usage": true });
    let mut chunks = server.post(PATH, &body).chunks();
    let usage = chunks.pop().unwrap();
    assert_eq!((&usage["choices"], &usage["usage"]), (&json!([]), &whole["usage"]));
    for choice in whole["choices"].as_array().unwrap() {
        let own: Vec<&Value> =
            chunks.iter().map(|chunk| &chunk["choices"][0]).filter(|own| own["index"] == choice["index"]).collect();
        let text: String = own.iter().map(|piece| piece["text"].as_str().unwrap()).collect();
        assert_eq!(choice["text"], text);
        for column in ["tokens", "token_logprobs", "top_logprobs", "text_offset"] {
            let cells = own.iter().filter_map(|piece| piece["logprobs"][column].as_array()).flatten();
            let cells: Vec<&Value> = cells.collect();
            assert_eq!(choice["logprobs"][column].as_array().unwrap().iter().collect::<Vec<_>>(), cells, "{column}");
        }
        let last = own.last().unwrap();
        assert_eq!((&last["finish_reason"], &last["logprobs"]), (&choice["finish_reason"], &Value::Null));
    }
}

#[test]
fn echo_scores_the_prompt_without_generating() {
    let server = TestServer::hashing();
    for (prompt, n_tokens) in [(json!("né!"), 4), (json!(server.tokens("né!")), 4), (json!("x"), 1)] {
        let body = json!({ "prompt": prompt, "echo": true, "logprobs": 1, "max_tokens": 0, "temperature": 0 });
        let answer = server.post(PATH, &body).ok();
        let choice = &answer["choices"][0];
        let text = choice["text"].as_str().unwrap();
        let mut request = request(server.tokens(text), 0);
        request.sampling.n_logprobs = Some(1);
        let scores = expected_prompt_scores(&server.fake, &request);
        let logprobs = choice["logprobs"]["token_logprobs"].as_array().unwrap();
        assert_eq!(logprobs.len(), n_tokens, "{prompt}");
        assert_eq!(logprobs[0], Value::Null);
        for (score, logprob) in scores.iter().zip(&logprobs[1..]) {
            assert!((f64::from(score.logprob) - logprob.as_f64().unwrap()).abs() < 1e-6, "{prompt}");
        }
        assert_eq!(choice["finish_reason"], "length", "{prompt}");
        assert_eq!(answer["usage"]["completion_tokens"], 0, "{prompt}");
    }
    let body = json!({ "prompt": "né!", "echo": true, "logprobs": 1, "max_tokens": 0 });
    let choice = server.post(PATH, &body).ok()["choices"][0].clone();
    assert_eq!(choice["logprobs"]["tokens"], json!(["n", "bytes:\\xc3", "bytes:\\xa9", "!"]));
    assert_eq!(choice["logprobs"]["text_offset"], json!([0, 1, 1, 2]));
    let tops = choice["logprobs"]["top_logprobs"].as_array().unwrap();
    assert_eq!(tops[0], Value::Null);
    // The likeliest token and the prompt's own.
    assert!(tops[1..].iter().all(|top| matches!(top.as_object().unwrap().len(), 1 | 2)), "{tops:?}");
}

#[test]
fn echo_comes_before_the_continuation() {
    let server = TestServer::replying("two");
    let plain = server.post(PATH, &json!({ "prompt": "one ", "echo": true })).ok();
    assert_eq!(plain["choices"][0]["text"], "one two");
    assert_eq!(plain["choices"][0]["logprobs"], Value::Null);
    let scored = server.post(PATH, &json!({ "prompt": "one ", "echo": true, "logprobs": 0 })).ok();
    assert_eq!(scored["choices"][0]["logprobs"]["tokens"], json!(["o", "n", "e", " ", "t", "w", "o"]));
    assert_eq!(scored["choices"][0]["logprobs"]["text_offset"], json!([0, 1, 2, 3, 4, 5, 6]));
}

#[test]
fn a_suffix_makes_an_infill_prompt() {
    let server = TestServer::hashing();
    let body = json!({ "prompt": "a(", "suffix": ")b", "temperature": 0, "max_tokens": 12 });
    let answer = server.post(PATH, &body).ok();
    let prompt = "<|fim_prefix|>a(<|fim_suffix|>)b<|fim_middle|>";
    assert_eq!(answer["choices"][0]["text"], written(&server, prompt, 12));
}

#[test]
fn best_of_reports_the_likeliest() {
    let server = TestServer::hashing();
    let base = json!({ "prompt": ["ab", "cd"], "temperature": 1, "seed": 11, "max_tokens": 10, "logprobs": 0 });
    let with = |n: usize, best_of: usize| {
        let mut body = base.clone();
        body["n"] = json!(n);
        body["best_of"] = json!(best_of);
        server.post(PATH, &body).ok()
    };
    let mean = |choice: &Value| {
        let logprobs = choice["logprobs"]["token_logprobs"].as_array().unwrap();
        logprobs.iter().map(|logprob| logprob.as_f64().unwrap()).sum::<f64>() / logprobs.len() as f64
    };
    let all = with(4, 4);
    let best = with(2, 4);
    for prompt_idx in 0..2 {
        let mut choices: Vec<&Value> = all["choices"].as_array().unwrap()[4 * prompt_idx..][..4].iter().collect();
        choices.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
        for (rank, choice) in choices[..2].iter().enumerate() {
            let got = &best["choices"][2 * prompt_idx + rank];
            assert_eq!((&got["text"], &got["index"]), (&choice["text"], &json!(2 * prompt_idx + rank)));
        }
    }
    assert_eq!(best["choices"].as_array().unwrap().len(), 4);
    for count in ["prompt_tokens", "completion_tokens", "total_tokens"] {
        assert_eq!(best["usage"][count], all["usage"][count]);
    }
}
