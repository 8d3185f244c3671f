//! `<tool_call>{"name": "zip", "arguments": {"a": 1}}</tool_call>`: Hermes, Qwen 2.5 and 3, and many more.

use super::{Body, Goto, IdStyle, Markers, Rule, State, ToolFormat};

const OPEN: usize = 0;
const CALL: usize = 1;
const AFTER: usize = 2;

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "hermes",
    aliases: &["nous", "qwen", "qwen3"],
    detect: &[Markers { all: &["<tool_call>"], none: &[] }],
    entries: &[Rule::new("<tool_call>", Goto::State(OPEN))],
    fresh_entries: &[Rule::new("{", Goto::State(CALL)).peeks()],
    states: &[
        // A list of calls in one pair of tags is read like calls of their own.
        State {
            body: Body::Layout,
            rules: &[Rule::new("{", Goto::State(CALL)).peeks(), Rule::new("[", Goto::State(OPEN))],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::JsonCall { done: Goto::State(AFTER) },
            rules: &[Rule::new("</tool_call>", Goto::Back).ends()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("{", Goto::State(CALL)).peeks(),
                Rule::new(",", Goto::State(AFTER)),
                Rule::new("]", Goto::State(AFTER)),
                Rule::new("</tool_call>", Goto::Back),
                Rule::new("<tool_call>", Goto::State(OPEN)),
            ],
            otherwise: Goto::Back,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    has_reasoning: false,
};
