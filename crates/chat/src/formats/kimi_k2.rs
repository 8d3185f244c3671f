//! `<|tool_call_begin|>functions.zip:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>` in a section: Kimi K2.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, Wire};

const SECTION: usize = 0;
const NAME: usize = 1;
const ARGUMENTS: usize = 2;
const AFTER: usize = 3;

const BEGIN: Rule = Rule::new("<|tool_call_begin|>", Goto::State(NAME));
const END: Rule = Rule::new("<|tool_calls_section_end|>", Goto::Back);
const END_ONE: Rule = Rule::new("<|tool_call_section_end|>", Goto::Back);

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "kimi_k2",
    aliases: &["kimi", "moonshot"],
    detect: &[Markers { all: &["<|tool_call_argument_begin|>"], none: &[] }],
    entries: &[
        Rule::new("<|tool_calls_section_begin|>", Goto::State(SECTION)),
        Rule::new("<|tool_call_section_begin|>", Goto::State(SECTION)),
        BEGIN,
    ],
    fresh_entries: &[],
    states: &[
        State { body: Body::Layout, rules: &[BEGIN, END, END_ONE], otherwise: Goto::Reject },
        State {
            body: Body::Name(NameStyle::Kimi),
            rules: &[Rule::new("<|tool_call_argument_begin|>", Goto::State(ARGUMENTS))],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::JsonArguments { done: Goto::State(AFTER) },
            rules: &[Rule::new("<|tool_call_end|>", Goto::State(AFTER)).ends()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[Rule::new("<|tool_call_end|>", Goto::State(AFTER)), BEGIN, END, END_ONE],
            otherwise: Goto::Back,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "<|tool_calls_section_begin|>",
        between: "",
        close: "<|tool_calls_section_end|>",
        call: CallWire::Numbered {
            before: "<|tool_call_begin|>",
            between: "<|tool_call_argument_begin|>",
            after: "<|tool_call_end|>",
        },
    },
};
