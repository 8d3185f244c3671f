//! `>>>zip\n{"a": 1}` after `>>>all\ntext`, or `<|from|>assistant\n<|recipient|>zip\n<|content|>{"a": 1}`: Functionary
//! v3.2 and v3. Every message names its recipient, the first one after what the prompt ends with.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, Wire};

const RECIPIENT: usize = 0;
const NAME: usize = 1;
const ARGUMENTS: usize = 2;
const AFTER: usize = 3;
const RECIPIENT_V3: usize = 4;
const NAME_V3: usize = 5;

const NEXT: Rule = Rule::new(">>>", Goto::State(RECIPIENT));
const NEXT_V3: Rule = Rule::new("<|from|>assistant\n<|recipient|>", Goto::State(RECIPIENT_V3));

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "functionary",
    aliases: &["meetkai"],
    detect: &[Markers { all: &[">>>all\\n"], none: &[] }, Markers { all: &["<|from|>", "<|recipient|>"], none: &[] }],
    entries: &[NEXT, NEXT_V3, Rule::new("<|stop|>", Goto::Text)],
    fresh_entries: &[],
    states: &[
        State { body: Body::Layout, rules: &[Rule::new("all\n", Goto::Text)], otherwise: Goto::State(NAME) },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("\n", Goto::State(ARGUMENTS)), Rule::new("{", Goto::State(ARGUMENTS)).peeks()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::JsonArguments { done: Goto::State(AFTER) },
            rules: &[NEXT.ends(), NEXT_V3.ends(), Rule::new("<|stop|>", Goto::Text).ends()],
            otherwise: Goto::Reject,
        },
        State { body: Body::Layout, rules: &[NEXT, NEXT_V3, Rule::new("<|stop|>", Goto::Text)], otherwise: Goto::Back },
        State {
            body: Body::Layout,
            rules: &[Rule::new("all\n<|content|>", Goto::Text)],
            otherwise: Goto::State(NAME_V3),
        },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("\n<|content|>", Goto::State(ARGUMENTS))],
            otherwise: Goto::Reject,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Text,
    opened_by: &[(">>>", RECIPIENT), ("<|recipient|>", RECIPIENT_V3)],
    wire: Wire { open: "", between: "", close: "", call: CallWire::Named { before: ">>>", between: "\n", after: "" } },
};
