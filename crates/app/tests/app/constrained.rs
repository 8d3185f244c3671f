//! Forced calls and forms on a small real model: what it says is poor, but always right in form.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value, json};

use crate::http::post;
use crate::testbed::{Server, smollm2, testkit};

const PATH: &str = "/chat/completions";

/// Questions asked of each kind: 200 under `cargo xtask test --all`.
fn n_questions() -> usize {
    if std::env::var_os("TOKBAR_TEST_ALL").is_some() { 200 } else { 6 }
}

/// Questions with the functions that answer them, from the Berkeley Function-Calling Leaderboard.
fn questions() -> Vec<(String, Value)> {
    let path = testkit().join("bfcl/BFCL_v4_simple_python.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}: run `cargo xtask test` once"));
    let question = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("each line is JSON");
        let function = line["function"][0].clone();
        let text = line["question"][0][0]["content"].as_str().expect("a question").to_owned();
        let mut parameters = function["parameters"].clone();
        to_json_schema(&mut parameters);
        (
            text,
            json!({ "type": "function", "function": {
            "name": function["name"], "description": function["description"], "parameters": parameters } }),
        )
    };
    text.lines().map(question).collect()
}

/// Python's names of types to those of JSON schemas.
fn to_json_schema(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let kind = map.get("type").and_then(Value::as_str).map(|kind| match kind {
                "dict" => "object",
                "float" => "number",
                "tuple" | "list" => "array",
                "bool" => "boolean",
                "int" => "integer",
                "any" => "string",
                other => other,
            });
            if let Some(kind) = kind.map(str::to_owned) {
                map.insert("type".to_owned(), json!(kind));
            }
            map.remove("default");
            map.values_mut().for_each(to_json_schema);
        }
        Value::Array(items) => items.iter_mut().for_each(to_json_schema),
        _ => {}
    }
}

fn ask(server: &Server, question: &str, extra: Value) -> Value {
    let mut body = json!({ "messages": [{ "role": "user", "content": question }], "temperature": 0,
        "repetition_penalty": 1.2, "max_tokens": N_TOKENS_MAX });
    body.as_object_mut().expect("an object").extend(extra.as_object().cloned().unwrap_or_else(Map::new));
    let (status, answer) = post(server, PATH, &body);
    assert_eq!(status, 200, "{answer}");
    answer["choices"][0].clone()
}

/// Streams at once: rows that are held to different forms share their steps.
const N_STREAMS: usize = 8;

/// Most tokens of an answer. A model this small often says no end by itself: then it is led to one.
const N_TOKENS_MAX: usize = 128;

/// Puts each question with its tool to the server, some at a time, and gathers what is wrong with the answers. A check tells
/// how the answer has ended.
fn check_all(what: &str, check: impl Fn(usize, &str, &Value) -> Result<Value, String> + Sync) {
    let questions: Vec<_> = questions().into_iter().take(n_questions()).collect();
    let next = AtomicUsize::new(0);
    let (failures, ends) = (Mutex::new(Vec::<String>::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..N_STREAMS {
            scope.spawn(|| {
                while let Some((idx, (question, tool))) = {
                    let idx = next.fetch_add(1, Ordering::Relaxed);
                    questions.get(idx).map(|question| (idx, question))
                } {
                    if idx > 0 && idx.is_multiple_of(20) {
                        let n_wrong = failures.lock().expect("no check panics").len();
                        println!("{what}: question {idx}, {n_wrong} wrong so far");
                    }
                    match check(idx, question, tool) {
                        Ok(end) => ends.lock().expect("no check panics").push(end),
                        Err(failure) => failures.lock().expect("no check panics").push(failure),
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no check panics");
    let ends = ends.into_inner().expect("no check panics");
    let n_led = ends.iter().filter(|end| **end == "length").count();
    println!("{what}: {} of {} are valid, {n_led} of them led to their end by max_tokens", ends.len(), questions.len());
    assert!(failures.is_empty(), "{} of {}: {failures:#?}", failures.len(), questions.len());
}

/// How a right answer has ended: as it should, or led to its end as its tokens ran out.
fn ended(answer: Value, is_right: bool, end: &str) -> Result<Value, Value> {
    let reason = answer["finish_reason"].clone();
    if is_right && (reason == end || reason == "length") { Ok(reason) } else { Err(answer) }
}

#[test]
fn forced_calls_fit_their_tools() {
    let server = Server::start(&smollm2());
    check_all("forced calls", |idx, question, tool| {
        let name = &tool["function"]["name"];
        let choice = match idx % 2 {
            0 => json!("required"),
            _ => json!({ "type": "function", "function": { "name": name } }),
        };
        let schema = jsonschema::validator_for(&tool["function"]["parameters"]).expect("a schema");
        let extra = json!({ "tools": [tool], "tool_choice": choice, "parallel_tool_calls": false });
        let answer = ask(&server, question, extra);
        let calls = answer["message"]["tool_calls"].as_array().cloned().unwrap_or_default();
        let arguments = calls.first().and_then(|call| call["function"]["arguments"].as_str()).unwrap_or_default();
        let is_valid = serde_json::from_str(arguments).is_ok_and(|arguments: Value| schema.is_valid(&arguments));
        let is_right = calls.len() == 1 && calls[0]["function"]["name"] == *name && is_valid;
        ended(answer, is_right, "tool_calls").map_err(|answer| format!("{question}: {answer}"))
    });
}

#[test]
fn strict_schemas_of_all_kinds_give_valid_json() {
    let server = Server::start(&smollm2());
    check_all("strict schemas", |_, question, tool| {
        let schema = &tool["function"]["parameters"];
        let validator = jsonschema::validator_for(schema).expect("a schema");
        let format = json!({ "type": "json_schema", "json_schema": { "name": "x", "strict": true, "schema": schema } });
        let answer = ask(&server, question, json!({ "response_format": format }));
        let text = answer["message"]["content"].as_str().unwrap_or_default();
        let is_valid = serde_json::from_str(text).is_ok_and(|value: Value| validator.is_valid(&value));
        ended(answer, is_valid, "stop").map_err(|answer| format!("{question}: {answer}"))
    });
}

#[test]
fn strict_schemas_give_valid_json() {
    let server = Server::start(&smollm2());
    let schema = json!({ "type": "object", "additionalProperties": false, "required": ["title", "year", "tags", "score"],
        "properties": {
            "title": { "type": "string", "maxLength": 60 },
            "year": { "type": "integer", "minimum": 1900, "maximum": 2100 },
            "tags": { "type": "array", "items": { "enum": ["drama", "comedy", "horror"] }, "minItems": 1, "maxItems": 3 },
            "score": { "anyOf": [{ "type": "null" }, { "type": "number", "minimum": 0, "maximum": 10, "multipleOf": 0.5 }] } } });
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    for subject in ["a film about the sea", "a film about a dog", "any film"] {
        let format =
            json!({ "type": "json_schema", "json_schema": { "name": "film", "strict": true, "schema": schema } });
        let answer = ask(&server, &format!("Describe {subject}."), json!({ "response_format": format }));
        let text = answer["message"]["content"].as_str().unwrap_or_default();
        let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {answer}"));
        assert!(validator.is_valid(&value), "{value}");
        assert_eq!(answer["finish_reason"], "stop");
    }
}
