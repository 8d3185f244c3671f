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

#[test]
fn what_grows_too_long_is_led_to_its_end_and_told() {
    let server = TestServer::hashing();
    let schema = json!({ "type": "object", "additionalProperties": false, "required": ["notes", "more"], "properties": {
        "notes": { "type": "array", "items": { "type": "string" }, "minItems": 1 }, "more": { "type": "string", "minLength": 5 } } });
    let validator = jsonschema::validator_for(&schema).unwrap();
    let messages = json!([{ "role": "user", "content": "hi" }]);
    let format = json!({ "type": "json_schema", "name": "x", "schema": schema });
    let chat_format = json!({ "type": "json_schema", "json_schema": format });
    let n_max = 150;
    let cases = [
        (
            "/v1/chat/completions",
            json!({ "messages": messages, "max_tokens": n_max, "temperature": 0, "response_format": chat_format }),
            ("/choices/0/message/content", "/choices/0/finish_reason", "length"),
        ),
        (
            "/v1/messages",
            json!({ "messages": messages, "max_tokens": n_max, "temperature": 0, "output_config": { "format": format } }),
            ("/content/0/text", "/stop_reason", "max_tokens"),
        ),
        (
            "/v1/responses",
            json!({ "input": "hi", "max_output_tokens": n_max, "temperature": 0, "text": { "format": format } }),
            ("/output/0/content/0/text", "/status", "incomplete"),
        ),
        (
            "/api/chat",
            json!({ "model": "tiny", "messages": messages, "stream": false, "format": schema, "options": { "num_predict": n_max, "temperature": 0 } }),
            ("/message/content", "/done_reason", "length"),
        ),
    ];
    for (path, body, (text, end, reason)) in cases {
        let reply = server.post(path, &body);
        let notice = reply.header("x-tokbar-notice").unwrap_or_else(|| panic!("{path}: {}", reply.body));
        assert!(notice.contains("led to its end"), "{path}: {notice}");
        let answer = reply.ok();
        assert!(validator.is_valid(&parsed(answer.pointer(text).unwrap())), "{path}: {answer}");
        assert_eq!(answer.pointer(end).unwrap(), reason, "{path}: {answer}");
    }
}
