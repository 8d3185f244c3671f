//! `Action: click(point='<point>200 300</point>')`: UI-TARS. An action is a call of the tool `computer` unless a tool
//! has its name.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, Wire};

const NAME: usize = 0;
const ARGUMENTS: usize = 1;

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "ui_tars",
    aliases: &["ui-tars"],
    detect: &[
        Markers { all: &["Thought: ...\nAction:"], none: &[] },
        Markers { all: &["Thought: ...\\nAction:"], none: &[] },
    ],
    entries: &[Rule::new("Action:", Goto::State(NAME))],
    fresh_entries: &[],
    states: &[
        State {
            body: Body::Name(NameStyle::Action),
            rules: &[Rule::new("(", Goto::State(ARGUMENTS)).peeks()],
            otherwise: Goto::Reject,
        },
        State { body: Body::PythonArguments { done: Goto::Text }, rules: &[], otherwise: Goto::Reject },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire { open: "", between: "\n\n", close: "", call: CallWire::Python { before: "Action: " } },
};
