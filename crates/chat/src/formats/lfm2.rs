//! `<|tool_call_start|>[zip(path="/tmp", n=5), noop()]<|tool_call_end|>`: LFM2, a list of Python calls.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, Wire};

const OPEN: usize = 0;
const LIST: usize = 1;
const NAME: usize = 2;
const ARGUMENTS: usize = 3;
const AFTER: usize = 4;
const CALL: usize = 5;

const OBJECT: Rule = Rule::new("{", Goto::State(CALL)).peeks();

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "lfm2",
    aliases: &["lfm", "liquid"],
    detect: &[
        Markers { all: &["<|tool_call_start|>"], none: &[] },
        Markers { all: &["<|tool_list_start|>"], none: &[] },
        Markers { all: &["\"List of tools: [\""], none: &[] },
    ],
    entries: &[Rule::new("<|tool_call_start|>", Goto::State(OPEN))],
    fresh_entries: &[Rule::new("[", Goto::State(LIST))],
    states: &[
        State { body: Body::Layout, rules: &[Rule::new("[", Goto::State(LIST)), OBJECT], otherwise: Goto::State(NAME) },
        State { body: Body::Layout, rules: &[OBJECT], otherwise: Goto::State(NAME) },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("(", Goto::State(ARGUMENTS)).peeks()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::PythonArguments { done: Goto::State(AFTER) },
            rules: &[Rule::new("<|tool_call_end|>", Goto::Back).ends()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new(",", Goto::State(LIST)),
                Rule::new("]", Goto::State(AFTER)),
                Rule::new("<|tool_call_end|>", Goto::Back),
                Rule::new("<|tool_call_start|>", Goto::State(OPEN)),
            ],
            otherwise: Goto::Back,
        },
        State {
            body: Body::JsonCall { done: Goto::State(AFTER) },
            rules: &[Rule::new("<|tool_call_end|>", Goto::Back).ends()],
            otherwise: Goto::Reject,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "<|tool_call_start|>[",
        between: ", ",
        close: "]<|tool_call_end|>",
        call: CallWire::Python { before: "" },
    },
};
