use serde_json::json;

use super::*;

#[path = "parser/cases_tests.rs"]
mod cases;
#[path = "parser/fuzz_tests.rs"]
mod fuzz;
#[path = "parser/loose_tests.rs"]
mod loose_calls;
#[path = "parser/matrix_tests.rs"]
mod matrix;
#[path = "parser/more_cases_tests.rs"]
mod more_cases;
#[path = "parser/odd_cases_tests.rs"]
mod odd_cases;
#[path = "parser/token_split_tests.rs"]
mod token_splits;

/// Wire text of a format, what the prompt ended with, and the events it must give.
pub(super) struct Case {
    pub format: &'static str,
    pub prompt_tail: &'static str,
    pub wire: &'static str,
    pub events: &'static str,
}

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name: &str, properties| Tool {
        name: name.to_owned(),
        description: None,
        parameters: json!({"type": "object", "properties": properties}),
    };
    vec![
        tool(
            "zip",
            json!({"path": {"type": "string"}, "n": {"type": "integer"}, "ok": {"type": "boolean"},
            "o": {"type": "object"}, "l": {"type": "array"}, "any": {}, "maybe": {"type": ["string", "null"]}}),
        ),
        tool("zip_all", json!({"path": {"$ref": "#/$defs/path"}})),
        tool("noop", json!({})),
    ]
}

fn format(name: &str) -> OutputFormat {
    let tools = OutputFormat::tool_format(name).unwrap();
    let reasoning = if tools.has_reasoning() { None } else { OutputFormat::reasoning_format("qwen3").ok() };
    OutputFormat { tools: Some(tools), reasoning }
}

fn parser(case: &Case, tools: &[Tool]) -> OutputParser {
    OutputParser::new(&format(case.format), &OutputOptions { tools, prompt_tail: case.prompt_tail, id_seed: 1 })
}

/// Events as one line: `text`, `~thought~`, `zip(arguments)`, with a missing `)` where the call does not end.
fn line(events: &[Event]) -> String {
    let mut line = String::new();
    let mut last = 't';
    for event in events {
        let (kind, text) = match event {
            Event::Text(text) => ('t', text.clone()),
            Event::Reasoning(text) => ('r', text.clone()),
            Event::ToolStart { name, .. } => ('s', format!("{name}(")),
            Event::ToolArgs { json, .. } => ('a', json.clone()),
            Event::ToolEnd { .. } => ('e', ")".to_owned()),
            Event::Finish(FinishReason::Stop) => ('f', "$".to_owned()),
            Event::Finish(FinishReason::ToolCalls) => ('f', "$calls".to_owned()),
            Event::Finish(FinishReason::Length) => ('f', "$length".to_owned()),
        };
        if (last == 'r') != (kind == 'r') {
            line.push('~');
        }
        line.push_str(&text);
        last = kind;
    }
    line
}

fn parse<'a>(case: &Case, pieces: impl Iterator<Item = &'a str>, reason: FinishReason) -> String {
    let mut parser = parser(case, &tools());
    let mut events: Vec<Event> = pieces.flat_map(|piece| parser.push(piece)).collect();
    events.extend(parser.finish(reason));
    line(&events)
}

/// `text` cut at every character that `cut` wants.
fn pieces(text: &str, mut cut: impl FnMut(usize) -> bool) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for (at, _) in text.char_indices().skip(1) {
        if cut(at) {
            pieces.push(&text[from..at]);
            from = at;
        }
    }
    pieces.push(&text[from..]);
    pieces
}

#[test]
fn every_wire_gives_its_events_at_every_split() {
    let mut state = 1_u64;
    for case in cases::all() {
        let check = |pieces: Vec<&str>| {
            let events = parse(case, pieces.iter().copied(), FinishReason::Stop);
            assert_eq!(events, case.events, "{}: {:?} as {pieces:?}", case.format, case.wire);
        };
        check(vec![case.wire]);
        check(pieces(case.wire, |_| true));
        for (split, _) in case.wire.char_indices() {
            check(pieces(case.wire, |at| at == split));
        }
        for _ in 0..20 {
            check(pieces(case.wire, |_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                state >> 61 == 0
            }));
        }
    }
}

#[test]
fn output_cut_anywhere_parses_alike_whole_and_in_pieces_and_shows_no_half_call() {
    for case in cases::all() {
        for (end, _) in case.wire.char_indices() {
            let wire = &case.wire[..end];
            for reason in [FinishReason::Length, FinishReason::Stop] {
                let whole = parse(case, std::iter::once(wire), reason);
                assert_eq!(whole, parse(case, pieces(wire, |_| true).into_iter(), reason), "{}: {wire:?}", case.format);
            }
            check_arguments(case, wire);
        }
    }
}

/// Calls that end have an object for arguments.
fn check_arguments(case: &Case, wire: &str) {
    let mut parser = parser(case, &tools());
    let mut events = parser.push(wire);
    events.extend(parser.finish(FinishReason::Stop));
    let mut arguments = String::new();
    for event in events {
        match event {
            Event::ToolStart { .. } => arguments.clear(),
            Event::ToolArgs { json, .. } => arguments.push_str(&json),
            Event::ToolEnd { .. } => {
                let object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&arguments);
                assert!(object.is_ok(), "{}: {wire:?} gives {arguments:?}", case.format);
            }
            _ => {}
        }
    }
}

