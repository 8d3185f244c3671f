//! `<tool_call:opensource>zip<tool_sep:opensource><arg_key:opensource>a</arg_key:opensource><arg_value:opensource>1
//! </arg_value:opensource></tool_call:opensource>` in a block, or JSON after the separator: Hunyuan 3.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, ValueStyle, Wire};

const SECTION: usize = 0;
const NAME: usize = 1;
const PAIRS: usize = 2;
const KEY: usize = 3;
const EQUALS: usize = 4;
const VALUE: usize = 5;
const JSON: usize = 6;
const AFTER: usize = 7;

const SECTION_BEGIN: Rule = Rule::new("<tool_calls:opensource>", Goto::State(SECTION));
const SECTION_END: Rule = Rule::new("</tool_calls:opensource>", Goto::Back);
const BEGIN: Rule = Rule::new("<tool_call:opensource>", Goto::State(NAME));
const END: Rule = Rule::new("</tool_call:opensource>", Goto::State(AFTER));
const END_JSON: Rule = Rule::new("<end_of_tool_call:opensource>", Goto::State(AFTER));
const KEY_BEGIN: Rule = Rule::new("<arg_key:opensource>", Goto::State(KEY));

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "hy_v3",
    aliases: &["hy3", "hunyuan3"],
    detect: &[
        Markers { all: &["<tool_sep{}>", "<arg_key{}>"], none: &[] },
        Markers { all: &["<tool_sep:opensource>"], none: &[] },
    ],
    entries: &[SECTION_BEGIN, BEGIN],
    fresh_entries: &[],
    states: &[
        State { body: Body::Layout, rules: &[BEGIN, SECTION_END], otherwise: Goto::Reject },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[
                Rule::new("<tool_sep:opensource>", Goto::State(PAIRS)).starts(),
                // Quantized models leave the separator out.
                KEY_BEGIN.starts(),
                END.whole(),
            ],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[
                KEY_BEGIN,
                Rule::new("{", Goto::State(JSON)).peeks(),
                END.ends(),
                END_JSON.ends(),
                SECTION_END.ends(),
                BEGIN.ends(),
            ],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Key,
            rules: &[Rule::new("</arg_key:opensource>", Goto::State(EQUALS))],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Layout,
            rules: &[Rule::new("<arg_value:opensource>", Goto::State(VALUE))],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Value(ValueStyle::Exact),
            rules: &[
                Rule::new("</arg_value:opensource>", Goto::State(PAIRS)).before(&[
                    "<arg_key:opensource>",
                    "</tool_call:opensource>",
                    "<end_of_tool_call:opensource>",
                    "</tool_calls:opensource>",
                ]),
                END.ends().before(&["</tool_calls:opensource>", "<tool_call:opensource>"]),
            ],
            otherwise: Goto::Back,
        },
        State {
            body: Body::JsonArguments { done: Goto::State(AFTER) },
            rules: &[END.ends(), END_JSON.ends(), SECTION_END.ends()],
            otherwise: Goto::Reject,
        },
        State { body: Body::Layout, rules: &[BEGIN, END, END_JSON, SECTION_END], otherwise: Goto::Back },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "<tool_calls:opensource>\n",
        between: "\n",
        close: "\n</tool_calls:opensource>",
        call: CallWire::Pairs {
            before: "<tool_call:opensource>",
            after_name: "<tool_sep:opensource>\n",
            before_key: "<arg_key:opensource>",
            after_key: |_| "</arg_key:opensource>\n<arg_value:opensource>",
            after_value: "</arg_value:opensource>\n",
            after: "</tool_call:opensource>",
        },
    },
};
