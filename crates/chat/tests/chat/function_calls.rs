//! The calls that answer the questions of the Berkeley Function-Calling Leaderboard, written as each family writes calls and
//! read back, whole and in pieces.

use std::fs;

use serde_json::{Map, Value};
use tokbar_chat::{Event, FinishReason, OutputFormat, OutputOptions, OutputParser, Tool, ToolFormat};

use crate::fixtures;

const SETS: [&str; 5] = ["simple_python", "multiple", "parallel", "parallel_multiple", "live_simple"];
/// Questions taken of each set.
const N_QUESTIONS: usize = 60;

struct Question {
    tools: Vec<Tool>,
    calls: Vec<(String, Value)>,
}

fn lines(path: std::path::PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask test` once", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn questions() -> Vec<Question> {
    let kit = fixtures::testkit();
    let mut questions = Vec::new();
    for set in SETS {
        let file = format!("BFCL_v4_{set}.json");
        let asked = lines(kit.join("bfcl").join(&file));
        let answers = lines(kit.join("bfcl.answers").join(&file));
        let step = (asked.len() / N_QUESTIONS).max(1);
        for (asked, answer) in asked.iter().zip(&answers).step_by(step).take(N_QUESTIONS) {
            assert_eq!(asked["id"], answer["id"]);
            let tools: Vec<Tool> = asked["function"].as_array().unwrap().iter().map(tool).collect();
            let calls = answer["ground_truth"].as_array().unwrap().iter().map(|call| truth(call, &tools)).collect();
            questions.push(Question { tools, calls });
        }
    }
    questions
}

fn tool(function: &Value) -> Tool {
    Tool {
        name: function["name"].as_str().unwrap().to_owned(),
        description: None,
        parameters: schema(&function["parameters"]),
    }
}

/// JSON schema of what the questions have under Python's names.
fn schema(wire: &Value) -> Value {
    match wire {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| match (key.as_str(), value.as_str()) {
                ("type", Some("dict")) => (key.clone(), "object".into()),
                ("type", Some("float")) => (key.clone(), "number".into()),
                ("type", Some("tuple" | "list")) => (key.clone(), "array".into()),
                ("type", Some("any")) => ("comment".to_owned(), "any".into()),
                _ => (key.clone(), schema(value)),
            })
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(schema).collect(),
        other => other.clone(),
    }
}

/// The first of the right answers for each argument, where it has the type that the schema asks for.
fn truth(call: &Value, tools: &[Tool]) -> (String, Value) {
    let (name, arguments) = call.as_object().unwrap().iter().next().unwrap();
    let properties = &tools.iter().find(|tool| tool.name == *name).unwrap().parameters["properties"];
    let mut chosen = Map::new();
    for (key, answers) in arguments.as_object().unwrap() {
        let wanted = answers.as_array().unwrap().iter().find(|answer| **answer != "" && fits(answer, &properties[key]));
        if let Some(answer) = wanted {
            chosen.insert(key.clone(), answer.clone());
        }
    }
    (name.clone(), Value::Object(chosen))
}

fn fits(value: &Value, schema: &Value) -> bool {
    match schema["type"].as_str() {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value
            .as_array()
            .is_some_and(|items| !items.is_empty() && items.iter().all(|item| fits(item, &schema["items"]))),
        // Answers list what each member may be; members of unknown names have no type to be read by.
        Some("object") | None | Some(_) => false,
    }
}

fn read<'a>(format: &OutputFormat, tools: &[Tool], pieces: impl Iterator<Item = &'a str>) -> Vec<(String, Value)> {
    let mut parser = OutputParser::new(format, &OutputOptions { tools, prompt_tail: "", id_seed: 1 });
    let mut events: Vec<Event> = pieces.flat_map(|piece| parser.push(piece)).collect();
    events.extend(parser.finish(FinishReason::Stop));
    let mut calls: Vec<(String, String)> = Vec::new();
    for event in events {
        match event {
            Event::ToolStart { name, .. } => calls.push((name, String::new())),
            Event::ToolArgs { json, .. } => calls.last_mut().unwrap().1.push_str(&json),
            Event::Text(text) | Event::Reasoning(text) => panic!("{text:?} is left over"),
            Event::ToolEnd { .. } | Event::Finish(_) => {}
        }
    }
    calls.into_iter().map(|(name, json)| (name, serde_json::from_str(&json).unwrap())).collect()
}

#[test]
fn every_family_reads_the_calls_of_the_leaderboard() {
    let questions = questions();
    assert!(questions.len() >= 200, "{}", questions.len());
    for tools in ToolFormat::all() {
        let format = OutputFormat { tools: Some(tools), reasoning: None };
        for question in &questions {
            let wire = tools.write_calls(question.calls.iter().map(|(name, arguments)| (name.as_str(), arguments)));
            let whole = read(&format, &question.tools, std::iter::once(wire.as_str()));
            assert_eq!(whole, question.calls, "{}: {wire}", tools.name);
            let streamed = read(&format, &question.tools, wire.split_inclusive(|c: char| !c.is_alphanumeric()));
            assert_eq!(streamed, question.calls, "{}, in pieces: {wire}", tools.name);
        }
    }
}
