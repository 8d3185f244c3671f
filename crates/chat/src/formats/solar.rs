//! `<|tool_call:begin|>ID<|tool_call:name|>zip<|tool_call:args|>{"a": 1}<|tool_call:end|>`: Solar Open.

use super::{Body, Goto, IdStyle, Markers, NameStyle, Rule, State, ToolFormat};

const ID: usize = 0;
const NAME: usize = 1;
const ARGUMENTS: usize = 2;
const AFTER: usize = 3;

const BEGIN: Rule = Rule::new("<|tool_call:begin|>", Goto::State(ID));

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "solar",
    aliases: &["solar_open"],
    detect: &[Markers { all: &["<|tool_call:begin|>", "<|tool_call:args|>"], none: &[] }],
    entries: &[BEGIN],
    fresh_entries: &[],
    states: &[
        State { body: Body::Id, rules: &[Rule::new("<|tool_call:name|>", Goto::State(NAME))], otherwise: Goto::Reject },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("<|tool_call:args|>", Goto::State(ARGUMENTS))],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::JsonArguments { done: Goto::State(AFTER) },
            rules: &[Rule::new("<|tool_call:end|>", Goto::State(AFTER)).ends()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[Rule::new("<|tool_call:end|>", Goto::State(AFTER)), BEGIN],
            otherwise: Goto::Back,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    has_reasoning: false,
};
