//! Answers that are held to a form, and calls that must be made: the fake model writes hashes, the grammar makes sense of
//! them.

use serde_json::{Value, json};

use crate::setup::TestServer;

const PATH: &str = "/v1/chat/completions";

fn body(extra: Value) -> Value {
    let mut body = json!({ "messages": [{ "role": "user", "content": "hi" }], "max_tokens": 400 });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

fn schema() -> Value {
    json!({ "type": "object", "additionalProperties": false, "required": ["size", "ok"], "properties": {
        "size": { "enum": ["small", "large"] }, "ok": { "type": "boolean" }, "n": { "type": "integer", "minimum": 1, "maximum": 9 } } })
}

fn tools() -> Value {
    let tool = |name: &str| json!({ "type": "function", "function": { "name": name, "parameters": schema() } });
    json!([tool("look"), tool("listen")])
}

fn is_valid(text: &str) -> bool {
    let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:?}"));
    jsonschema::validator_for(&schema()).unwrap().is_valid(&value)
}

#[test]
fn forms_are_kept_to() {
    let server = TestServer::hashing();
    let wire = json!({ "name": "x", "strict": true, "schema": schema() });
    for seed in 0..6 {
        for (extra, is_right) in [
            (
                json!({ "response_format": { "type": "json_schema", "json_schema": wire } }),
                is_valid as fn(&str) -> bool,
            ),
            (json!({ "guided_json": schema() }), is_valid),
            (json!({ "structured_outputs": { "json": schema() } }), is_valid),
            (json!({ "guided_choice": ["yes", "no"] }), |text| text == "yes" || text == "no"),
            (json!({ "guided_regex": "[ab]{3}-\\d" }), |text| text.len() == 5 && text.as_bytes()[3] == b'-'),
            (json!({ "guided_grammar": "start: \"x\" \"y\"~2 \"z\"" }), |text| text == "xyyz"),
        ] {
            let mut request = body(json!({ "seed": seed, "temperature": 1 }));
            request.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            let choice = server.post(PATH, &request).ok()["choices"][0].clone();
            let text = choice["message"]["content"].as_str().unwrap();
            assert!(is_right(text), "{extra} gives {text:?}");
            assert_eq!(choice["finish_reason"], "stop");
            request["stream"] = json!(true);
            let chunks = server.post(PATH, &request).chunks();
            let streamed: String =
                chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
            assert_eq!(streamed, text);
        }
    }
}

#[test]
fn calls_are_made_when_they_must_be() {
    let server = TestServer::hashing();
    for seed in 0..6 {
        for (choice, names) in [
            (json!("required"), &["look", "listen"][..]),
            (json!({ "type": "function", "function": { "name": "listen" } }), &["listen"]),
        ] {
            let request = body(json!({ "tools": tools(), "tool_choice": choice, "seed": seed, "temperature": 1,
                "parallel_tool_calls": false }));
            let choice = server.post(PATH, &request).ok()["choices"][0].clone();
            assert_eq!(choice["finish_reason"], "tool_calls", "{choice}");
            let calls = choice["message"]["tool_calls"].as_array().unwrap();
            assert_eq!(calls.len(), 1);
            assert!(names.contains(&calls[0]["function"]["name"].as_str().unwrap()), "{calls:?}");
            assert!(is_valid(calls[0]["function"]["arguments"].as_str().unwrap()), "{calls:?}");
        }
    }
}

#[test]
fn the_limit_ends_a_form_too_and_says_so() {
    let server = TestServer::hashing();
    let answer = server.post(PATH, &body(json!({ "guided_regex": "a{300}", "max_tokens": 20 }))).ok();
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    assert_eq!(answer["choices"][0]["message"]["content"], "a".repeat(20));
}

#[test]
fn what_is_not_enforced_is_told_in_a_header() {
    let server = TestServer::hashing();
    let schema = json!({ "type": "array", "items": { "enum": [1, 2] }, "maxItems": 2, "uniqueItems": true });
    let reply = server.post(PATH, &body(json!({ "guided_json": schema })));
    assert!(reply.header("x-tokbar-notice").unwrap().contains("`uniqueItems` is not enforced"));
}

#[test]
fn wrong_wishes_name_their_field() {
    let server = TestServer::hashing();
    let bad = json!({ "type": "word" });
    for (extra, param, part) in [
        (
            json!({ "response_format": { "type": "json_schema", "json_schema": { "schema": bad } } }),
            "response_format.json_schema.schema",
            "`type` must be",
        ),
        (json!({ "response_format": { "type": "xml" } }), "response_format.type", "json_schema"),
        (json!({ "guided_regex": "(a" }), "guided_regex", "unclosed group"),
        (json!({ "guided_grammar": "begin: \"a\"" }), "guided_grammar", "start"),
        (json!({ "guided_json": "{" }), "guided_json", "no JSON"),
        (json!({ "guided_regex": "a", "guided_json": {} }), "guided_regex", "send one of them"),
        (json!({ "tool_choice": "required" }), "tool_choice", "no tools"),
        (
            json!({ "tools": tools(), "tool_choice": { "type": "function", "function": { "name": "x" } } }),
            "tool_choice",
            "none of the tools",
        ),
        (
            json!({ "tools": [{ "type": "function", "function": { "name": "f", "parameters": bad } }],
                "tool_choice": "required" }),
            "tools[0]",
            "`type` must be",
        ),
    ] {
        let reply = server.post(PATH, &body(extra.clone()));
        let error = reply.json()["error"].clone();
        assert_eq!((reply.status, error["param"].as_str()), (400, Some(param)), "{extra}: {error}");
        assert!(error["message"].as_str().unwrap().contains(part), "{error}");
    }
}
