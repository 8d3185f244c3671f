//! Forced calls and forms on a small real model: what it says is poor, but always right in form.

use serde_json::{Map, Value, json};

use crate::http::post;
use crate::testbed::{Server, smollm2, testkit};

const PATH: &str = "/chat/completions";

/// Questions asked of each kind: 200 in the long run.
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
        "repetition_penalty": 1.2, "max_tokens": 400 });
    body.as_object_mut().expect("an object").extend(extra.as_object().cloned().unwrap_or_else(Map::new));
    let (status, answer) = post(server, PATH, &body);
    assert_eq!(status, 200, "{answer}");
    answer["choices"][0].clone()
}

#[test]
fn forced_calls_fit_their_tools() {
    let server = Server::start(&smollm2());
    let mut failures = Vec::new();
    for (idx, (question, tool)) in questions().into_iter().take(n_questions()).enumerate() {
        let name = tool["function"]["name"].clone();
        let choice = match idx % 2 {
            0 => json!("required"),
            _ => json!({ "type": "function", "function": { "name": name } }),
        };
        let schema = jsonschema::validator_for(&tool["function"]["parameters"]).expect("a schema");
        let extra = json!({ "tools": [tool], "tool_choice": choice, "parallel_tool_calls": false });
        let answer = ask(&server, &question, extra);
        let calls = answer["message"]["tool_calls"].as_array().cloned().unwrap_or_default();
        let arguments = calls.first().and_then(|call| call["function"]["arguments"].as_str()).unwrap_or_default();
        let is_valid = serde_json::from_str(arguments).is_ok_and(|arguments: Value| schema.is_valid(&arguments));
        if calls.len() != 1
            || calls[0]["function"]["name"] != name
            || !is_valid
            || answer["finish_reason"] != "tool_calls"
        {
            failures.push(format!("{question}: {answer}"));
        }
    }
    assert!(failures.is_empty(), "{} of {}: {failures:#?}", failures.len(), n_questions());
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
