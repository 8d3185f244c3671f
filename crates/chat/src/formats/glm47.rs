//! `<tool_call>zip<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>`: GLM 4.5 and later.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, ValueStyle, Wire};

const NAME: usize = 0;
const PAIRS: usize = 1;
const KEY: usize = 2;
const EQUALS: usize = 3;
const VALUE: usize = 4;
const OPEN: usize = 5;
const CALL: usize = 6;
const ARGUMENTS: usize = 7;
const AFTER: usize = 8;

const END: Rule = Rule::new("</tool_call>", Goto::State(AFTER));
const TAG: Rule = Rule::new("<tool_call>", Goto::State(OPEN));

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "glm47",
    aliases: &["glm4", "glm45", "glm5"],
    detect: &[Markers { all: &["<arg_key>", "<arg_value>"], none: &[] }],
    entries: &[TAG],
    fresh_entries: &[],
    states: &[
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[
                Rule::new("<arg_key>", Goto::State(KEY)).starts(),
                Rule::new("{", Goto::State(ARGUMENTS)).starts().peeks(),
                END.whole(),
            ],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[Rule::new("<arg_key>", Goto::State(KEY)), END.ends()],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Key,
            rules: &[Rule::new("</arg_key>", Goto::State(EQUALS)), Rule::new("<arg_value>", Goto::State(VALUE))],
            otherwise: Goto::Back,
        },
        State { body: Body::Layout, rules: &[Rule::new("<arg_value>", Goto::State(VALUE))], otherwise: Goto::Back },
        State {
            body: Body::Value(ValueStyle::Exact),
            rules: &[Rule::new("</arg_value>", Goto::State(PAIRS)).before(&["<arg_key>", "</tool_call>"])],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Layout,
            rules: &[Rule::new("{", Goto::State(CALL)).peeks(), TAG],
            otherwise: Goto::State(NAME),
        },
        // JSON, as other families write it.
        State { body: Body::JsonCall { done: Goto::State(AFTER) }, rules: &[END.ends()], otherwise: Goto::Reject },
        State { body: Body::JsonArguments { done: Goto::State(AFTER) }, rules: &[END.ends()], otherwise: Goto::Reject },
        State { body: Body::Layout, rules: &[END, TAG], otherwise: Goto::Back },
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
            before: "<tool_call>",
            after_name: "",
            before_key: "<arg_key>",
            after_key: |_| "</arg_key><arg_value>",
            after_value: "</arg_value>",
            after: "</tool_call>",
        },
    },
};
