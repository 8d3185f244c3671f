//! `<function name="zip"><param name="a">1</param></function>`: MiniCPM 5. Values may stand in CDATA.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, ValueStyle, Wire};

const NAME: usize = 0;
const PARAMETERS: usize = 1;
const KEY: usize = 2;
const VALUE: usize = 3;
const CDATA: usize = 4;

const VALUE_END: &[&str] = &["<param name=", "</function>"];

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "minicpm",
    aliases: &["minicpm5"],
    detect: &[Markers { all: &["<function name=\"", "<param name=\""], none: &[] }],
    entries: &[Rule::new("<function name=", Goto::State(NAME))],
    fresh_entries: &[],
    states: &[
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new(">", Goto::State(PARAMETERS)).starts()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[Rule::new("<param name=", Goto::State(KEY)), Rule::new("</function>", Goto::Back).ends()],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Key,
            rules: &[Rule::new(">", Goto::State(VALUE)), Rule::new("><![CDATA[", Goto::State(CDATA))],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Value(ValueStyle::Exact),
            rules: &[Rule::new("</param>", Goto::State(PARAMETERS)).before(VALUE_END)],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Value(ValueStyle::Exact),
            rules: &[Rule::new("]]></param>", Goto::State(PARAMETERS)).before(VALUE_END)],
            otherwise: Goto::Back,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "",
        between: "",
        close: "",
        call: CallWire::Pairs {
            before: "<function name=\"",
            after_name: "\">",
            before_key: "<param name=\"",
            after_key: |_| "\">",
            after_value: "</param>",
            after: "</function>",
        },
    },
};
