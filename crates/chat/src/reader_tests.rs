use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{OutputFormat, OutputOptions, Tokenizer, Tool};

fn tools() -> Vec<Tool> {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    vec![Tool { name: "zip".to_owned(), description: None, parameters }]
}

/// One token per byte.
fn bytes() -> Arc<Tokenizer> {
    let vocab: serde_json::Map<_, _> = (0..256).map(|byte| (format!("<0x{byte:02X}>"), json!(byte))).collect();
    let steps = json!([{"type": "ByteFallback"}, {"type": "Fuse"}]);
    let file = json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Sequence", "decoders": steps},
        "model": {"type": "BPE", "vocab": vocab, "merges": []}});
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("tokenizer.json"), file.to_string()).unwrap();
    Arc::new(Tokenizer::load(dir.path()).unwrap())
}

/// Reads `wire`, one byte a token, and tells events as one line, and the settled bytes after each token.
fn read(wire: &str, stop: &[&str], reason: FinishReason) -> (String, Vec<usize>, FinishReason) {
    let format = OutputFormat {
        tools: OutputFormat::tool_format("hermes").ok(),
        reasoning: OutputFormat::reasoning_format("qwen3").ok(),
    };
    let tools = tools();
    let parser = format_parser(&format, &tools);
    let stop = StopStrings::new(stop.iter().map(|text| (*text).to_owned()).collect()).unwrap();
    let tokenizer = bytes();
    let mut reader = OutputReader::new(tokenizer.detokenizer(), Some(parser), stop);
    let (mut events, mut settled) = (Vec::new(), Vec::new());
    for byte in wire.bytes() {
        let reading = reader.push(u32::from(byte));
        events.extend(reading.events);
        settled.push(reading.n_bytes_settled);
        if reading.is_stopped {
            return (line(&events), settled, reader.stop_reason());
        }
    }
    let (reading, reason) = reader.finish(reason);
    events.extend(reading.events);
    settled.push(reading.n_bytes_settled);
    (line(&events), settled, reason)
}

fn format_parser(format: &OutputFormat, tools: &[Tool]) -> OutputParser {
    OutputParser::new(format, &OutputOptions { tools, prompt_tail: "", id_seed: 1 })
}

fn line(events: &[Event]) -> String {
    let piece = |event: &Event| match event {
        Event::Text(text) => text.clone(),
        Event::Reasoning(text) => format!("~{text}~"),
        Event::ToolStart { name, .. } => format!("{name}("),
        Event::ToolArgs { json, .. } => json.clone(),
        Event::ToolEnd { .. } => ")".to_owned(),
        Event::Finish(_) => panic!("a reading has no finish"),
    };
    events.iter().map(piece).collect::<String>().replace("~~", "")
}

const CALL: &str = "<tool_call>{\"name\": \"zip\", \"arguments\": {\"path\": \"STOP\"}}</tool_call>";

#[test]
fn stop_strings_count_in_the_answer_only() {
    let zip = "zip({\"path\": \"STOP\"})";
    let cases = [
        ("<think>STOP</think>ok STOP no".to_owned(), "~STOP~ok ".to_owned(), FinishReason::Stop),
        ("<think>STOP".to_owned(), "~STOP~".to_owned(), FinishReason::Length),
        (CALL.to_owned(), zip.to_owned(), FinishReason::ToolCalls),
        (format!("a{CALL}b STOP c"), format!("a{zip}b "), FinishReason::ToolCalls),
        // A call between two halves of a stop string keeps both.
        (format!("ST{CALL}OP"), format!("ST{zip}OP"), FinishReason::ToolCalls),
        ("one STO".to_owned(), "one STO".to_owned(), FinishReason::Length),
    ];
    for (wire, expected, reason) in cases {
        let given = if reason == FinishReason::ToolCalls { FinishReason::Stop } else { reason };
        let (events, _, found) = read(&wire, &["STOP"], given);
        assert_eq!((events, found), (expected, reason), "{wire:?}");
    }
}

#[test]
fn a_stop_string_that_the_parser_held_back_stops_at_the_end() {
    // `[` may open a list of calls until the output ends.
    let (events, _, reason) = read("[", &["["], FinishReason::Length);
    assert_eq!((events.as_str(), reason), ("", FinishReason::Stop));
}

#[test]
fn one_call_is_read_where_one_may_be_made() {
    let format = OutputFormat { tools: OutputFormat::tool_format("hermes").ok(), reasoning: None };
    // The last is no call in the format's own form.
    for wire in
        [format!("a{CALL}{CALL}b"), format!("a{CALL}\nb"), "{\"name\": \"zip\", \"arguments\": {}}\n\nb c".to_owned()]
    {
        let (tools, stop) = (tools(), StopStrings::new(Vec::new()).unwrap());
        let reader = OutputReader::new(bytes().detokenizer(), Some(format_parser(&format, &tools)), stop);
        let mut reader = reader.with_calls(CallCount::One);
        let mut events = Vec::new();
        let stopped = wire.bytes().position(|byte| {
            let reading = reader.push(u32::from(byte));
            events.extend(reading.events);
            reading.is_stopped
        });
        let n_ends = events.iter().filter(|event| matches!(event, Event::ToolEnd { .. })).count();
        assert!(stopped.is_some() && n_ends == 1, "{wire:?} gives {events:?}");
        assert!(matches!(events.last(), Some(Event::ToolEnd { .. })), "{events:?}");
        assert_eq!(reader.stop_reason(), FinishReason::ToolCalls);
    }
}

#[test]
fn settled_bytes_never_pass_what_was_read_and_reach_its_end() {
    for wire in ["plain é text", "<think>hm</think>\n\nok", &format!("x\n{CALL}\ny"), "a <tool_call> b"] {
        let (_, settled, _) = read(wire, &["never"], FinishReason::Stop);
        assert!(settled.is_sorted(), "{wire:?}: {settled:?}");
        assert!(settled.iter().enumerate().all(|(idx, n)| *n <= idx + 1), "{wire:?}: {settled:?}");
        assert_eq!(settled.last(), Some(&wire.len()), "{wire:?}");
    }
}
