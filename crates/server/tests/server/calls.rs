//! Reasoning and tool calls in `/v1/chat/completions`.

use serde_json::{Value, json};

use crate::setup::{Setup, TestServer};

const PATH: &str = "/v1/chat/completions";
/// The markers tell the format.
const TEMPLATE: &str = "{# <tool_call> <think> </think> #}{% for message in messages %}{{ message.content }}\
<|end|>{% endfor %}<|start|>{% if enable_thinking is defined and enable_thinking %}<think>\n{% endif %}";
const CALL: &str = "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"sea\"}}\n</tool_call>";

fn server(reply: &str) -> TestServer {
    let reply = Some(String::leak(reply.to_owned()) as &'static str);
    TestServer::start(Setup { reply, template: Some(TEMPLATE), ..Setup::default() })
}

fn body(extra: Value) -> Value {
    let tool = json!({ "type": "function", "function": { "name": "look", "parameters": {
        "type": "object", "properties": { "at": { "type": "string" } } } } });
    let mut body = json!({ "messages": [{ "role": "user", "content": "hi" }], "tools": [tool] });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

/// The message and finish reason of a whole answer, which a stream gives as well.
fn answer(server: &TestServer, extra: Value) -> (Value, Value) {
    let whole = server.post(PATH, &body(extra.clone())).ok();
    let choice = whole["choices"][0].clone();
    let mut streaming = body(extra);
    streaming["stream"] = json!(true);
    let chunks = server.post(PATH, &streaming).chunks();
    let mut content = String::new();
    let mut reasoning = String::new();
    let mut calls: Vec<(String, String)> = Vec::new();
    for delta in chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]) {
        content += delta["content"].as_str().unwrap_or("");
        reasoning += delta["reasoning_content"].as_str().unwrap_or("");
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            if let Some(name) = function["name"].as_str() {
                calls.push((name.to_owned(), String::new()));
            }
            calls.last_mut().unwrap().1 += function["arguments"].as_str().unwrap();
        }
    }
    let message = &choice["message"];
    assert_eq!(content, message["content"].as_str().unwrap_or(""));
    assert_eq!(reasoning, message["reasoning_content"].as_str().unwrap_or(""));
    let whole_calls: Vec<(String, String)> =
        message["tool_calls"].as_array().into_iter().flatten().map(name_and_arguments).collect();
    assert_eq!(calls, whole_calls);
    let reason = chunks.iter().filter_map(|chunk| chunk["choices"][0]["finish_reason"].as_str()).next_back();
    assert_eq!(reason, choice["finish_reason"].as_str());
    (message.clone(), choice["finish_reason"].clone())
}

fn name_and_arguments(call: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&call["function"]["name"]), text(&call["function"]["arguments"]))
}

#[test]
fn reasoning_calls_and_text_are_apart() {
    let server = server(&format!("<think>hm</think>\n\nI look.\n{CALL}"));
    let (message, reason) = answer(&server, json!({}));
    assert_eq!(reason, "tool_calls");
    assert_eq!(message["reasoning_content"], "hm");
    assert_eq!(message["content"], "I look.");
    assert_eq!(name_and_arguments(&message["tool_calls"][0]), ("look".to_owned(), "{\"at\": \"sea\"}".to_owned()));
}

#[test]
fn a_call_alone_has_null_content_and_ids_differ_between_answers() {
    let server = server(CALL);
    let (first, _) = answer(&server, json!({}));
    let (second, _) = answer(&server, json!({ "seed": 1 }));
    assert_eq!(first["content"], Value::Null);
    assert_ne!(first["tool_calls"][0]["id"], second["tool_calls"][0]["id"]);
}

#[test]
fn without_tools_a_call_is_text() {
    let server = server(CALL);
    for extra in [json!({ "tools": [] }), json!({ "tool_choice": "none" })] {
        let (message, reason) = answer(&server, extra);
        assert_eq!((&message["content"], &reason), (&json!(CALL), &json!("stop")));
    }
}

#[test]
fn length_inside_thinking_leaves_empty_content_that_is_not_null() {
    let server = server("thoughts without end");
    let (message, reason) = answer(&server, json!({ "enable_thinking": true, "max_tokens": 8 }));
    assert_eq!(message["reasoning_content"], "thoughts");
    assert_eq!((&message["content"], &reason), (&json!(""), &json!("length")));
}

#[test]
fn thinking_ends_with_its_budget() {
    let server = TestServer::start(Setup { template: Some(TEMPLATE), ..Setup::default() });
    for extra in [
        json!({ "thinking_budget": 9 }),
        json!({ "reasoning_max_tokens": 9 }),
        json!({ "thinking_token_budget": 9, "tools": [] }),
        json!({ "thinking_budget": 9, "tool_choice": "required" }),
    ] {
        let mut extra = extra;
        extra["enable_thinking"] = json!(true);
        extra["max_tokens"] = json!(60);
        // A model of hashes may end at any token.
        extra["ignore_eos"] = json!(true);
        let choice = server.post(PATH, &body(extra)).ok()["choices"][0].clone();
        let reasoning = choice["message"]["reasoning_content"].as_str().unwrap_or("");
        // A token is a byte: what is no UTF-8 shows as one character of three bytes, and may end late.
        let has_answer = !choice["message"]["content"].as_str().unwrap_or("").is_empty()
            || choice["message"]["tool_calls"].is_array();
        assert!(reasoning.chars().count() <= 9 + 16 && has_answer, "{choice}");
    }
    let reply = server.post(PATH, &body(json!({ "thinking_budget": "much" })));
    assert_eq!((reply.status, &reply.json()["error"]["param"]), (400, &json!("thinking_budget")));
}

#[test]
fn stop_strings_count_in_the_answer_only() {
    let server = server("<think>one two</think>one two three");
    let (message, reason) = answer(&server, json!({ "stop": ["two"] }));
    assert_eq!(message["reasoning_content"], "one two");
    assert_eq!((&message["content"], &reason), (&json!("one "), &json!("stop")));
}

#[test]
fn arguments_stream_before_their_call_ends() {
    let server = server(&format!("<tool_call>{{\"name\": \"look\", \"arguments\": {{\"at\": \"{}", "x".repeat(300)));
    let body = body(json!({ "stream": true, "max_tokens": 250 }));
    let chunks = server.post(PATH, &body).chunks();
    let pieces = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str());
    let shown: String = pieces.collect();
    assert!(shown.starts_with("{\"at\": \"xxx") && shown.len() > 150, "{shown}");
}
