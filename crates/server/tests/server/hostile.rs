//! Bad input: each gets its status, its code, and a message with the next action.

use std::time::Duration;

use serde_json::{Value, json};
use tokbar_server::{Keys, ServerOptions};

use crate::client::{Call, send_raw, silence};
use crate::setup::{Setup, TestServer};

const CHAT: &str = "/v1/chat/completions";
const TEXT: &str = "/v1/completions";

/// Status, code, parameter (empty for none), and a part of the message.
type Expected = (u16, &'static str, &'static str, &'static str);

fn check(server: &TestServer, call: Call, (status, code, param, part): Expected) {
    let reply = call.send(server.address);
    assert_eq!(reply.header("content-type"), Some("application/json"), "{}", reply.body);
    let error = reply.json()["error"].clone();
    let message = error["message"].as_str().unwrap();
    let fields: Vec<&String> = error.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["message", "type", "param", "code"]);
    assert_eq!((reply.status, error["code"].as_str().unwrap()), (status, code), "{message}");
    assert_eq!(error["param"].as_str().unwrap_or(""), param, "{message}");
    assert!(message.contains(part), "{message:?} lacks {part:?}");
}

fn post(body: impl Into<Vec<u8>>) -> Call {
    Call::new("POST", CHAT).header("Content-Type", "application/json").body(body)
}

#[test]
fn bodies_that_are_no_json_objects() {
    let server = TestServer::hashing();
    let deep = format!("{{\"messages\": {}1{}}}", "[".repeat(5000), "]".repeat(5000));
    let cases: Vec<(Vec<u8>, Expected)> = vec![
        (b"{\"model\": }".to_vec(), (400, "invalid_json", "", "line 1 column 11")),
        (b"{\"model\": \"x\"".to_vec(), (400, "invalid_json", "", "EOF while parsing")),
        (b"{\"n\": 1e999}".to_vec(), (400, "invalid_json", "", "number out of range")),
        (b"{} {}".to_vec(), (400, "invalid_json", "", "trailing characters")),
        (b"{\"model\": NaN}".to_vec(), (400, "invalid_json", "", "line 1")),
        (b"[1]".to_vec(), (400, "invalid_json", "", "a JSON object is expected, not an array")),
        (b" ".to_vec(), (400, "invalid_json", "", "it is empty")),
        (b"{\"user\": \"\xff\"}".to_vec(), (400, "invalid_json", "", "byte 10")),
        (b"{\"user\": \"\\ud800\"}".to_vec(), (400, "invalid_json", "", "line 1")),
        (deep.into_bytes(), (400, "invalid_json", "", "recursion limit")),
    ];
    for (body, expected) in cases {
        check(&server, post(body), expected);
    }
    check(&server, post(""), (400, "invalid_json", "", "send a JSON object"));
}

