//! `<|python_tag|>{"name": "zip", "parameters": {"a": 1}}`, the object alone, or `<function=zip>{"a": 1}</function>`:
//! Llama 3.x and 4.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, Wire};

const OPEN: usize = 0;
const CALL: usize = 1;
const AFTER: usize = 2;
const NAME: usize = 3;
const ARGUMENTS: usize = 4;

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "llama3",
    aliases: &["llama", "llama3_json", "llama4"],
    detect: &[
        Markers { all: &["<|python_tag|>"], none: &[] },
        Markers { all: &["<|start_header_id|>", "\"parameters\""], none: &[] },
    ],
    entries: &[Rule::new("<|python_tag|>", Goto::State(OPEN)), Rule::new("<function=", Goto::State(NAME))],
    fresh_entries: &[Rule::new("{", Goto::State(CALL)).peeks()],
    states: &[
        State {
            body: Body::Layout,
            rules: &[Rule::new("{", Goto::State(CALL)).peeks(), Rule::new("[", Goto::State(OPEN))],
            otherwise: Goto::Reject,
        },
        State { body: Body::JsonCall { done: Goto::State(AFTER) }, rules: &[], otherwise: Goto::Reject },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("{", Goto::State(CALL)).peeks(),
                Rule::new(";", Goto::State(AFTER)),
                Rule::new(",", Goto::State(AFTER)),
                Rule::new("]", Goto::State(AFTER)),
                Rule::new("</function>", Goto::State(AFTER)),
                Rule::new("<function=", Goto::State(NAME)),
                Rule::new("<|python_tag|>", Goto::State(OPEN)),
            ],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new(">", Goto::State(ARGUMENTS))],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::JsonArguments { done: Goto::State(AFTER) },
            rules: &[Rule::new("</function>", Goto::State(AFTER)).ends()],
            otherwise: Goto::Reject,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "",
        between: "; ",
        close: "",
        call: CallWire::Object { before: "", keys: ["name", "parameters"], after: "" },
    },
};
