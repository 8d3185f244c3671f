//! `<|tool_call:begin|>ID<|tool_call:name|>zip<|tool_call:args|>{"a": 1}<|tool_call:end|>`: Solar Open. Thinking
//! and answer are messages of their own, as in harmony.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, Wire};

const ID: usize = 0;
const NAME: usize = 1;
const ARGUMENTS: usize = 2;
const AFTER: usize = 3;

const BEGIN: Rule = Rule::new("<|tool_call:begin|>", Goto::State(ID));

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "solar",
    aliases: &["solar_open"],
    detect: &[Markers { all: &["<|tool_call:begin|>", "<|tool_call:args|>"], none: &[] }],
    entries: &[
        BEGIN,
        Rule::new("<|think|>", Goto::Reasoning),
        Rule::new("<|content|>", Goto::Text),
        Rule::new("<|tool_calls|>", Goto::Text),
        Rule::new("<|begin|>assistant", Goto::Text),
        Rule::new("<|end|>", Goto::Text),
        Rule::new("<|calls|>", Goto::Text),
    ],
    fresh_entries: &[],
    states: &[
        State { body: Body::Id, rules: &[Rule::new("<|tool_call:name|>", Goto::State(NAME))], otherwise: Goto::Reject },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("<|tool_call:args|>", Goto::State(ARGUMENTS))],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::JsonArguments { done: Goto::State(AFTER) },
            rules: &[Rule::new("<|tool_call:end|>", Goto::State(AFTER)).ends()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[Rule::new("<|tool_call:end|>", Goto::State(AFTER)), BEGIN],
            otherwise: Goto::Back,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Channels,
    opened_by: &[],
    wire: Wire {
        open: "<|tool_calls|>",
        between: "",
        close: "<|calls|>",
        call: CallWire::Named {
            before: "<|tool_call:begin|>0<|tool_call:name|>",
            between: "<|tool_call:args|>",
            after: "<|tool_call:end|>",
        },
    },
};
