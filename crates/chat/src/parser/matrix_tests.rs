//! Every format against every kind of call: written as the model writes it, read back, at every cut.

use serde_json::{Value, json};

use super::{Event, FinishReason, OutputFormat, OutputOptions, OutputParser, Tool, ToolFormat, pieces};
use crate::formats::{CallWire, Scope};

#[path = "storm_tests.rs"]
mod storm;

/// What an output says, whatever the pieces.
#[derive(Debug, Default, PartialEq)]
struct Said {
    text: String,
    reasoning: String,
    calls: Vec<(String, Value)>,
}

fn tools() -> Vec<Tool> {
    let properties = json!({
        "s": {"type": "string"}, "t": {"type": "string"}, "n": {"type": "integer"}, "x": {"type": "number"},
        "b": {"type": "boolean"}, "l": {"type": "array", "items": {"type": "integer"}},
        "o": {"type": "object", "properties": {
            "s": {"type": "string"}, "l": {"type": "array", "items": {"type": "object", "properties": {
                "s": {"type": "string"}, "b": {"type": "boolean"}}}}}},
    });
    let tool = |name: &str, properties: Value| Tool {
        name: name.to_owned(),
        description: None,
        parameters: json!({"type": "object", "properties": properties}),
    };
    vec![tool("mix", properties), tool("noop", json!({}))]
}

/// Calls of every kind; the strings of markers come from the format itself.
fn kinds(format: &ToolFormat) -> Vec<Vec<(&'static str, Value)>> {
    let one = |arguments: Value| vec![("mix", arguments)];
    let mut kinds = vec![
        one(json!({"s": "a", "n": 5})),
        vec![("mix", json!({"n": 1})), ("mix", json!({"n": 2})), ("noop", json!({})), ("mix", json!({"s": "z"}))],
        vec![("noop", json!({}))],
        one(json!({"o": {"s": "deep", "l": [{"s": "x", "b": true}, {"s": "y", "b": false}]}, "l": [1, -2, 3]})),
        one(json!({"s": "line 1\nline 2\n\n", "t": "  spaces  "})),
        one(json!({"s": "\n", "t": " "})),
        one(json!({"s": "é中😀\u{200b}\u{7f}", "t": "tab\there \"quoted\" 'single' back\\slash \\n \\u0041"})),
        one(json!({"n": -7, "x": 1.5e-3, "b": false, "s": "5", "t": "true"})),
        one(json!({"s": "null", "t": "[1, 2]"})),
        one(json!({"s": "{\"name\": \"noop\", \"arguments\": {}}", "t": "x"})),
        one(json!({"s": "", "n": 0})),
        one(json!({"s": "<think>not a thought</think> & <b>bold</b>", "t": "```json\n{}\n```"})),
    ];
    let terminals = OutputFormat { tools: OutputFormat::tool_format(format.name).ok(), reasoning: None };
    let terminals: std::collections::BTreeSet<_> = terminals.terminals().collect();
    kinds.extend(terminals.into_iter().map(|terminal| one(json!({"s": format!("a {terminal} b"), "n": 1}))));
    if let CallWire::Elements(mark) = format.wire.call {
        kinds.push(one(json!({"s": format!("a {mark}</s> b"), "t": format!("{mark}</s>{mark}<t>"), "n": 1})));
    }
    kinds
}

/// What a format has no way to write.
fn is_writable(format: &ToolFormat, calls: &[(&str, Value)]) -> bool {
    let text = Value::from(calls.iter().map(|(_, arguments)| arguments.clone()).collect::<Vec<_>>()).to_string();
    match format.wire.call {
        // Strings are between quotes that have no escape.
        CallWire::Gemma => !text.contains("<|\\\"|>"),
        // The plain and the quoted way to end a value are the same there.
        CallWire::Pairs { .. } if format.name == "minicpm" => !text.contains("]]></param>"),
        // The end of the block counts even inside a value whose end was forgotten.
        CallWire::Elements(_) => !text.contains("</tool_call>"),
        _ => true,
    }
}

fn said(events: impl IntoIterator<Item = Event>) -> Said {
    let mut said = Said::default();
    let mut arguments = Vec::new();
    for event in events {
        match event {
            Event::Text(text) => said.text.push_str(&text),
            Event::Reasoning(text) => said.reasoning.push_str(&text),
            Event::ToolStart { name, index, .. } => {
                assert_eq!(index, arguments.len());
                arguments.push((name, String::new()));
            }
            Event::ToolArgs { json, .. } => arguments.last_mut().unwrap().1.push_str(&json),
            Event::ToolEnd { .. } | Event::Finish(_) => {}
        }
    }
    said.calls = arguments.into_iter().map(|(name, json)| (name, serde_json::from_str(&json).expect(&json))).collect();
    said
}

