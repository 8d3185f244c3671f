//! `<|start|>assistant to=zip<|message|><atem:function_calls><atem:invoke name="zip"><atem:parameter name="a">1
//! </atem:parameter></atem:invoke></atem:function_calls><|eot|>`: Muse. Messages to itself are reasoning.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, ValueStyle, Wire};

const HEADER: usize = 0;
const SECTION: usize = 1;
const NAME: usize = 2;
const PARAMETERS: usize = 3;
const KEY: usize = 4;
const VALUE: usize = 5;
const AFTER: usize = 6;

const START: Rule = Rule::new("<|start|>", Goto::State(HEADER));
const BEGIN: Rule = Rule::new("<atem:function_calls>", Goto::State(SECTION));
const END: Rule = Rule::new("</atem:function_calls>", Goto::State(AFTER));
const INVOKE: Rule = Rule::new("<atem:invoke name=\"", Goto::State(NAME));
const INVOKE_END: Rule = Rule::new("</atem:invoke>", Goto::State(AFTER));
const END_OF_MESSAGE: Rule = Rule::new("<|eom|>", Goto::Text);
const END_OF_TURN: Rule = Rule::new("<|eot|>", Goto::Text);

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "muse",
    aliases: &["muse_glimmer"],
    detect: &[Markers { all: &["<atem:function_calls>"], none: &[] }],
    entries: &[START, BEGIN, END_OF_MESSAGE, END_OF_TURN],
    // The prompt ends in the header's first word.
    fresh_entries: &[
        Rule::new("to=", Goto::State(HEADER)).peeks(),
        Rule::new("<|message|>", Goto::State(HEADER)).peeks(),
    ],
    states: &[
        State {
            body: Body::HarmonyHeader { call: SECTION },
            rules: &[Rule::new("<|message|>", Goto::Text)],
            otherwise: Goto::Reject,
        },
        State { body: Body::Layout, rules: &[BEGIN, INVOKE, END], otherwise: Goto::Reject },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("\">", Goto::State(PARAMETERS)).starts()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("<atem:parameter name=\"", Goto::State(KEY)),
                INVOKE_END.ends(),
                END.ends(),
                END_OF_MESSAGE.ends(),
                END_OF_TURN.ends(),
            ],
            otherwise: Goto::Back,
        },
        State { body: Body::Key, rules: &[Rule::new("\">", Goto::State(VALUE))], otherwise: Goto::Back },
        State {
            body: Body::Value(ValueStyle::Exact),
            rules: &[Rule::new("</atem:parameter>", Goto::State(PARAMETERS)).before(&[
                "<atem:parameter name=\"",
                "</atem:invoke>",
                "</atem:function_calls>",
                "<|eom|>",
                "<|eot|>",
            ])],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Layout,
            rules: &[INVOKE, INVOKE_END, END, BEGIN, END_OF_MESSAGE, END_OF_TURN, START],
            otherwise: Goto::Text,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Channels,
    opened_by: &[],
    wire: Wire {
        open: " to=tools<|message|><atem:function_calls>\n",
        between: "\n",
        close: "\n</atem:function_calls><|eot|>",
        call: CallWire::Pairs {
            before: "<atem:invoke name=\"",
            after_name: "\">\n",
            before_key: "<atem:parameter name=\"",
            after_key: |_| "\">",
            after_value: "</atem:parameter>\n",
            after: "</atem:invoke>",
        },
    },
};