#[test]
fn without_tools_calls_are_text() {
    for case in cases::all()
        .filter(|case| !case.events.contains('~') && format(case.format).tools.unwrap().scope == Scope::Calls)
    {
        let mut parser = parser(case, &[]);
        let mut text = String::new();
        for event in parser.push(case.wire).into_iter().chain(parser.finish(FinishReason::Stop)) {
            match event {
                Event::Text(piece) => text.push_str(&piece),
                Event::Finish(FinishReason::Stop) => {}
                event => panic!("{}: {:?} gives {event:?}", case.format, case.wire),
            }
        }
        if !case.wire.contains("think>") {
            assert_eq!(text, case.wire, "{}", case.format);
        }
    }
}

#[test]
fn every_format_streams_the_beginning_of_long_arguments() {
    let long = "x".repeat(10_000);
    for (format, wire) in cases::openings() {
        let case = Case { format, prompt_tail: "", wire: "", events: "" };
        let tools = tools();
        let mut parser = parser(&case, &tools);
        let mut events = parser.push(wire);
        events.extend(parser.push(&long));
        let shown = line(&events);
        assert!(
            shown.len() > long.len() - 64,
            "{format} holds back {} bytes",
            long.len() as isize - shown.len() as isize
        );
        assert!(shown.starts_with("zip("), "{format}: {}", &shown[..40.min(shown.len())]);
    }
}

#[test]
fn time_is_linear_in_the_output() {
    // Each is the worst for some state: openers that never become calls, strings, keys, unclosed fences and brackets.
    let seeds =
        ["<", "\n", "<tool_call>{", "[TOOL_CALLS]", "</parameter>\n", "{\"a\":", "\"", "\\", "<|", "call:", "{{{{"];
    for (format, opening) in cases::openings() {
        for seed in seeds {
            let case = Case { format, prompt_tail: "", wire: "", events: "" };
            let tools = tools();
            let mut parser = parser(&case, &tools);
            let mut n_events = parser.push(opening).len();
            for _ in 0..5_000 {
                n_events += parser.push(seed).len();
                assert!(parser.pending.len() < 4096, "{format} {seed:?} holds back {}", parser.pending.len());
            }
            n_events += parser.finish(FinishReason::Stop).len();
            assert!(n_events > 0, "{format} {seed:?}");
        }
    }
}

#[test]
fn ids_differ_and_have_the_formats_style() {
    let wires = [
        ("hermes", "<tool_call>{\"name\": \"noop\"}</tool_call><tool_call>{\"name\": \"noop\"}</tool_call>", 21),
        ("mistral", "[TOOL_CALLS]noop{}[TOOL_CALLS]noop{}", 9),
    ];
    for (format, wire, n_chars) in wires {
        let case = Case { format, prompt_tail: "", wire, events: "" };
        let starts = parser(&case, &tools()).push(wire).into_iter().filter_map(|event| match event {
            Event::ToolStart { id, .. } => Some(id),
            _ => None,
        });
        let ids: Vec<_> = starts.collect();
        assert!(ids.len() == 2 && ids[0] != ids[1] && ids.iter().all(|id| id.len() == n_chars), "{format}: {ids:?}");
    }
    let wire = "<|tool_call_begin|>functions.noop:3<|tool_call_argument_begin|>{}<|tool_call_end|>";
    let events = parser(&Case { format: "kimi_k2", prompt_tail: "", wire, events: "" }, &tools()).push(wire);
    assert!(matches!(&events[0], Event::ToolStart { id, .. } if id == "functions.noop:3"), "{events:?}");
}

#[test]
fn every_reasoning_format_is_told_apart_from_the_answer() {
    for name in [
        "cohere_command4",
        "gemma4",
        "hy_v3",
        "mistral",
        "seed_oss",
        "kimi_k3",
        "minimax_m3",
        "k2_horizon",
        "apertus",
        "apriel",
        "qwen3",
    ] {
        let reasoning = OutputFormat::reasoning_format(name).unwrap();
        let (open, close) = (reasoning.open, reasoning.close);
        for (prompt_tail, wire, expected) in [
            ("", format!("{open}\nhm {{1}}\n{close}\n\nok {open}"), format!("~hm {{1}}~ok {open}$")),
            (open, format!("hm{close}ok"), "~hm~ok$".to_owned()),
            ("", format!("ok {close} ok"), format!("ok {close} ok$")),
        ] {
            let format = OutputFormat { tools: None, reasoning: Some(reasoning) };
            for pieces in [vec![wire.as_str()], pieces(&wire, |_| true)] {
                let mut parser = OutputParser::new(&format, &OutputOptions { prompt_tail, ..OutputOptions::default() });
                let mut events: Vec<Event> = pieces.iter().flat_map(|piece| parser.push(piece)).collect();
                events.extend(parser.finish(FinishReason::Stop));
                assert_eq!(line(&events), expected, "{name}: {wire:?}");
            }
        }
    }
}
