//! `]<]minimax[>[<invoke name="zip">]<]minimax[>[<a>1]<]minimax[>[</a>]<]minimax[>[</invoke>` in a block: MiniMax M3.
//! Objects and arrays are nested elements; every tag has the same token before it.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, Wire};

const SECTION: usize = 0;
const NAME: usize = 1;
const ARGUMENTS: usize = 2;
const AFTER: usize = 3;

const BEGIN: Rule = Rule::new("]<]minimax[>[<tool_call>", Goto::State(SECTION));
const END: Rule = Rule::new("]<]minimax[>[</tool_call>", Goto::Back);
const INVOKE: Rule = Rule::new("]<]minimax[>[<invoke name=\"", Goto::State(NAME));

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "minimax_m3",
    aliases: &[],
    detect: &[Markers { all: &["]<]minimax[>[", "<invoke name="], none: &[] }],
    entries: &[BEGIN],
    fresh_entries: &[INVOKE],
    states: &[
        State { body: Body::Layout, rules: &[INVOKE, END], otherwise: Goto::Reject },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("\">", Goto::State(ARGUMENTS)).starts()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Elements { before_tags: "]<]minimax[>[" },
            rules: &[
                // A string may hold the closer itself; the real one stands before another tag.
                Rule::new("]<]minimax[>[</invoke>", Goto::State(AFTER)).ends().before(&["]<]minimax[>["]),
                Rule::new("]<]minimax[>[</tool_call>", Goto::Back).ends(),
            ],
            otherwise: Goto::Back,
        },
        State { body: Body::Layout, rules: &[INVOKE, END], otherwise: Goto::Back },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "]<]minimax[>[<tool_call>\n",
        between: "",
        close: "]<]minimax[>[</tool_call>",
        call: CallWire::Elements("]<]minimax[>["),
    },
};
