//! `<minimax:tool_call><invoke name="zip"><parameter name="a">1</parameter></invoke></minimax:tool_call>`: MiniMax M2.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, ValueStyle, Wire};

const SECTION: usize = 0;
const NAME: usize = 1;
const PARAMETERS: usize = 2;
const KEY: usize = 3;
const VALUE: usize = 4;
const AFTER: usize = 5;

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "minimax",
    aliases: &["minimax_m2"],
    detect: &[Markers { all: &["<minimax:tool_call>", "<invoke name="], none: &[] }],
    entries: &[Rule::new("<minimax:tool_call>", Goto::State(SECTION)), Rule::new("<invoke name=", Goto::State(NAME))],
    fresh_entries: &[],
    states: &[
        State {
            body: Body::Layout,
            rules: &[Rule::new("<invoke name=", Goto::State(NAME)), Rule::new("</minimax:tool_call>", Goto::Back)],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new(">", Goto::State(PARAMETERS)).starts()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("<parameter name=", Goto::State(KEY)),
                Rule::new("</invoke>", Goto::State(AFTER)).ends(),
                Rule::new("</minimax:tool_call>", Goto::Back).ends(),
            ],
            otherwise: Goto::Back,
        },
        State { body: Body::Key, rules: &[Rule::new(">", Goto::State(VALUE))], otherwise: Goto::Back },
        State {
            body: Body::Value(ValueStyle::Exact),
            rules: &[
                Rule::new("</parameter>", Goto::State(PARAMETERS)).before(&[
                    "<parameter name=",
                    "</invoke>",
                    "</minimax:tool_call>",
                ]),
                Rule::new("</invoke>", Goto::State(AFTER)).ends().before(&["</minimax:tool_call>", "<invoke name="]),
            ],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Layout,
            rules: &[Rule::new("<invoke name=", Goto::State(NAME)), Rule::new("</minimax:tool_call>", Goto::Back)],
            otherwise: Goto::Back,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "<minimax:tool_call>\n",
        between: "\n",
        close: "\n</minimax:tool_call>",
        call: CallWire::Pairs {
            before: "<invoke name=\"",
            after_name: "\">\n",
            before_key: "<parameter name=\"",
            after_key: |_| "\">",
            after_value: "</parameter>\n",
            after: "</invoke>",
        },
    },
};
