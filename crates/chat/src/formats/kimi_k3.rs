//! `<|open|>call tool="zip" index="1"<|sep|><|open|>argument key="a" type="number"<|sep|>1<|close|>argument<|sep|>
//! <|close|>call<|sep|>` in a block: Kimi K3. The answer has a tag of its own.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, ValueStyle, Wire};

const SECTION: usize = 0;
const NAME: usize = 1;
const INDEX: usize = 2;
const ARGUMENTS: usize = 3;
const KEY: usize = 4;
const TYPE: usize = 5;
const VALUE: usize = 6;
const TEXT: usize = 7;
const JSON_TAG: usize = 8;
const JSON: usize = 9;
const AFTER: usize = 10;

const CALL: Rule = Rule::new("<|open|>call tool=\"", Goto::State(NAME));
const CALL_END: Rule = Rule::new("<|close|>call<|sep|>", Goto::State(AFTER));
const END: Rule = Rule::new("<|close|>tools<|sep|>", Goto::Back);
const VALUE_END: Rule = Rule::new("<|close|>argument<|sep|>", Goto::State(ARGUMENTS)).before(&[
    "<|open|>argument key=\"",
    "<|open|>json",
    "<|close|>call<|sep|>",
    "<|close|>tools<|sep|>",
]);

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "kimi_k3",
    aliases: &[],
    detect: &[Markers { all: &["<|open|>", "<|close|>", "<|sep|>", "_xtml_json_block"], none: &[] }],
    entries: &[
        Rule::new("<|open|>tools<|sep|>", Goto::State(SECTION)),
        Rule::new("<|open|>response<|sep|>", Goto::Text),
        Rule::new("<|close|>response<|sep|>", Goto::Text),
        Rule::new("<|close|>message<|sep|>", Goto::Text),
        Rule::new("<|end_of_msg|>", Goto::Text),
    ],
    fresh_entries: &[CALL],
    states: &[
        State { body: Body::Layout, rules: &[CALL, END], otherwise: Goto::Reject },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[
                Rule::new("\"<|sep|>", Goto::State(ARGUMENTS)).starts(),
                Rule::new("\"", Goto::State(INDEX)).starts(),
            ],
            otherwise: Goto::Reject,
        },
        State { body: Body::Skip, rules: &[Rule::new("<|sep|>", Goto::State(ARGUMENTS))], otherwise: Goto::Back },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("<|open|>argument key=\"", Goto::State(KEY)),
                Rule::new("<|open|>json", Goto::State(JSON_TAG)),
                CALL_END.ends(),
                END.ends(),
            ],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Key,
            rules: &[
                Rule::new("\" type=\"string\"<|sep|>", Goto::State(TEXT)),
                Rule::new("\" type=\"", Goto::State(TYPE)),
                Rule::new("\"<|sep|>", Goto::State(VALUE)),
            ],
            otherwise: Goto::Back,
        },
        State { body: Body::Skip, rules: &[Rule::new("<|sep|>", Goto::State(VALUE))], otherwise: Goto::Back },
        State { body: Body::Value(ValueStyle::Exact), rules: &[VALUE_END], otherwise: Goto::Back },
        State { body: Body::Value(ValueStyle::Text), rules: &[VALUE_END], otherwise: Goto::Back },
        State { body: Body::Skip, rules: &[Rule::new("<|sep|>", Goto::State(JSON))], otherwise: Goto::Back },
        State {
            body: Body::JsonArguments { done: Goto::State(AFTER) },
            rules: &[Rule::new("<|close|>json<|sep|>", Goto::State(AFTER)).ends(), CALL_END.ends()],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Layout,
            rules: &[CALL, CALL_END, END, Rule::new("<|close|>json<|sep|>", Goto::State(AFTER))],
            otherwise: Goto::Back,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Text,
    opened_by: &[],
    wire: Wire {
        open: "<|open|>tools<|sep|>",
        between: "",
        close: "<|close|>tools<|sep|>",
        call: CallWire::Pairs {
            before: "<|open|>call tool=\"",
            after_name: "\" index=\"1\"<|sep|>",
            before_key: "<|open|>argument key=\"",
            after_key: |value| {
                if value.is_string() { "\" type=\"string\"<|sep|>" } else { "\" type=\"object\"<|sep|>" }
            },
            after_value: "<|close|>argument<|sep|>",
            after: "<|close|>call<|sep|>",
        },
    },
};
