//! Calls that are written otherwise than the family does, and texts that only look like calls.

use super::{Case, FinishReason, parse, pieces};

/// What any format that marks calls only makes of them.
const CASES: [(&str, &str); 26] = [
    ("{\"name\": \"zip\", \"arguments\": {\"n\": 1}}", "zip({\"n\": 1})$calls"),
    ("```json\n{\"name\": \"zip\", \"arguments\": {\"n\": 1}}\n```", "zip({\"n\": 1})$calls"),
    ("```\n{\"name\": \"noop\", \"arguments\": {}}\n```\n", "noop({})$calls"),
    ("```tool_call\n{\"name\": \"noop\", \"arguments\": {}}\n```", "noop({})$calls"),
    (
        "[{\"name\": \"zip\", \"arguments\": {\"n\": 1}}, {\"name\": \"noop\", \"arguments\": {}}]",
        "zip({\"n\": 1})noop({})$calls",
    ),
    ("[zip(n=1, path='a'), noop()]", "zip({\"n\":1, \"path\":\"a\"})noop({})$calls"),
    ("{\"name\": \"zip\", \"arguments\": {\"n\": 1}}</tool_call>", "zip({\"n\": 1})$calls"),
    ("<think>hm</think>{\"name\": \"zip\", \"parameters\": {\"n\": 1}}", "~hm~zip({\"n\": 1})$calls"),
    ("[Calling tool: zip({\"n\": 1})]", "zip({\"n\": 1})$calls"),
    ("I zip. [Calling tool: noop({})]", "I zip. noop({})$calls"),
    ("{\"name\": \"zip\", \"arguments\": {\"n\": 1", "zip({\"n\": 1})$calls"),
    ("{\"type\": \"function\", \"function\": {\"name\": \"noop\", \"arguments\": {}}}", "noop({})$calls"),
    // Undeclared names and other JSON stay as they are.
    ("{\"name\": \"nope\", \"arguments\": {}}", "{\"name\": \"nope\", \"arguments\": {}}$"),
    ("```json\n{\"name\": \"nope\", \"arguments\": {}}\n```", "```json\n{\"name\": \"nope\", \"arguments\": {}}\n```$"),
    ("[nope(a=1)]", "[nope(a=1)]$"),
    ("[1, 2, 3]", "[1, 2, 3]$"),
    ("{\"answer\": 42}", "{\"answer\": 42}$"),
    ("```python\nprint(1)\n```\nDone.", "```python\nprint(1)\n```\nDone.$"),
    // Examples in code blocks stay text.
    (
        "Write it so:\n```json\n{\"name\": \"zip\", \"arguments\": {\"n\": 1}}\n```\nThat is all.",
        "Write it so:\n```json\n{\"name\": \"zip\", \"arguments\": {\"n\": 1}}\n```\nThat is all.$",
    ),
    (
        "So:\n```\n<tool_call>{\"name\": \"zip\", \"arguments\": {}}</tool_call>\n```\nok",
        "So:\n```\n<tool_call>{\"name\": \"zip\", \"arguments\": {}}</tool_call>\n```\nok$",
    ),
    (
        "So:\n```xml\n<function=zip>\n<parameter=n>1</parameter>\n</function>\n```",
        "So:\n```xml\n<function=zip>\n<parameter=n>1</parameter>\n</function>\n```$",
    ),
    ("Use the <function= tag.", "Use the <function= tag.$"),
    (
        "The <tool_call> tag and </tool_call> stand around calls.",
        "The <tool_call> tag and </tool_call> stand around calls.$",
    ),
    ("Say [Calling tool: x] to call.", "Say [Calling tool: x] to call.$"),
    // Arguments that do not fit the schema.
    (
        "{\"name\": \"zip\", \"arguments\": {\"n\": \"5\", \"l\": 1, \"path\": 7}}",
        "zip({\"n\": 5, \"l\": [1], \"path\": \"7\"})$calls",
    ),
    ("{\"name\": \"zip\", \"arguments\": {\"o\": \"{\\\"a\\\": 1}\"}}", "zip({\"o\": {\"a\": 1}})$calls"),
];

const FORMATS: [&str; 8] = ["hermes", "qwen3_coder", "mistral", "llama3", "glm47", "deepseek_v3", "kimi_k2", "minimax"];

#[test]
fn loose_calls_of_declared_tools_are_calls_and_examples_are_text() {
    for format in FORMATS {
        for (wire, expected) in CASES {
            let case = Case { format, prompt_tail: "", wire, events: expected };
            assert_eq!(parse(&case, std::iter::once(wire), FinishReason::Stop), expected, "{format}: {wire:?}");
            let each = parse(&case, pieces(wire, |_| true).into_iter(), FinishReason::Stop);
            assert_eq!(each, expected, "{format}, by characters: {wire:?}");
        }
    }
}
