//! `[TOOL_CALLS][{"name": "zip", "arguments": {"a": 1}}]`, later `[TOOL_CALLS]zip[ARGS]{"a": 1}`: Mistral and Devstral.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, Wire};

const OPEN: usize = 0;
const CALL: usize = 1;
const AFTER: usize = 2;
const NAME: usize = 3;
const ID: usize = 4;
const ARGUMENTS: usize = 5;

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "mistral",
    aliases: &["devstral", "ministral", "magistral"],
    detect: &[Markers { all: &["[TOOL_CALLS]"], none: &[] }],
    entries: &[Rule::new("[TOOL_CALLS]", Goto::State(OPEN))],
    fresh_entries: &[],
    states: &[
        State {
            body: Body::Layout,
            rules: &[Rule::new("[", Goto::State(OPEN)), Rule::new("{", Goto::State(CALL)).peeks()],
            otherwise: Goto::State(NAME),
        },
        State { body: Body::JsonCall { done: Goto::State(AFTER) }, rules: &[], otherwise: Goto::Reject },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("{", Goto::State(CALL)).peeks(),
                Rule::new(",", Goto::State(AFTER)),
                Rule::new("]", Goto::Back),
                Rule::new("[TOOL_CALLS]", Goto::State(OPEN)),
            ],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[
                Rule::new("[CALL_ID]", Goto::State(ID)),
                Rule::new("[ARGS]", Goto::State(ARGUMENTS)),
                Rule::new("{", Goto::State(ARGUMENTS)).peeks(),
            ],
            otherwise: Goto::Reject,
        },
        State { body: Body::Id, rules: &[Rule::new("[ARGS]", Goto::State(ARGUMENTS))], otherwise: Goto::Reject },
        State {
            body: Body::JsonArguments { done: Goto::State(AFTER) },
            rules: &[Rule::new("[TOOL_CALLS]", Goto::State(OPEN)).ends()],
            otherwise: Goto::Reject,
        },
    ],
    literals: &[],
    ids: IdStyle::Alphanumeric9,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "",
        between: "",
        close: "",
        call: CallWire::Named { before: "[TOOL_CALLS]", between: "[ARGS]", after: "" },
    },
};
