//! `<ifm|tool_call>zip<ifm|arg_key>a</ifm|arg_key><ifm|arg_type>integer</ifm|arg_type><ifm|arg_value>1</ifm|arg_value>
//! </ifm|tool_call>` in a block: K2 Horizon. Types may be missing, and the call may be one JSON object.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, ValueStyle, Wire};

const SECTION: usize = 0;
const OPEN: usize = 1;
const NAME: usize = 2;
const PAIRS: usize = 3;
const KEY: usize = 4;
const EQUALS: usize = 5;
const TYPE: usize = 6;
const VALUE: usize = 7;
const EQUALS_TEXT: usize = 8;
const TEXT: usize = 9;
const JSON: usize = 10;
const AFTER: usize = 11;

const SECTION_BEGIN: Rule = Rule::new("<ifm|tool_calls>", Goto::State(SECTION));
const SECTION_END: Rule = Rule::new("</ifm|tool_calls>", Goto::Back);
const BEGIN: Rule = Rule::new("<ifm|tool_call>", Goto::State(OPEN));
const END: Rule = Rule::new("</ifm|tool_call>", Goto::State(AFTER));
const KEY_BEGIN: Rule = Rule::new("<ifm|arg_key>", Goto::State(KEY));
const VALUE_END: Rule = Rule::new("</ifm|arg_value>", Goto::State(PAIRS)).before(&[
    "<ifm|arg_key>",
    "</ifm|tool_call>",
    "</ifm|tool_calls>",
]);

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "k2_horizon",
    aliases: &[],
    detect: &[Markers { all: &["<ifm|tool_call>"], none: &[] }],
    entries: &[SECTION_BEGIN, BEGIN],
    fresh_entries: &[],
    states: &[
        State { body: Body::Layout, rules: &[BEGIN, SECTION_END], otherwise: Goto::Reject },
        State { body: Body::Layout, rules: &[Rule::new("{", Goto::State(JSON)).peeks()], otherwise: Goto::State(NAME) },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[KEY_BEGIN.starts(), END.whole()],
            otherwise: Goto::Reject,
        },
        State { body: Body::Layout, rules: &[KEY_BEGIN, END.ends(), SECTION_END.ends()], otherwise: Goto::Back },
        State { body: Body::Key, rules: &[Rule::new("</ifm|arg_key>", Goto::State(EQUALS))], otherwise: Goto::Back },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("<ifm|arg_type>string</ifm|arg_type>", Goto::State(EQUALS_TEXT)),
                Rule::new("<ifm|arg_type>", Goto::State(TYPE)),
                Rule::new("<ifm|arg_value>", Goto::State(VALUE)),
            ],
            otherwise: Goto::Back,
        },
        State { body: Body::Skip, rules: &[Rule::new("<ifm|arg_value>", Goto::State(VALUE))], otherwise: Goto::Back },
        State { body: Body::Value(ValueStyle::Exact), rules: &[VALUE_END], otherwise: Goto::Back },
        State { body: Body::Layout, rules: &[Rule::new("<ifm|arg_value>", Goto::State(TEXT))], otherwise: Goto::Back },
        State { body: Body::Value(ValueStyle::Text), rules: &[VALUE_END], otherwise: Goto::Back },
        State { body: Body::JsonCall { done: Goto::State(AFTER) }, rules: &[END.ends()], otherwise: Goto::Reject },
        State { body: Body::Layout, rules: &[BEGIN, END, SECTION_END], otherwise: Goto::Back },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "<ifm|tool_calls>",
        between: "",
        close: "</ifm|tool_calls>",
        call: CallWire::Pairs {
            before: "<ifm|tool_call>",
            after_name: "",
            before_key: "<ifm|arg_key>",
            after_key: |_| "</ifm|arg_key><ifm|arg_value>",
            after_value: "</ifm|arg_value>",
            after: "</ifm|tool_call>",
        },
    },
};
