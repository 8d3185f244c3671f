//! `<|tool_call>call:zip{path:<|"|>/tmp<|"|>,n:5,ok:true}<tool_call|>`: Gemma 4. The outer marks may be missing.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, Wire};

const OPEN: usize = 0;
const NAME: usize = 1;
const ARGUMENTS: usize = 2;
const AFTER: usize = 3;

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "gemma4",
    aliases: &["gemma_4"],
    detect: &[Markers { all: &["<|tool_call>", "call:"], none: &[] }],
    entries: &[Rule::new("<|tool_call>", Goto::State(OPEN))],
    fresh_entries: &[Rule::new("call:", Goto::State(NAME))],
    states: &[
        State { body: Body::Layout, rules: &[Rule::new("call:", Goto::State(NAME))], otherwise: Goto::State(NAME) },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("{", Goto::State(ARGUMENTS)).starts().peeks()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::GemmaArguments { done: Goto::State(AFTER) },
            rules: &[Rule::new("<tool_call|>", Goto::State(AFTER)).ends()],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("<tool_call|>", Goto::State(AFTER)),
                Rule::new("<|tool_call>", Goto::State(OPEN)),
                Rule::new("call:", Goto::State(NAME)),
            ],
            otherwise: Goto::Back,
        },
    ],
    literals: &["<|\"|>"],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire { open: "", between: "", close: "", call: CallWire::Gemma },
};
