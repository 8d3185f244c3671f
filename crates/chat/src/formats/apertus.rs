//! `<|tools_prefix|>[{"zip": {"a": 1}}]<|tools_suffix|>`: Apertus, objects whose one key is the tool's name.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, Wire};

const OPEN: usize = 0;
const QUOTE: usize = 1;
const NAME: usize = 2;
const ARGUMENTS: usize = 3;
const AFTER: usize = 4;

const BEGIN: Rule = Rule::new("<|tools_prefix|>", Goto::State(OPEN));
const END: Rule = Rule::new("<|tools_suffix|>", Goto::Back);

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "apertus",
    aliases: &[],
    detect: &[Markers { all: &["<|tools_prefix|>"], none: &[] }],
    entries: &[BEGIN],
    fresh_entries: &[],
    states: &[
        State {
            body: Body::Layout,
            rules: &[Rule::new("[", Goto::State(OPEN)), Rule::new("{", Goto::State(QUOTE)), END],
            otherwise: Goto::Reject,
        },
        State { body: Body::Layout, rules: &[Rule::new("\"", Goto::State(NAME))], otherwise: Goto::Reject },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("\":", Goto::State(ARGUMENTS)), Rule::new("\" :", Goto::State(ARGUMENTS))],
            otherwise: Goto::Reject,
        },
        State { body: Body::JsonArguments { done: Goto::State(AFTER) }, rules: &[END.ends()], otherwise: Goto::Reject },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("}", Goto::State(AFTER)),
                Rule::new("]", Goto::State(AFTER)),
                Rule::new(",", Goto::State(AFTER)),
                Rule::new("{", Goto::State(QUOTE)),
                END,
            ],
            otherwise: Goto::Back,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "<|tools_prefix|>[",
        between: ", ",
        close: "]<|tools_suffix|>",
        call: CallWire::Named { before: "{\"", between: "\": ", after: "}" },
    },
};
