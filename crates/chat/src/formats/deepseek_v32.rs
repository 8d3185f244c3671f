//! `<｜DSML｜invoke name="zip"><｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter></｜DSML｜invoke>` in a
//! block: DeepSeek V3.2 and V4. The call itself says which values are strings.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, ValueStyle, Wire};

const SECTION: usize = 0;
const NAME: usize = 1;
const PARAMETERS: usize = 2;
const KEY: usize = 3;
const TEXT: usize = 4;
const VALUE: usize = 5;
const JSON: usize = 6;
const AFTER: usize = 7;

const INVOKE: Rule = Rule::new("<｜DSML｜invoke name=\"", Goto::State(NAME));
const BEGIN: Rule = Rule::new("<｜DSML｜function_calls>", Goto::State(SECTION));
const BEGIN_V4: Rule = Rule::new("<｜DSML｜tool_calls>", Goto::State(SECTION));
const END: Rule = Rule::new("</｜DSML｜function_calls>", Goto::Back);
const END_V4: Rule = Rule::new("</｜DSML｜tool_calls>", Goto::Back);
const VALUE_END: Rule = Rule::new("</｜DSML｜parameter>", Goto::State(PARAMETERS))
    .before(&["<｜DSML｜parameter name=\"", "</｜DSML｜invoke>"]);

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "deepseek_v32",
    aliases: &["deepseek_v4", "deepseek_v4_0731"],
    detect: &[Markers { all: &["｜DSML｜", "invoke name="], none: &[] }],
    entries: &[BEGIN, BEGIN_V4],
    fresh_entries: &[INVOKE],
    states: &[
        State { body: Body::Layout, rules: &[INVOKE, END, END_V4], otherwise: Goto::Reject },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("\">", Goto::State(PARAMETERS)).starts()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("<｜DSML｜parameter name=\"", Goto::State(KEY)),
                Rule::new("</｜DSML｜invoke>", Goto::State(AFTER)).ends(),
                END.ends(),
                END_V4.ends(),
            ],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Key,
            rules: &[
                Rule::new("\" string=\"true\">", Goto::State(TEXT)),
                Rule::new("\" string=\"false\">", Goto::State(JSON)),
                Rule::new("\">", Goto::State(VALUE)),
            ],
            otherwise: Goto::Back,
        },
        State { body: Body::Value(ValueStyle::Text), rules: &[VALUE_END], otherwise: Goto::Back },
        State { body: Body::Value(ValueStyle::Exact), rules: &[VALUE_END], otherwise: Goto::Back },
        State { body: Body::Value(ValueStyle::Json), rules: &[VALUE_END], otherwise: Goto::Back },
        State { body: Body::Layout, rules: &[INVOKE, END, END_V4], otherwise: Goto::Back },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "<｜DSML｜function_calls>\n",
        between: "\n",
        close: "\n</｜DSML｜function_calls>",
        call: CallWire::Pairs {
            before: "<｜DSML｜invoke name=\"",
            after_name: "\">\n",
            before_key: "<｜DSML｜parameter name=\"",
            after_key: |value| {
                if value.is_string() { "\" string=\"true\">" } else { "\" string=\"false\">" }
            },
            after_value: "</｜DSML｜parameter>\n",
            after: "</｜DSML｜invoke>",
        },
    },
};
