//! Transcripts of `/v1/chat/completions`.

use serde_json::{Value, json};
use tokbar_engine::{Dry, fake::expected_tokens};
use tokbar_engine::{Request, SamplingOptions};
use tokbar_server::SamplingDefaults;

use crate::setup::{NOW, Setup, TestServer};

const PATH: &str = "/v1/chat/completions";

fn hello(extra: Value) -> Value {
    let mut body = json!({ "model": "tiny", "messages": [{ "role": "user", "content": "hi" }] });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

/// What a fake model that reads `prompt` writes.
fn written(server: &TestServer, prompt: &str, sampling: SamplingOptions, max_tokens: usize) -> String {
    let request = Request {
        prompt: server.tokens(prompt),
        sampling,
        max_tokens,
        stop_tokens: Vec::new(),
        ignore_eos: false,
        score_prompt: false,
        ..Request::default()
    };
    server.text.tokenizer.decode(&expected_tokens(&server.fake, &request))
}

fn greedy() -> SamplingOptions {
    SamplingOptions::default()
}

/// All deltas of a choice.
fn streamed(chunks: &[Value], index: usize) -> String {
    let choices = chunks.iter().flat_map(|chunk| chunk["choices"].as_array().unwrap());
    let own = choices.filter(|choice| choice["index"] == index);
    own.map(|choice| choice["delta"]["content"].as_str().unwrap_or("")).collect()
}

#[test]
fn a_whole_answer_has_openais_shape() {
    let server = TestServer::replying("Grüße, 世界!");
    let answer = server.post(PATH, &hello(json!({}))).ok();
    let n_prompt = server.tokens("<|start|>user\nhi<|end|>\n<|start|>assistant\n").len();
    let n_output = server.tokens("Grüße, 世界!").len() + 1;
    assert!(answer["id"].as_str().unwrap().starts_with("chatcmpl-"));
    let expected = json!({
        "id": answer["id"], "object": "chat.completion", "created": NOW, "model": "org/tiny",
        "choices": [{
            "index": 0, "finish_reason": "stop", "logprobs": null,
            "message": { "role": "assistant", "content": "Grüße, 世界!", "refusal": null },
        }],
        "usage": {
            "prompt_tokens": n_prompt, "completion_tokens": n_output, "total_tokens": n_prompt + n_output,
            "prompt_tokens_details": { "cached_tokens": 0 },
            "completion_tokens_details": { "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0 },
        },
    });
    assert_eq!(answer, expected);
}

#[test]
fn a_stream_has_role_deltas_finish_and_usage() {
    let server = TestServer::replying("né");
    let reply = server.post(PATH, &hello(json!({ "stream": true, "stream_options": { "include_usage": true } })));
    assert_eq!(reply.header("cache-control"), Some("no-cache, no-transform"));
    assert_eq!(reply.header("x-accel-buffering"), Some("no"));
    assert_eq!(reply.header("access-control-allow-origin"), None);
    let chunks = reply.chunks();
    let frame = |choices: Value, usage: Value| {
        json!({
            "id": chunks[0]["id"], "object": "chat.completion.chunk", "created": NOW, "model": "org/tiny",
            "choices": choices, "usage": usage,
        })
    };
    let choice = |delta: Value, reason: Value| {
        frame(json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason }]), Value::Null)
    };
    let n_prompt = server.tokens("<|start|>user\nhi<|end|>\n<|start|>assistant\n").len();
    let usage = json!({
        "prompt_tokens": n_prompt, "completion_tokens": 4, "total_tokens": n_prompt + 4,
        "prompt_tokens_details": { "cached_tokens": 0 },
        "completion_tokens_details": { "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0 },
    });
    let expected = [
        choice(json!({ "role": "assistant", "content": "" }), Value::Null),
        choice(json!({ "content": "n" }), Value::Null),
        choice(json!({ "content": "é" }), Value::Null),
        choice(json!({}), json!("stop")),
        frame(json!([]), usage),
    ];
    assert_eq!(chunks, expected);
    let plain = server.post(PATH, &hello(json!({ "stream": true }))).chunks();
    assert!(plain.iter().all(|chunk| chunk.get("usage").is_none()), "{plain:?}");
}

#[test]
fn a_prediction_changes_no_word_of_the_answer() {
    let server = TestServer::replying("one two three four five six seven eight");
    let plain = server.post(PATH, &hello(json!({}))).ok();
    let texts = [json!("one two three"), json!([{ "type": "text", "text": "one two" }, { "text": "nine" }]), json!("")];
    for content in texts {
        let call = hello(json!({ "prediction": { "type": "content", "content": content } }));
        let answer = server.post(PATH, &call).ok();
        assert_eq!(answer["choices"], plain["choices"]);
        let details = &answer["usage"]["completion_tokens_details"];
        assert!(details["accepted_prediction_tokens"].is_u64() && details["rejected_prediction_tokens"].is_u64());
    }
}

