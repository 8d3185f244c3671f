//! Fixtures and checkpoints of the test kit.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tokbar_chat::{Message, Role, Tool, ToolCall, Zoned};

pub fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Where set-up keeps what tests need.
pub fn testkit() -> PathBuf {
    let kit = std::env::var_os("TOKBAR_TESTKIT").map(PathBuf::from);
    kit.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.testkit"))
}

/// A checkpoint's folder in the test kit.
pub fn checkpoint(folder: &str) -> PathBuf {
    let dir = testkit().join(folder);
    assert!(dir.join("tokenizer.json").is_file(), "no tokenizer in {}: run `cargo xtask test` once", dir.display());
    dir
}

pub fn messages(wire: &Value) -> Vec<Message> {
    wire.as_array().unwrap().iter().map(message).collect()
}

pub fn tools(wire: &Value) -> Vec<Tool> {
    let wire = wire.as_array().map(Vec::as_slice).unwrap_or_default();
    wire.iter().map(|tool| tool_of(&tool["function"])).collect()
}

pub fn object(wire: &Value) -> Map<String, Value> {
    wire.as_object().unwrap().clone()
}

/// The fixtures' clock, in UTC.
pub fn clock(text: &Value) -> Zoned {
    format!("{}[UTC]", text.as_str().unwrap()).parse().unwrap()
}

fn message(wire: &Value) -> Message {
    let text = |name: &str| wire[name].as_str().map(str::to_owned);
    let calls = wire["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    Message {
        role: match wire["role"].as_str().unwrap() {
            "system" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            other => panic!("role {other}"),
        },
        content: text("content").unwrap_or_default(),
        name: text("name"),
        reasoning: text("reasoning_content"),
        tool_calls: calls.iter().map(call).collect(),
        tool_call_id: text("tool_call_id"),
    }
}

fn call(wire: &Value) -> ToolCall {
    ToolCall {
        id: wire["id"].as_str().unwrap_or_default().to_owned(),
        name: wire["function"]["name"].as_str().unwrap().to_owned(),
        arguments: wire["function"]["arguments"].clone(),
    }
}

fn tool_of(wire: &Value) -> Tool {
    Tool {
        name: wire["name"].as_str().unwrap().to_owned(),
        description: wire["description"].as_str().map(str::to_owned),
        parameters: wire["parameters"].clone(),
    }
}
