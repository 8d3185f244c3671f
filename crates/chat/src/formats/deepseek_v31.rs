//! DeepSeek V3.1: each call between its own marks, the arguments as plain JSON.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, Wire};

const SECTION: usize = 0;
const NAME: usize = 1;
const ARGUMENTS: usize = 2;
const AFTER: usize = 3;

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "deepseek_v31",
    aliases: &[],
    detect: &[Markers { all: &["<｜tool▁call▁begin｜>"], none: &["```json"] }],
    entries: &[
        Rule::new("<｜tool▁calls▁begin｜>", Goto::State(SECTION)),
        Rule::new("<｜tool▁call▁begin｜>", Goto::State(SECTION)).peeks(),
    ],
    fresh_entries: &[],
    states: &[
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("<｜tool▁call▁begin｜>", Goto::State(NAME)),
                Rule::new("<｜tool▁call▁begin｜>function<｜tool▁sep｜>", Goto::State(NAME)),
                Rule::new("<｜tool▁calls▁end｜>", Goto::Back),
            ],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[
                Rule::new("<｜tool▁sep｜>", Goto::State(ARGUMENTS)),
                Rule::new("\n", Goto::State(ARGUMENTS)),
                Rule::new("```", Goto::State(ARGUMENTS)).peeks(),
            ],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::JsonArguments { done: Goto::State(AFTER) },
            rules: &[
                // As DeepSeek V3 fences them.
                Rule::new("```json", Goto::State(ARGUMENTS)),
                Rule::new("<｜tool▁call▁end｜>", Goto::State(AFTER)).ends(),
            ],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("```", Goto::State(AFTER)),
                Rule::new("<｜tool▁call▁end｜>", Goto::State(AFTER)),
                Rule::new("<｜tool▁call▁begin｜>", Goto::State(SECTION)).peeks(),
                Rule::new("<｜tool▁calls▁end｜>", Goto::Back),
            ],
            otherwise: Goto::Back,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "<｜tool▁calls▁begin｜>",
        between: "",
        close: "<｜tool▁calls▁end｜>",
        call: CallWire::Named {
            before: "<｜tool▁call▁begin｜>",
            between: "<｜tool▁sep｜>",
            after: "<｜tool▁call▁end｜>",
        },
    },
};
