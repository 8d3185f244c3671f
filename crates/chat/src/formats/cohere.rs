//! `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "zip", "parameters": {"a": 1}}]<|END_ACTION|>`: Command R7B and
//! later. The answer stands between marks of its own. Command R+ writes `Action:` and a fenced list.

use super::{Body, CallWire, Goto, IdStyle, Markers, Rule, Scope, State, ToolFormat, Wire};

const OPEN: usize = 0;
const CALL: usize = 1;
const AFTER: usize = 2;

const BEGIN: Rule = Rule::new("<|START_ACTION|>", Goto::State(OPEN));
const END: Rule = Rule::new("<|END_ACTION|>", Goto::Back);
const FENCE_END: Rule = Rule::new("```", Goto::Back);

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "cohere",
    aliases: &["cohere_command3", "cohere_command4", "north"],
    detect: &[
        Markers { all: &["<|START_ACTION|>"], none: &[] },
        Markers { all: &["Write \\'Action:\\' followed by a json-formatted list"], none: &[] },
    ],
    entries: &[
        BEGIN,
        Rule::new("Action: ```json", Goto::State(OPEN)),
        Rule::new("Action:\n```json", Goto::State(OPEN)),
        Rule::new("<|START_RESPONSE|>", Goto::Text),
        Rule::new("<|END_RESPONSE|>", Goto::Text),
        Rule::new("<|START_TEXT|>", Goto::Text),
        Rule::new("<|END_TEXT|>", Goto::Text),
    ],
    fresh_entries: &[],
    states: &[
        State {
            body: Body::Layout,
            rules: &[Rule::new("{", Goto::State(CALL)).peeks(), Rule::new("[", Goto::State(OPEN)), END],
            otherwise: Goto::Reject,
        },
        State { body: Body::JsonCall { done: Goto::State(AFTER) }, rules: &[END.ends()], otherwise: Goto::Reject },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("{", Goto::State(CALL)).peeks(),
                Rule::new(",", Goto::State(AFTER)),
                Rule::new("]", Goto::State(AFTER)),
                FENCE_END,
                BEGIN,
                END,
            ],
            otherwise: Goto::Back,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Text,
    opened_by: &[],
    wire: Wire {
        open: "<|START_ACTION|>[",
        between: ", ",
        close: "]<|END_ACTION|>",
        call: CallWire::Object { before: "", keys: ["tool_name", "parameters"], after: "" },
    },
};