fn read(format: &OutputFormat, tail: &str, pieces: &[&str]) -> Said {
    let tools = tools();
    let mut parser = OutputParser::new(format, &OutputOptions { tools: &tools, prompt_tail: tail, id_seed: 1 });
    let mut events: Vec<Event> = pieces.iter().flat_map(|piece| parser.push(piece)).collect();
    events.extend(parser.finish(FinishReason::Stop));
    said(events)
}

fn check(format: &OutputFormat, tail: &str, wire: &str, expected: &Said) {
    let name = format.tools.unwrap().name;
    assert_eq!(&read(format, tail, &[wire]), expected, "{name}: {wire:?}");
    assert_eq!(&read(format, tail, &pieces(wire, |_| true)), expected, "{name}, by characters: {wire:?}");
    for (split, _) in wire.char_indices().skip(1).step_by(7) {
        assert_eq!(&read(format, tail, &[&wire[..split], &wire[split..]]), expected, "{name} at {split}: {wire:?}");
    }
}

fn formats() -> impl Iterator<Item = OutputFormat> {
    ToolFormat::all().map(|tools| {
        let own = OutputFormat::reasoning_format(tools.name).ok();
        let reasoning = if tools.scope == Scope::Channels { None } else { own };
        let reasoning = reasoning.or_else(|| OutputFormat::reasoning_format("qwen3").ok());
        OutputFormat { tools: Some(tools), reasoning: reasoning.filter(|_| tools.scope != Scope::Channels) }
    })
}

#[test]
fn every_format_reads_back_every_kind_of_call() {
    for format in formats() {
        let tools = format.tools.unwrap();
        for calls in kinds(tools).iter().filter(|calls| is_writable(tools, calls)) {
            let wire = tools.write_calls(calls.iter().map(|(name, arguments)| (*name, arguments)));
            let owned = calls.iter().map(|(name, arguments)| ((*name).to_owned(), arguments.clone())).collect();
            check(&format, "", &wire, &Said { calls: owned, ..Said::default() });
        }
    }
}

/// Formats whose calls may follow a text, and may stand in a thought. The others have headers for that, see their cases.
fn has_marks(format: &OutputFormat) -> bool {
    let tools = format.tools.unwrap();
    tools.scope != Scope::Channels && !matches!(tools.name, "llama3" | "ui_tars" | "functionary")
}

#[test]
fn text_and_thoughts_stand_around_calls() {
    for format in formats().filter(has_marks) {
        let (tools, tags) = (format.tools.unwrap(), format.reasoning.unwrap());
        let call = ("mix", json!({"s": "a\n", "n": 5}));
        let wire = tools.write_calls([(call.0, &call.1)]);
        let calls = |n: usize| vec![(call.0.to_owned(), call.1.clone()); n];
        let (open, close) = (tags.open, tags.close);
        let say =
            |text: &str, reasoning: &str, n| Said { text: text.into(), reasoning: reasoning.into(), calls: calls(n) };
        check(&format, "", &format!("Before. {wire}"), &say("Before. ", "", 1));
        check(&format, "", &format!("{wire}\nAfter."), &say("After.", "", 1));
        check(&format, "", &format!("{open}why{close}{wire}"), &say("", "why", 1));
        check(
            &format,
            "",
            &format!("{open}why{close}\n\nI look.\n\n{wire}"),
            &say(if tools.scope == Scope::Calls { "I look." } else { "I look.\n\n" }, "why", 1),
        );
        check(&format, "", &format!("{open}I do {wire} now{close}ok"), &say("ok", "I do now", 1));
        check(&format, open, &format!("why{close}{wire}"), &say("", "why", 1));
    }
}

#[test]
fn truncated_calls_never_leak_a_terminal_once_their_name_is_told() {
    for format in formats() {
        let tools = format.tools.unwrap();
        let call = ("mix", json!({"s": "abc", "n": 5}));
        let wire = tools.write_calls([(call.0, &call.1)]);
        for (end, _) in wire.char_indices() {
            let parsed = read(&format, "", &[&wire[..end]]);
            if parsed.calls.is_empty() {
                continue;
            }
            assert_eq!(
                (parsed.text.as_str(), parsed.reasoning.as_str()),
                ("", ""),
                "{}: {:?}",
                tools.name,
                &wire[..end]
            );
            assert_eq!(parsed.calls.len(), 1, "{}: {:?}", tools.name, &wire[..end]);
        }
    }
}
