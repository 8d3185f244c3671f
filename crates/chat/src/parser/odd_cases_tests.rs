//! What small and heavily quantized models make of their formats. All texts are ours.

use super::{Case, FinishReason, parse, pieces};

const CASES: &[(&str, &str, &str)] = &[
    (
        "hermes",
        "<tool_call>\n<tool_call>\n{\"name\": \"zip\", \"arguments\": {\"n\": 1}}\n</tool_call>\n</tool_call>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "hermes",
        "<tool_call>\n```json\n{\"name\": \"zip\", \"arguments\": {\"n\": 1}}\n```\n</tool_call>",
        "zip({\"n\": 1})$calls",
    ),
    ("hermes", "<tool_call>\n{\"name\": \"zip\", \"arguments\": {\"n\": 1}}}\n</tool_call>", "zip({\"n\": 1})$calls"),
    (
        "hermes",
        "<tool_call>\n{\"name\": \"functions.zip\", \"arguments\": {\"n\": 1}}\n</tool_call>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "hermes",
        "<tool_call>\n{\"name\": \"zip\", \"arguments\": {\"n\": 1, /* a path */ \"path\": \"a//b\"}}\n</tool_call>",
        "zip({\"n\": 1,  \"path\": \"a//b\"})$calls",
    ),
    (
        "hermes",
        "<tool_call>\n{\"name\": \"zip\", \"arguments\": {\"n\": 1 // one\n}}\n</tool_call>",
        "zip({\"n\": 1 \n})$calls",
    ),
    ("hermes", "<tool_call>\nzip\n{\"n\": 1}\n</tool_call>", "zip({\"n\": 1})$calls"),
    ("hermes", "<tool_call>\nzip(n=1)\n</tool_call>", "zip({\"n\":1})$calls"),
    ("hermes", "<tool_call>\n{\"name\": \"zip\", \"arguments\": {\"n\": 1}}\n<tool_call>", "zip({\"n\": 1})$calls"),
    ("hermes", "<tool_call>\n{\"name\": \"zip\", \"arguments\": {\"n\": 1}}\n</toolcall>", "zip({\"n\": 1})$calls"),
    ("hermes", "<tool_call>{\"tool\": \"zip\", \"args\": {\"n\": 1}}</tool_call>", "zip({\"n\": 1})$calls"),
    ("hermes", "<tool_call>{\"name\": \"zip\", \"input\": {\"n\": 1}}</tool_call>", "zip({\"n\": 1})$calls"),
    (
        "hermes",
        "<tool_call>\n{'name': 'zip', 'arguments': {'path': 'it\\'s', 'ok': True}}\n</tool_call>",
        "zip({\"path\": \"it's\", \"ok\": true})$calls",
    ),
    ("hermes", "<tool_call>\n{name: \"zip\", arguments: {n: 1}}\n</tool_call>", "zip({\"n\": 1})$calls"),
    ("hermes", "<tools>\n{\"name\": \"zip\", \"arguments\": {\"n\": 1}}\n</tools>", "zip({\"n\": 1})$calls"),
    (
        "hermes",
        "<function_call>\n{\"name\": \"zip\", \"arguments\": {\"n\": 1}}\n</function_call>",
        "zip({\"n\": 1})$calls",
    ),
    ("hermes", "```tool_code\nzip(n=1)\n```", "zip({\"n\":1})$calls"),
    (
        "qwen3_coder",
        "<tool_call>\n<function=\"zip\">\n<parameter=\"n\">\n1\n</parameter>\n</function>\n</tool_call>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "qwen3_coder",
        "<tool_call>\n<function name=\"zip\">\n<parameter name=\"n\">1</parameter>\n</function>\n</tool_call>",
        "zip({\"n\": 1})$calls",
    ),
    ("qwen3_coder", "<tool_call>\n<function=zip>{\"n\": 1}</function>\n</tool_call>", "zip({\"n\": 1})$calls"),
    (
        "qwen3_coder",
        "<tool_call>\n<function=zip>\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>\n</tool_call>",
        "zip({\"n\": 1})$calls",
    ),
    ("glm47", "<tool_call>zip\n{\"n\": 1}</tool_call>", "zip({\"n\": 1})$calls"),
    ("glm47", "<tool_call>{\"name\": \"zip\", \"arguments\": {\"n\": 1}}</tool_call>", "zip({\"n\": 1})$calls"),
    ("glm47", "<tool_call>zip<arg_key>n<arg_value>1</arg_value></tool_call>", "zip({\"n\": 1})$calls"),
    ("gemma4", "<|tool_call>zip{n:1}<tool_call|>", "zip({\"n\": 1})$calls"),
    (
        "harmony",
        "<|channel|>commentary to=functions.zip<|message|>```json\n{\"n\": 1}\n```<|call|>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "deepseek_v31",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>zip\n```json\n{\"n\": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "deepseek_v31",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>zip<｜tool▁sep｜>```json\n{\"n\": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "deepseek_v3",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>zip<｜tool▁sep｜>{\"n\": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "zip({\"n\": 1})$calls",
    ),
    ("minimax", "<invoke name=\"zip\">\n<parameter name=\"n\">1</parameter>\n</invoke>", "zip({\"n\": 1})$calls"),
    (
        "minimax",
        "<minimax:tool_call>\n<invoke name='zip'>\n<parameter name=n>1</parameter>\n</invoke>\n</minimax:tool_call>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "lfm2",
        "<|tool_call_start|>[zip(path=\"\"\"a\n\"b\" \"\"c\"\"\")]<|tool_call_end|>",
        "zip({\"path\":\"a\\n\\\"b\\\" \\\"\\\"c\"})$calls",
    ),
    (
        "lfm2",
        "<|tool_call_start|>[zip(path='a' \"b\"\n'c', n=1)]<|tool_call_end|>",
        "zip({\"path\":\"abc\", \"n\":1})$calls",
    ),
    (
        "lfm2",
        "<|tool_call_start|>[zip(path=\"\", n=1, l=[\"\", \"\"\"\"\"\"])]<|tool_call_end|>",
        "zip({\"path\":\"\", \"n\":1, \"l\":[\"\", \"\"]})$calls",
    ),
    (
        "lfm2",
        "<|tool_call_start|>[zip(n=1, # one\n path=\"#a\")]<|tool_call_end|>",
        "zip({\"n\":1, \n \"path\":\"#a\"})$calls",
    ),
    (
        "lfm2",
        "<|tool_call_start|>{\"name\": \"zip\", \"arguments\": {\"n\": 1}}<|tool_call_end|>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "lfm2",
        "<|tool_call_start|>[{\"name\": \"zip\", \"arguments\": {\"n\": 1}}, noop()]<|tool_call_end|>",
        "zip({\"n\": 1})noop({})$calls",
    ),
    (
        "lfm2",
        "<|tool_call_start|>[zip(**{\"path\": \"a}\", \"l\": {\"m\": [1]}}), zip(**{'n': 1}, ok=True, **{})]<|tool_call_end|>",
        "zip({\"path\": \"a}\", \"l\": [{\"m\": [1]}]})zip({\"n\": 1, \"ok\":true})$calls",
    ),
    (
        "lfm2",
        "<|tool_call_start|>[zip(n=2, /* ** { */ **{\"path\": \"**{\",})]<|tool_call_end|>",
        "zip({\"n\":2,  \"path\": \"**{\"})$calls",
    ),
    (
        "hermes",
        "<tool_call>\n{\"name\": \"zip\", \"arguments\": {\"path\": \"the \"big\" one\", \"n\": 1}}\n</tool_call>",
        "zip({\"path\": \"the \\\"big\\\" one\", \"n\": 1})$calls",
    ),
    (
        "hermes",
        "<tool_call>\n{\"name\": \"zip\", \"arguments\": {\"l\": [\"a \"b\".\", \"\" , \"say \"hi\"\"]}}\n</tool_call>",
        "zip({\"l\": [\"a \\\"b\\\".\", \"\" , \"say \\\"hi\\\"\"]})$calls",
    ),
    (
        "hermes",
        "<tool_call>\n{'name': 'zip', 'arguments': {'path': 'it's here'}}\n</tool_call>",
        "zip({\"path\": \"it's here\"})$calls",
    ),
    (
        "hermes",
        "<tool_call>\n{\"name\": \"zip\", \"arguments\": {\"path\": \"a\" \"n\": 1 \"ok\": true}}\n</tool_call>",
        "zip({\"path\": \"a\" ,\"n\": 1 ,\"ok\": true})$calls",
    ),
    ("hermes", "<tool_call>\nzip(\"a\", 2)\n</tool_call>", "zip({\"path\":\"a\", \"n\":2})$calls"),
    (
        "lfm2",
        "<|tool_call_start|>[zip('it's \"so\"', 3, ok=False), zip(Zug), zip(n=1)]<|tool_call_end|>",
        "zip({\"path\":\"it's \\\"so\\\"\", \"n\":3, \"ok\":false})zip({\"path\":\"Zug\"})zip({\"n\":1})$calls",
    ),
    (
        "lfm2",
        "<|tool_call_start|>[zip(path=\"the \"big\" one\", n=1)]<|tool_call_end|>",
        "zip({\"path\":\"the \\\"big\\\" one\", \"n\":1})$calls",
    ),
    (
        "lfm2",
        "<|tool_call_start|>[zip(None, -1 , True, {\"n\": 1}, [2], 'x')]<|tool_call_end|>",
        "zip({\"path\":null, \"n\":-1 , \"ok\":true, \"o\":{\"n\": 1}, \"l\":[2], \"any\":\"x\"})$calls",
    ),
    (
        "kimi_k3",
        "<|open|>tools<|sep|><|open|>call tool=\"zip\"<|sep|><|open|>argument key=\"path\"<|sep|>a<|close|>argument<|sep|><|open|>json<|sep|>{\"n\": 1}<|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
        "zip({\"path\": \"a\"})$calls",
    ),
    (
        "kimi_k3",
        "<|open|>tools<|sep|><|open|>call tool=\"zip\"<|sep|><|open|>argument key=\"path\"<|sep|>a<|close|>argument<|sep|><|open|>json<|sep|>\"b",
        "zip({\"path\": \"a\"})$calls",
    ),
];

#[test]
fn odd_calls_are_calls_however_they_are_cut() {
    for &(format, wire, events) in CASES {
        let case = Case { format, prompt_tail: "", wire, events };
        assert_eq!(parse(&case, std::iter::once(wire), FinishReason::Stop), events, "{format}: {wire:?}");
        for n in 1..wire.chars().count() {
            let cut = wire.char_indices().nth(n).map_or(wire.len(), |(at, _)| at);
            let halves = [&wire[..cut], &wire[cut..]];
            assert_eq!(
                parse(&case, halves.into_iter(), FinishReason::Stop),
                events,
                "{format}, cut at {cut}: {wire:?}"
            );
        }
        let each = parse(&case, pieces(wire, |_| true).into_iter(), FinishReason::Stop);
        assert_eq!(each, events, "{format}, by characters: {wire:?}");
    }
}

#[test]
fn calls_of_megabytes_are_read_in_one_piece_too() {
    let path = "x".repeat(3 << 20);
    let wire = format!("<tool_call>\n{{\"name\": \"zip\", \"arguments\": {{\"path\": \"{path}\"}}}}\n</tool_call>");
    let events = format!("zip({{\"path\": \"{path}\"}})$calls");
    let case = Case { format: "hermes", prompt_tail: "", wire: "", events: "" };
    let read = |piece: usize| {
        let pieces = wire.as_bytes().chunks(piece).map(|piece| std::str::from_utf8(piece).unwrap());
        parse(&case, pieces, FinishReason::Stop)
    };
    for piece in [wire.len(), 1 << 20, 1000] {
        assert!(read(piece) == events, "in pieces of {piece} bytes");
    }
}
