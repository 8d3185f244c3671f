//! A million outputs: calls of every format with random arguments, cut at random, and rubbish made of their markup.

use serde_json::{Map, Value, json};

use super::super::{Event, FinishReason, OutputFormat, OutputOptions, OutputParser, pieces};
use super::{formats, has_marks, is_writable, tools};

/// Outputs of each kind and format: together a million under `cargo xtask test --all`.
fn n_outputs() -> usize {
    if std::env::var_os("TOKBAR_TEST_ALL").is_some() { 25_000 } else { 60 }
}

/// Numbers by chance (Knuth's MMIX generator).
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Up to `n` parts in a row.
    fn text(&mut self, parts: &[&str], n: usize) -> String {
        (0..self.below(n + 1)).map(|_| self.pick(parts)).collect()
    }
}

/// What strings are made of, besides the format's terminals.
const STRING_PARTS: [&str; 28] = [
    "a", "Zürich", "中", "😀", " ", "  ", "\n", "\t", "\\", "\"", "'", "{", "}", "[", "]", ":", ",", "<", ">", "/",
    "\\n", "\\u0041", "&amp;", "null", "5", "```", "<b>", "\u{7f}",
];
/// Prose without markup.
const WORDS: [&str; 8] = ["I look. ", "Well, ", "5 > 3, ", "it's \"fine\" ", "né ", "中文 ", "line\n", "so: "];

/// Arguments of a call. None of the format's marks stands in a string: where values are not quoted, a closer with what may
/// follow it is the end of the value, whoever wrote it. The fixtures have those that can be told apart.
fn arguments(chance: &mut Chance) -> Value {
    let mut arguments = Map::new();
    for name in ["s", "t"] {
        if chance.below(3) > 0 {
            arguments.insert(name.to_owned(), json!(chance.text(&STRING_PARTS, 9)));
        }
    }
    if chance.below(2) > 0 {
        arguments.insert("n".to_owned(), json!(chance.below(2000) as i64 - 1000));
    }
    if chance.below(3) == 0 {
        arguments.insert("b".to_owned(), json!(chance.below(2) == 0));
    }
    if chance.below(4) == 0 {
        arguments.insert("l".to_owned(), json!((0..chance.below(4)).collect::<Vec<_>>()));
    }
    if chance.below(4) == 0 {
        let inner = chance.text(&STRING_PARTS, 4);
        arguments.insert("o".to_owned(), json!({"s": inner, "l": [{"s": "x", "b": true}]}));
    }
    Value::Object(arguments)
}

fn read(format: &OutputFormat, wire: &[&str]) -> Vec<Event> {
    let tools = tools();
    let mut parser = OutputParser::new(format, &OutputOptions { tools: &tools, prompt_tail: "", id_seed: 1 });
    let mut events: Vec<Event> = wire.iter().flat_map(|piece| parser.push(piece)).collect();
    events.extend(parser.finish(FinishReason::Stop));
    events
}

/// The events with pieces of one kind joined.
fn joined(events: Vec<Event>) -> Vec<Event> {
    let mut out: Vec<Event> = Vec::new();
    for event in events {
        match (out.last_mut(), event) {
            (Some(Event::Text(text)), Event::Text(more)) | (Some(Event::Reasoning(text)), Event::Reasoning(more)) => {
                text.push_str(&more);
            }
            (Some(Event::ToolArgs { index, json }), Event::ToolArgs { index: of, json: more }) if *index == of => {
                json.push_str(&more);
            }
            (_, event) => out.push(event),
        }
    }
    out
}

fn check_calls(format: &OutputFormat, chance: &mut Chance) {
    let tools = format.tools.unwrap();
    let calls: Vec<Value> = (0..1 + chance.below(3)).map(|_| arguments(chance)).collect();
    let named: Vec<_> = calls.iter().map(|arguments| ("mix", arguments.clone())).collect();
    if !is_writable(tools, &named) {
        return;
    }
    let prose = if has_marks(format) { chance.text(&WORDS, 3) } else { String::new() };
    let wire = prose.clone() + &tools.write_calls(named.iter().map(|(name, arguments)| (*name, arguments)));
    let cut = pieces(&wire, |_| chance.below(4) == 0);
    let events = joined(read(format, &cut));
    let mut found = Vec::new();
    for event in events {
        match event {
            Event::Text(text) => {
                assert!(prose.starts_with(text.trim_end()), "{}: {wire:?} as {cut:?} shows {text:?}", tools.name);
            }
            Event::Reasoning(text) => panic!("{}: {wire:?} thinks {text:?}", tools.name),
            Event::ToolArgs { json, .. } => found.push(serde_json::from_str::<Value>(&json).unwrap()),
            _ => {}
        }
    }
    assert_eq!(found, calls, "{}: {wire:?} as {cut:?}", tools.name);
}

fn check_rubbish(format: &OutputFormat, chance: &mut Chance, terminals: &[&'static str]) {
    let parts = [
        &["mix", "noop", "s", "n", "=", "(", ")", "\"name\": \"mix\"", "<think>", "</think>"],
        &STRING_PARTS[..],
        terminals,
    ]
    .concat();
    let wire = chance.text(&parts, 24);
    let cut = pieces(&wire, |_| chance.below(3) == 0);
    let whole = joined(read(format, &[&wire]));
    assert_eq!(whole, joined(read(format, &cut)), "{}: {wire:?} as {cut:?}", format.tools.unwrap().name);
    let shown: usize = whole.iter().map(|event| if let Event::Text(text) = event { text.len() } else { 0 }).sum();
    assert!(shown <= wire.len(), "{wire:?} shows {whole:?}");
}

#[test]
fn a_million_outputs_are_read_alike_however_they_are_cut_and_show_no_markup() {
    for (idx, format) in formats().enumerate() {
        let mut chance = Chance(idx as u64);
        let tools = OutputFormat { reasoning: None, ..format };
        let terminals: Vec<&'static str> = tools.terminals().collect();
        for _ in 0..n_outputs() {
            check_calls(&format, &mut chance);
            check_rubbish(&format, &mut chance, &terminals);
        }
    }
}
