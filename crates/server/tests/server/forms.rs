//! Forms and forced calls in the dialects other than chat completions: the fake model writes hashes, the grammar makes
//! sense of them.

use serde_json::{Value, json};

use crate::setup::TestServer;

fn schema() -> Value {
    json!({ "type": "object", "additionalProperties": false, "required": ["size", "ok"], "properties": {
        "size": { "enum": ["small", "large"] }, "ok": { "type": "boolean" } } })
}

fn is_valid(value: &Value) -> bool {
    jsonschema::validator_for(&schema()).unwrap().is_valid(value)
}

fn parsed(text: &Value) -> Value {
    serde_json::from_str(text.as_str().unwrap()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn forms_are_kept_to() {
    let server = TestServer::hashing();
    let messages = json!([{ "role": "user", "content": "hi" }]);
    let format = json!({ "type": "json_schema", "name": "x", "schema": schema() });
    let anthropic =
        json!({ "messages": messages, "max_tokens": 400, "temperature": 0, "output_config": { "format": format } });
    let answer = server.post("/v1/messages", &anthropic).ok();
    assert!(is_valid(&parsed(&answer["content"][0]["text"])), "{answer}");
    let responses = json!({ "input": "hi", "max_output_tokens": 400, "temperature": 0, "text": { "format": format } });
    let answer = server.post("/v1/responses", &responses).ok();
    assert!(is_valid(&parsed(&answer["output"][0]["content"][0]["text"])), "{answer}");
    let ollama = json!({ "model": "tiny", "messages": messages, "stream": false, "format": schema(), "options": { "temperature": 0 } });
    let answer = server.post("/api/chat", &ollama).ok();
    assert!(is_valid(&parsed(&answer["message"]["content"])), "{answer}");
    let generate = json!({ "model": "tiny", "prompt": "hi", "stream": false, "format": schema(), "options": { "temperature": 0 } });
    let answer = server.post("/api/generate", &generate).ok();
    assert!(is_valid(&parsed(&answer["response"])), "{answer}");
}

#[test]
fn calls_are_made_when_they_must_be() {
    let server = TestServer::hashing();
    let messages = json!([{ "role": "user", "content": "hi" }]);
    // One call alone: a model of hashes might go on with calls until the limit.
    for mut choice in [json!({ "type": "any" }), json!({ "type": "tool", "name": "look" })] {
        choice["disable_parallel_tool_use"] = json!(true);
        let tool = json!({ "name": "look", "input_schema": schema() });
        let body = json!({ "messages": messages, "max_tokens": 400, "temperature": 0, "tools": [tool], "tool_choice": choice });
        let answer = server.post("/v1/messages", &body).ok();
        let call = answer["content"].as_array().unwrap().last().unwrap();
        assert_eq!((&call["type"], &answer["stop_reason"]), (&json!("tool_use"), &json!("tool_use")), "{answer}");
        assert!(is_valid(&call["input"]), "{answer}");
    }
    for choice in [json!("required"), json!({ "type": "function", "name": "look" })] {
        let tool = json!({ "type": "function", "name": "look", "parameters": schema() });
        let body = json!({ "input": "hi", "max_output_tokens": 400, "parallel_tool_calls": false, "temperature": 0, "tools": [tool], "tool_choice": choice });
        let answer = server.post("/v1/responses", &body).ok();
        let call = answer["output"].as_array().unwrap().last().unwrap();
        assert_eq!(call["type"], "function_call", "{answer}");
        assert!(is_valid(&parsed(&call["arguments"])), "{answer}");
    }
}

#[test]
fn what_is_not_enforced_is_told_in_a_header() {
    let server = TestServer::hashing();
    let schema = json!({ "type": "object", "additionalProperties": false, "properties": {
        "a": { "type": "array", "items": { "enum": [1, 2] }, "maxItems": 2, "uniqueItems": true } } });
    let messages = json!([{ "role": "user", "content": "hi" }]);
    let format = json!({ "type": "json_schema", "name": "x", "schema": schema });
    for (path, body) in [
        ("/v1/messages", json!({ "messages": messages, "max_tokens": 200, "output_config": { "format": format } })),
        ("/v1/responses", json!({ "input": "hi", "max_output_tokens": 200, "text": { "format": format } })),
        ("/api/chat", json!({ "model": "tiny", "messages": messages, "stream": false, "format": schema })),
    ] {
        let reply = server.post(path, &body);
        let notice = reply.header("x-tokbar-notice").unwrap_or_else(|| panic!("{path}: {}", reply.body));
        assert!(notice.contains("`uniqueItems` is not enforced"), "{path}: {notice}");
    }
}