#[test]
fn messages_reach_the_template_as_clients_send_them() {
    let server = TestServer::hashing();
    let call = json!({
        "id": "c1", "index": 0, "type": "function", "function": { "name": "look", "arguments": "{\"at\": 1}" },
    });
    let cases = [
        (json!([{ "role": "developer", "content": "be brief" }]), "<|start|>system\nbe brief<|end|>\n"),
        (
            json!([{ "role": "user", "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }]),
            "<|start|>user\na\nb<|end|>\n",
        ),
        (
            json!([{ "role": "assistant", "content": null, "tool_calls": [call] }]),
            "<|start|>assistant\ncall look {\"at\": 1}<|end|>\n",
        ),
        (json!([{ "role": "assistant", "tool_calls": [call] }]), "<|start|>assistant\ncall look {\"at\": 1}<|end|>\n"),
        (
            json!([{
                "role": "tool", "name": "look", "tool_call_id": "c1", "content": [{ "type": "text", "text": "sea" }],
            }]),
            "<|start|>tool\nsea<|end|>\n",
        ),
    ];
    for (messages, prompt) in cases {
        let body = json!({ "messages": messages, "temperature": 0, "max_tokens": 12, "store": false, "user": "me" });
        let answer = server.post(PATH, &body).ok();
        let expected = written(&server, &format!("{prompt}<|start|>assistant\n"), greedy(), 12);
        assert_eq!(answer["choices"][0]["message"]["content"], expected, "{messages}");
    }
}

#[test]
fn tools_and_template_switches_reach_the_template() {
    let server = TestServer::hashing();
    let tool = json!({ "type": "function", "function": { "name": "look", "parameters": { "type": "object" } } });
    let shown = "tools: [{\"type\": \"function\", \"function\": {\"name\": \"look\", \
                 \"parameters\": {\"type\": \"object\"}}}]\n";
    let cases = [
        (json!({ "tools": [tool] }), shown, ""),
        (json!({ "tools": [tool], "tool_choice": "auto", "parallel_tool_calls": true }), shown, ""),
        (json!({ "tools": [tool], "tool_choice": "none" }), "", ""),
        (json!({ "chat_template_kwargs": { "enable_thinking": false } }), "", "thinking False\n"),
        (json!({ "enable_thinking": false }), "", "thinking False\n"),
        (json!({ "reasoning_effort": "none" }), "", "thinking False\n"),
        (json!({ "reasoning_effort": "low" }), "", "thinking True\n"),
    ];
    for (extra, before, after) in cases {
        let mut body = hello(json!({ "temperature": 0, "max_completion_tokens": 9 }));
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let prompt = format!("{before}<|start|>user\nhi<|end|>\n<|start|>assistant\n{after}");
        let answer = server.post(PATH, &body).ok();
        assert_eq!(answer["choices"][0]["message"]["content"], written(&server, &prompt, greedy(), 9), "{extra}");
    }
}

#[test]
fn sampling_options_reach_the_engine() {
    let defaults = SamplingDefaults { temperature: 0.0, max_tokens: 5, ..SamplingDefaults::default() };
    let server = TestServer::start(Setup { defaults, ..Setup::default() });
    let prompt = "<|start|>user\nhi<|end|>\n<|start|>assistant\n";
    let seeded = |seed: u64| SamplingOptions { temperature: 1.0, seed, ..greedy() };
    let cases = [
        (json!({}), greedy(), 5),
        (json!({ "max_tokens": 40 }), greedy(), 40),
        (json!({ "max_tokens": 3, "max_completion_tokens": 7 }), greedy(), 7),
        (json!({ "max_tokens": null, "temperature": 1, "seed": 7 }), seeded(7), 5),
        (json!({ "temperature": 1.0, "seed": -1 }), seeded(u64::MAX), 5),
        (json!({ "presence_penalty": 0.5 }), SamplingOptions { presence_penalty: 0.5, ..greedy() }, 5),
    ];
    for (extra, sampling, max_tokens) in cases {
        let answer = server.post(PATH, &hello(extra.clone())).ok();
        let expected = written(&server, prompt, sampling, max_tokens);
        assert_eq!(answer["choices"][0]["message"]["content"], expected, "{extra}");
    }
}

#[test]
fn repetitions_are_penalised_as_asked() {
    let server = TestServer::hashing();
    let prompt = "<|start|>user\nhi<|end|>\n<|start|>assistant\n";
    // In order of ids: the special tokens, and the bytes from 5 on.
    let specials: Vec<u32> = (0..5).collect();
    let byte = |byte: u8| 5 + u32::from(byte);
    let dry = |last_n: Option<usize>, more: &[u32]| {
        let breakers = [specials.as_slice(), more].concat();
        let dry = Dry { multiplier: 0.8, base: 1.75, allowed_length: 1, last_n, breakers: breakers.into() };
        SamplingOptions { dry: Some(dry), ..greedy() }
    };
    let usual = [b'\n', b'"', b'*', b':'].map(byte);
    for (extra, sampling) in [
        (json!({}), dry(None, &usual)),
        (json!({ "dry_penalty_last_n": 40 }), dry(Some(40), &usual)),
        (json!({ "dry_sequence_breakers": ["u", "s"] }), dry(None, &[byte(b's'), byte(b'u')])),
        (json!({ "dry_sequence_breakers": "[\"e\"]" }), dry(None, &[byte(b'e')])),
        (json!({ "dry_penalty_last_n": 0 }), greedy()),
        (json!({ "dry_multiplier": 0 }), greedy()),
    ] {
        let mut body =
            hello(json!({ "temperature": 0, "max_tokens": 200, "dry_multiplier": 0.8, "dry_allowed_length": 1 }));
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let answer = server.post(PATH, &body).ok();
        assert_eq!(answer["choices"][0]["message"]["content"], written(&server, prompt, sampling, 200), "{extra}");
    }
    for (extra, param) in [
        (json!({ "dry_multiplier": 1, "dry_base": 0.5 }), "dry_base"),
        (json!({ "dry_sequence_breakers": [""] }), "dry_sequence_breakers[0]"),
        (json!({ "dry_sequence_breakers": 5 }), "dry_sequence_breakers"),
        (json!({ "dry_penalty_last_n": -2 }), "dry_penalty_last_n"),
    ] {
        let reply = server.post(PATH, &hello(extra));
        assert_eq!((reply.status, &reply.json()["error"]["param"]), (400, &json!(param)));
    }
}

#[test]
fn choices_draw_apart_and_interleave() {
    let server = TestServer::hashing();
    let prompt = "<|start|>user\nhi<|end|>\n<|start|>assistant\n";
    let body = hello(json!({ "n": 3, "seed": 5, "temperature": 1, "max_tokens": 30, "stream": true }));
    let chunks = server.post(PATH, &body).chunks();
    let whole = server.post(PATH, &hello(json!({ "n": 3, "seed": 5, "temperature": 1, "max_tokens": 30 }))).ok();
    for index in 0..3 {
        let sampling = SamplingOptions { temperature: 1.0, seed: 5 + index as u64, ..greedy() };
        let expected = written(&server, prompt, sampling, 30);
        assert_eq!(streamed(&chunks, index), expected);
        assert_eq!(whole["choices"][index]["message"]["content"], expected);
    }
}

#[test]
fn stop_strings_end_the_answer_at_every_border() {
    let server = TestServer::replying("one two three");
    let cases = [
        (json!("two"), "one ", "stop"),
        (json!(["three", " t"]), "one", "stop"),
        (json!("thx"), "one two three", "stop"),
        (json!(["three"]), "one two ", "stop"),
        (json!([]), "one two three", "stop"),
        (json!(null), "one two three", "stop"),
    ];
    for (stop, expected, reason) in cases {
        let answer = server.post(PATH, &hello(json!({ "stop": stop }))).ok();
        assert_eq!(answer["choices"][0]["message"]["content"], expected, "{stop}");
        assert_eq!(answer["choices"][0]["finish_reason"], reason, "{stop}");
        let chunks = server.post(PATH, &hello(json!({ "stop": stop, "stream": true }))).chunks();
        assert_eq!(streamed(&chunks, 0), expected, "{stop}");
    }
    let cut = server.post(PATH, &hello(json!({ "max_tokens": 3 }))).ok();
    assert_eq!(cut["choices"][0]["message"]["content"], "one");
    assert_eq!(cut["choices"][0]["finish_reason"], "length");
    server.wait_ended(13);
}

#[test]
fn logprobs_cover_exactly_the_visible_tokens() {
    let server = TestServer::replying("é, ok");
    let cases = [
        (json!({ "logprobs": true }), "é, ok", 0),
        (json!({ "logprobs": true, "top_logprobs": 3, "stop": "ok" }), "é, ", 3),
        (json!({ "logprobs": true, "top_logprobs": 20, "max_tokens": 3 }), "é,", 20),
    ];
    for (extra, text, n_top) in cases {
        let answer = server.post(PATH, &hello(extra.clone())).ok();
        let content = answer["choices"][0]["logprobs"]["content"].as_array().unwrap();
        let bytes: Vec<u8> = content.iter().flat_map(|entry| entry["bytes"].as_array().unwrap()).map(byte).collect();
        assert_eq!(bytes, text.as_bytes(), "{extra}");
        assert!(content.iter().all(|entry| entry["top_logprobs"].as_array().unwrap().len() == n_top), "{extra}");
        assert!(content.iter().all(|entry| entry["logprob"].as_f64().unwrap() <= 0.0), "{extra}");
        let mut streaming = hello(extra.clone());
        streaming["stream"] = json!(true);
        let chunks = server.post(PATH, &streaming).chunks();
        let entries = chunks.iter().filter_map(|chunk| chunk["choices"][0]["logprobs"]["content"].as_array());
        assert_eq!(entries.flatten().collect::<Vec<_>>(), content.iter().collect::<Vec<_>>(), "{extra}");
    }
}

fn byte(value: &Value) -> u8 {
    u8::try_from(value.as_u64().unwrap()).unwrap()
}