#[test]
fn wrong_addresses_and_methods() {
    let server = TestServer::hashing();
    let cases: Vec<(Call, Expected)> = vec![
        (Call::get("/v2/x"), (404, "unknown_url", "", "/v2/x: the endpoints are listed at /")),
        (Call::get(CHAT), (405, "method_not_supported", "", "does not take GET")),
        (Call::new("DELETE", "/v1/models"), (405, "method_not_supported", "", "does not take DELETE")),
        (Call::new("OPTIONS", CHAT), (405, "method_not_supported", "", "does not take OPTIONS")),
        (Call::get("/v1/models/gpt-9"), (404, "model_not_found", "model", "use \"default\" or \"org/tiny\"")),
        (
            Call::post(CHAT, &json!({ "model": "gpt-9", "messages": [] })),
            (404, "model_not_found", "model", "\"gpt-9\" is not served here"),
        ),
        (post("{}").header("Content-Type", "text/plain"), (415, "unsupported_content_type", "", "\"text/plain\"")),
        (post("{}").header("Content-Type", ""), (415, "unsupported_content_type", "", "application/json")),
    ];
    for (call, expected) in cases {
        check(&server, call, expected);
    }
    let allowed = Call::get(CHAT).send(server.address);
    assert_eq!(allowed.header("allow"), Some("POST"));
    let charset = post(r#"{"messages": [{"role": "user", "content": "x"}]}"#);
    let charset = charset.header("Content-Type", "application/json; charset=utf-8").send(server.address);
    assert_eq!(charset.status, 200, "{}", charset.body);
}

#[test]
fn bodies_too_large_or_too_slow() {
    let options = ServerOptions { n_body_bytes_max: 1000, ..Setup::default().server };
    let server = TestServer::start(Setup { server: options, ..Setup::default() });
    let big = format!("{{\"x\": \"{}\"}}", "y".repeat(1500));
    check(&server, post(big.clone()), (413, "request_too_large", "", "1000 bytes"));
    let head = format!("POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{big}\r\n0\r\n\r\n", big.len());
    assert_eq!(send_raw(server.address, chunked.as_bytes(), false).finish().status, 413);
    let huge = format!("{head}Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(send_raw(server.address, huge.as_bytes(), false).finish().status, 413);

    let options = ServerOptions { n_body_bytes_total_max: 1024, ..Setup::default().server };
    let server = TestServer::start(Setup { server: options, ..Setup::default() });
    let reply = post(big).send(server.address);
    assert_eq!((reply.status, reply.header("retry-after")), (429, Some("2")), "{}", reply.body);

    let options = ServerOptions { body_timeout: Duration::from_millis(1), ..Setup::default().server };
    let server = TestServer::start(Setup { server: options, ..Setup::default() });
    let slow = format!("{head}Content-Length: 50\r\n\r\n{{");
    let reply = send_raw(server.address, slow.as_bytes(), false).finish();
    assert_eq!((reply.status, reply.json()["error"]["code"].clone()), (408, json!("request_timeout")));
}

#[test]
fn headers_beyond_their_bounds() {
    let options = ServerOptions { n_headers_max: 10, n_header_bytes_max: 8192, ..Setup::default().server };
    let server = TestServer::start(Setup { server: options, ..Setup::default() });
    let many: String = (0..20).map(|idx| format!("x-{idx}: y\r\n")).collect();
    let long = format!("x: {}\r\n", "y".repeat(20_000));
    for headers in [many, long] {
        let call = format!("GET /health HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        assert_eq!(send_raw(server.address, call.as_bytes(), false).status, 431);
    }
    assert_eq!(send_raw(server.address, b"\x16\x03\x01 hello\r\n\r\n", false).status, 400);
}

#[test]
fn connections_that_say_nothing_are_closed() {
    let options = ServerOptions { header_timeout: Duration::from_millis(1), ..Setup::default().server };
    let server = TestServer::start(Setup { server: options, ..Setup::default() });
    for start in ["", "GET /health HTTP/1.1\r\nHost: local"] {
        assert_eq!(silence(server.address, start.as_bytes()), "", "{start:?}");
    }
}

#[test]
fn templates_that_fail() {
    let cases = [
        (Some("{{ raise_exception('roles must alternate') }}"), "roles must alternate"),
        (Some("{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}"), "template"),
        (Some("{{ messages[7].content.nothing }}"), "template"),
        (Some("{{ nothing }}"), "the chat template wrote nothing"),
        (None, "no chat template"),
    ];
    for (template, part) in cases {
        let server = TestServer::start(Setup { template, ..Setup::default() });
        check(&server, chat(json!({})), (400, "invalid_prompt", "", part));
    }
}

/// A chat call with one good message and these fields.
fn chat(extra: Value) -> Call {
    let mut body = json!({ "messages": [{ "role": "user", "content": "hi" }] });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    Call::post(CHAT, &body)
}

#[test]
fn fields_that_cannot_be_used() {
    let server = TestServer::hashing();
    let bad = "invalid_value";
    let cases: Vec<(Value, Expected)> = vec![
        (json!({ "messages": null }), (400, bad, "messages", "is required")),
        (json!({ "messages": "hi" }), (400, bad, "messages", "must be an array, not a string")),
        (json!({ "messages": [] }), (400, bad, "messages", "at least one message")),
        (json!({ "messages": ["hi"] }), (400, bad, "messages[0]", "must be an object, not a string")),
        (json!({ "messages": [{ "content": "hi" }] }), (400, bad, "messages[0].role", "is required")),
        (json!({ "messages": [{ "role": "king" }] }), (400, bad, "messages[0].role", "not \"king\"")),
        (json!({ "messages": [{ "role": "user" }] }), (400, bad, "messages[0].content", "is required")),
        (json!({ "messages": [{ "role": "user", "content": 5 }] }), (400, bad, "messages[0].content", "a number")),
        (
            json!({ "messages": [{ "role": "user", "content": [{ "type": "text" }] }] }),
            (400, bad, "messages[0].content[0].text", "is required"),
        ),
        (
            json!({ "messages": [{ "role": "user", "content": [{ "type": "image_url", "image_url": { "url": "x" } }] }] }),
            (400, "unsupported_parameter", "messages[0].content[0].type", "reads text only"),
        ),
        (json!({ "model": 3 }), (400, bad, "model", "must be a string, not a number")),
        (json!({ "temperature": "hot" }), (400, bad, "temperature", "must be a number, not a string")),
        (json!({ "temperature": 1e300 }), (400, bad, "temperature", "must be a number")),
        (json!({ "temperature": -1 }), (400, bad, "temperature", "must be between 0 and")),
        (json!({ "xtc_probability": 1.5 }), (400, bad, "xtc_probability", "must be between 0 and 1, not 1.5")),
        (json!({ "top_p": 1.5 }), (400, bad, "top_p", "must be between 0 and 1, not 1.5")),
        (json!({ "top_k": 1.5 }), (400, bad, "top_k", "must be a whole number between -1 and 4294967295, not 1.5")),
        (json!({ "max_tokens": 0 }), (400, bad, "max_tokens", "must be between 1 and")),
        (json!({ "max_tokens": "many" }), (400, bad, "max_tokens", "must be a whole number, not a string")),
        (json!({ "n": 0 }), (400, bad, "n", "must be between 1 and")),
        (json!({ "n": 1000 }), (400, bad, "n", "a call may have 128")),
        (json!({ "stream": "yes" }), (400, bad, "stream", "must be true or false")),
        (json!({ "stream_options": [] }), (400, bad, "stream_options", "must be an object")),
        (json!({ "stop": 3 }), (400, bad, "stop", "a string or an array of strings")),
        (json!({ "stop": ["a", 3] }), (400, bad, "stop[1]", "must be a string")),
        (json!({ "stop": vec!["x"; 100] }), (400, bad, "stop", "too many")),
        (json!({ "stop": "x".repeat(5000) }), (400, bad, "stop", "too long")),
        (json!({ "seed": 0.5 }), (400, bad, "seed", "must be a whole number")),
        (json!({ "logit_bias": { "x": 1 } }), (400, bad, "logit_bias", "token ids as keys")),
        (json!({ "logit_bias": { "5": "x" } }), (400, bad, "logit_bias.5", "must be a number")),
        (json!({ "logit_bias": { "99999": 1 } }), (400, bad, "logit_bias", "99999")),
        (json!({ "top_logprobs": 3 }), (400, bad, "top_logprobs", "logprobs: true")),
        (json!({ "logprobs": true, "top_logprobs": 21 }), (400, bad, "top_logprobs", "between 0 and 20")),
        (json!({ "prediction": "x" }), (400, bad, "prediction", "must be an object")),
        (json!({ "prediction": { "type": "image" } }), (400, bad, "prediction.type", "must be \"content\"")),
        (json!({ "prediction": { "type": "content" } }), (400, bad, "prediction.content", "a string or an array")),
        (
            json!({ "prediction": { "type": "content", "content": [{ "type": "text" }] } }),
            (400, bad, "prediction.content", "a string or an array"),
        ),
        (json!({ "tools": [{ "type": "function" }] }), (400, bad, "tools[0].function", "is required")),
        (json!({ "tools": [{ "function": { "name": 4 } }] }), (400, bad, "tools[0].function.name", "a string")),
    ];
    for (extra, expected) in cases {
        check(&server, chat(extra), expected);
    }
}

#[test]
fn wishes_that_are_not_honoured() {
    let server = TestServer::hashing();
    let refused = [
        json!({ "functions": [{ "name": "x" }] }),
        json!({ "mirostat": 2 }),
        json!({ "typical_p": 0.9 }),
        json!({ "top_n_sigma": 1.5 }),
        json!({ "min_tokens": 5 }),
        json!({ "modalities": ["text", "audio"] }),
        json!({ "skip_special_tokens": false }),
    ];
    for extra in refused {
        let name = extra.as_object().unwrap().keys().next().unwrap().clone();
        let reply = chat(extra.clone()).send(server.address);
        let error = reply.json()["error"].clone();
        assert_eq!((reply.status, &error["code"]), (400, &json!("unsupported_parameter")), "{extra}");
        assert_eq!(error["param"], name, "{extra}");
        assert!(error["message"].as_str().unwrap().starts_with(&format!("`{name}` is not supported: ")), "{error}");
    }
    let neutral = json!({
        "response_format": { "type": "text" }, "tool_choice": "auto", "functions": [], "mirostat": 0, "typical_p": 1,
        "xtc_probability": 0.5, "xtc_threshold": 0.2, "top_n_sigma": -1, "guided_regex": null, "min_tokens": 0, "modalities": ["text"],
        "user": "me", "metadata": { "a": "b" }, "store": true, "service_tier": "auto", "return_token_ids": true,
        "cache_prompt": false, "stream_options": { "continuous_usage_stats": true }, "max_tokens": 1,
    });
    assert_eq!(chat(neutral).send(server.address).status, 200);
    assert_eq!(chat(json!({ "ignore_eos": true, "min_tokens": 5, "max_tokens": 5 })).send(server.address).status, 200);
}

#[test]
fn completions_that_cannot_be_made() {
    let server = TestServer::hashing();
    let bad = "invalid_value";
    let cases: Vec<(Value, Expected)> = vec![
        (json!({}), (400, bad, "prompt", "is required")),
        (json!({ "prompt": 5 }), (400, bad, "prompt", "an array of token ids")),
        (json!({ "prompt": [] }), (400, bad, "prompt", "must not be empty")),
        (json!({ "prompt": "" }), (400, bad, "prompt", "has no tokens")),
        (json!({ "prompt": ["a", 5] }), (400, bad, "prompt[1]", "a string or an array of token ids")),
        (json!({ "prompt": [1, "a"] }), (400, bad, "prompt[1]", "must be a token id, not \"a\"")),
        (json!({ "prompt": [[1], [-1]] }), (400, bad, "prompt[1][0]", "must be a token id")),
        (json!({ "prompt": [4_000_000] }), (400, bad, "prompt", "4000000")),
        (json!({ "prompt": "x", "n": 2, "best_of": 1 }), (400, bad, "best_of", "at least `n` (2)")),
        (
            json!({ "prompt": "x", "best_of": 2, "stream": true }),
            (400, "unsupported_parameter", "best_of", "leave out `stream`"),
        ),
        (json!({ "prompt": [1], "suffix": "y" }), (400, "unsupported_parameter", "suffix", "prompts that are text")),
        (json!({ "prompt": "x", "suffix": "y", "echo": true }), (400, "unsupported_parameter", "echo", "suffix")),
        (json!({ "prompt": "x", "logprobs": true }), (400, bad, "logprobs", "must be a whole number")),
        (json!({ "prompt": vec!["x"; 200] }), (400, bad, "n", "200 sequences")),
    ];
    for (body, expected) in cases {
        check(&server, Call::post(TEXT, &body), expected);
    }
}

#[test]
fn a_suffix_needs_a_model_that_fills_in() {
    let specials = ["<|end|>", "<|start|>", "<|a|>", "<|b|>", "<|c|>"];
    let server = TestServer::start(Setup { specials, ..Setup::default() });
    let expected = (400, "unsupported_parameter", "suffix", "no fill-in-the-middle tokens");
    check(&server, Call::post(TEXT, &json!({ "prompt": "x", "suffix": "y" })), expected);
}

#[test]
fn prompts_longer_than_the_context() {
    let server = TestServer::hashing();
    let cases = [
        (TEXT, json!({ "prompt": "x".repeat(4096) }), "4096 tokens"),
        (TEXT, json!({ "prompt": "x".repeat(1_000_000) }), "1000000 tokens"),
        (CHAT, json!({ "messages": [{ "role": "user", "content": "x".repeat(5000) }] }), "holds 4096 tokens"),
    ];
    for (path, body, part) in cases {
        check(&server, Call::post(path, &body), (400, "context_length_exceeded", "", part));
    }
    assert_eq!(server.probe.seen().n_opens, 0, "nothing may reach the backend");
    let whole = json!({ "prompt": "x".repeat(4096), "max_tokens": 0, "echo": true, "logprobs": 0 });
    assert_eq!(server.post(TEXT, &whole).status, 200);
    let clamped = json!({ "prompt": "x".repeat(4090), "max_tokens": 32_000, "ignore_eos": true });
    assert_eq!(server.post(TEXT, &clamped).ok()["usage"]["completion_tokens"], 6);
}

#[test]
fn callers_that_may_not_call() {
    let options = ServerOptions {
        keys: Some(Keys::single("sekret")),
        allowed_hosts: vec!["mac.lan".to_owned()],
        ..Setup::default().server
    };
    let server = TestServer::start(Setup { server: options, ..Setup::default() });
    let key = |call: Call| call.header("Authorization", "Bearer sekret");
    let models = || Call::get("/v1/models");
    let cases: Vec<(Call, Expected)> = vec![
        (models(), (401, "invalid_api_key", "", "asks for an API key")),
        (models().header("Authorization", "Bearer wrong"), (401, "invalid_api_key", "", "is wrong")),
        (models().header("x-api-key", "sekret2"), (401, "invalid_api_key", "", "is wrong")),
        (key(models()).header("x-api-key", "wrong"), (401, "invalid_api_key", "", "is wrong")),
        (models().header("Authorization", "Basic sekret"), (401, "invalid_api_key", "", "is wrong")),
        (key(models()).header("Host", "evil.example"), (403, "host_not_allowed", "", "evil.example")),
        (key(models()).header("Host", ""), (403, "host_not_allowed", "", "localhost")),
        (key(post("{}")).header("Origin", "https://evil.example"), (403, "origin_not_allowed", "", "evil.example")),
        (key(post("{}")).header("Origin", "null"), (403, "origin_not_allowed", "", "null")),
    ];
    for (call, expected) in cases {
        check(&server, call, expected);
    }
    for host in ["localhost:8000", "127.0.0.1", "[::1]:9", "MAC.lan:1"] {
        assert_eq!(key(models()).header("Host", host).send(server.address).status, 200, "{host}");
    }
    assert_eq!(models().header("x-api-key", "sekret").send(server.address).status, 200);
    assert_eq!(models().header("Authorization", "bearer sekret").send(server.address).status, 200);
    assert_eq!(Call::get("/health").send(server.address).status, 200, "health needs no key");
    let page = key(post("{}")).header("Origin", "http://localhost:3000").send(server.address);
    assert_eq!((page.status, page.header("access-control-allow-origin")), (400, None));
}
