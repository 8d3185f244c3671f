//! DeepSeek V3 and R1: each call between its own marks, the arguments in a fenced JSON block.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, Wire};

const SECTION: usize = 0;
const NAME: usize = 1;
const FENCE: usize = 2;
const ARGUMENTS: usize = 3;
const AFTER: usize = 4;
const ONLY_NAME: usize = 5;

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "deepseek_v3",
    aliases: &["deepseek", "deepseek_r1", "deepseek_r1_0528"],
    detect: &[Markers { all: &["<｜tool▁call▁begin｜>", "```json"], none: &[] }],
    entries: &[
        Rule::new("<｜tool▁calls▁begin｜>", Goto::State(SECTION)),
        Rule::new("<｜tool▁call▁begin｜>", Goto::State(SECTION)).peeks(),
    ],
    fresh_entries: &[],
    states: &[
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("<｜tool▁call▁begin｜>function<｜tool▁sep｜>", Goto::State(NAME)),
                Rule::new("<｜tool▁call▁begin｜>", Goto::State(ONLY_NAME)),
                Rule::new("<｜tool▁calls▁end｜>", Goto::Back),
            ],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("\n", Goto::State(FENCE)), Rule::new("```", Goto::State(FENCE)).peeks()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("```json", Goto::State(ARGUMENTS)),
                Rule::new("```", Goto::State(ARGUMENTS)),
                Rule::new("{", Goto::State(ARGUMENTS)).peeks(),
            ],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::JsonArguments { done: Goto::State(AFTER) },
            rules: &[
                Rule::new("```", Goto::State(AFTER)).ends(),
                Rule::new("<｜tool▁call▁end｜>", Goto::State(SECTION)).ends(),
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
        // As V3.1 writes it.
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("<｜tool▁sep｜>", Goto::State(FENCE))],
            otherwise: Goto::Reject,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "<｜tool▁calls▁begin｜>",
        between: "\n",
        close: "<｜tool▁calls▁end｜>",
        call: CallWire::Named {
            before: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
            between: "\n```json\n",
            after: "\n```<｜tool▁call▁end｜>",
        },
    },
};
