use serde_json::{Value, json};
use tokbar_chat::Event;

use super::super::wire::ChatMessage;
use super::*;

/// The whole message and all deltas.
fn check(events: Vec<Event>, message: Value, deltas: Value) {
    let mut whole = ChatMessage::default();
    for event in events.clone() {
        add_event(&mut whole, event);
    }
    assert_eq!(serde_json::to_value(whole).unwrap(), message);
    let streamed: Vec<Delta> = events.into_iter().filter_map(delta).collect();
    assert_eq!(serde_json::to_value(streamed).unwrap(), deltas);
}

fn start(index: usize, id: &str, name: &str) -> Event {
    Event::ToolStart { index, id: id.to_owned(), name: name.to_owned() }
}

fn args(index: usize, json: &str) -> Event {
    Event::ToolArgs { index, json: json.to_owned() }
}

#[test]
fn text_and_reasoning_are_apart() {
    check(
        vec![
            Event::Reasoning("hm".into()),
            Event::Reasoning("m".into()),
            Event::Text("a".into()),
            Event::Text("b".into()),
        ],
        json!({ "role": "assistant", "content": "ab", "reasoning_content": "hmm", "refusal": null }),
        json!([{ "reasoning_content": "hm" }, { "reasoning_content": "m" }, { "content": "a" }, { "content": "b" }]),
    );
}

#[test]
fn calls_come_with_id_first_and_arguments_in_pieces() {
    let first = json!({ "id": "c0", "type": "function", "function": { "name": "look", "arguments": "{\"a\":1}" } });
    let second = json!({ "id": "c1", "type": "function", "function": { "name": "go", "arguments": "{}" } });
    check(
        vec![
            start(0, "c0", "look"),
            args(0, "{\"a\""),
            args(0, ":1}"),
            Event::ToolEnd { index: 0 },
            start(1, "c1", "go"),
            args(1, "{}"),
            Event::ToolEnd { index: 1 },
        ],
        json!({ "role": "assistant", "content": null, "tool_calls": [first, second], "refusal": null }),
        json!([
            { "tool_calls": [{
                "index": 0, "id": "c0", "type": "function", "function": { "name": "look", "arguments": "" },
            }] },
            { "tool_calls": [{ "index": 0, "function": { "arguments": "{\"a\"" } }] },
            { "tool_calls": [{ "index": 0, "function": { "arguments": ":1}" } }] },
            { "tool_calls": [{
                "index": 1, "id": "c1", "type": "function", "function": { "name": "go", "arguments": "" },
            }] },
            { "tool_calls": [{ "index": 1, "function": { "arguments": "{}" } }] },
        ]),
    );
}
