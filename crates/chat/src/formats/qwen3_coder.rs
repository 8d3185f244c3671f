//! `<tool_call><function=zip><parameter=a>1</parameter></function></tool_call>`: Qwen3-Coder, Qwen3.5, Nemotron 3,
//! and Seed-OSS under another outer tag. Values stand on their own lines and are typed by the schema; the outer tags may be missing.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, ValueStyle, Wire};

const OPEN: usize = 0;
const NAME: usize = 1;
const PARAMETERS: usize = 2;
const KEY: usize = 3;
const VALUE: usize = 4;
const AFTER: usize = 5;
const JSON: usize = 6;
const ARGUMENTS: usize = 7;

const TAG: Rule = Rule::new("<tool_call>", Goto::State(OPEN));
const SEED: Rule = Rule::new("<seed:tool_call>", Goto::State(OPEN));
const FUNCTION: Rule = Rule::new("<function=", Goto::State(NAME));
const NAMED: Rule = Rule::new("<function name=", Goto::State(NAME));
const END: Rule = Rule::new("</tool_call>", Goto::State(AFTER));
const FUNCTION_END: Rule = Rule::new("</function>", Goto::State(AFTER));
const SEED_END: Rule = Rule::new("</seed:tool_call>", Goto::Back);

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "qwen3_coder",
    aliases: &["qwen3_coder_xml", "qwen3_xml", "nemotron", "nemotron3", "seed", "seed_oss"],
    detect: &[Markers { all: &["<function=", "<parameter="], none: &[] }],
    entries: &[TAG, SEED, FUNCTION, NAMED],
    fresh_entries: &[],
    states: &[
        State {
            body: Body::Layout,
            rules: &[FUNCTION, NAMED, TAG, Rule::new("{", Goto::State(JSON)).peeks()],
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
                Rule::new("<parameter=", Goto::State(KEY)),
                Rule::new("<parameter name=", Goto::State(KEY)),
                Rule::new("{", Goto::State(ARGUMENTS)).peeks(),
                Rule::new("</function>", Goto::State(AFTER)).ends(),
                END.ends(),
                SEED_END.ends(),
            ],
            otherwise: Goto::Back,
        },
        State { body: Body::Key, rules: &[Rule::new(">", Goto::State(VALUE))], otherwise: Goto::Back },
        State {
            body: Body::Value(ValueStyle::OwnLines),
            rules: &[
                // A value may hold the closer itself; the real one stands before another tag.
                Rule::new("</parameter>", Goto::State(PARAMETERS)).before(&[
                    "<parameter=",
                    "<parameter name=",
                    "</function>",
                    "</tool_call>",
                ]),
                Rule::new("</function>", Goto::State(AFTER)).ends().before(&["</tool_call>", "</seed:tool_call>"]),
            ],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Layout,
            rules: &[END, SEED_END, TAG, FUNCTION, NAMED, FUNCTION_END],
            otherwise: Goto::Back,
        },
        State {
            body: Body::JsonCall { done: Goto::State(AFTER) },
            rules: &[END.ends(), SEED_END.ends()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::JsonArguments { done: Goto::State(AFTER) },
            rules: &[FUNCTION_END.ends(), END.ends(), SEED_END.ends()],
            otherwise: Goto::Reject,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "<tool_call>\n",
        between: "\n</tool_call>\n<tool_call>\n",
        close: "\n</tool_call>",
        call: CallWire::Pairs {
            before: "<function=",
            after_name: ">\n",
            before_key: "<parameter=",
            after_key: |_| ">\n",
            after_value: "\n</parameter>\n",
            after: "</function>",
        },
    },
};
