//! `<|channel|>commentary to=functions.zip<|message|>{"a": 1}<|call|>`: GPT-OSS. Every message has a header; the
//! `analysis` channel is reasoning, `final` the answer.

use super::{Body, CallWire, Goto, IdStyle, Markers, Rule, Scope, State, ToolFormat, Wire};

const HEADER: usize = 0;
const ARGUMENTS: usize = 1;
const AFTER: usize = 2;

const CHANNEL: Rule = Rule::new("<|channel|>", Goto::State(HEADER)).peeks();
const START: Rule = Rule::new("<|start|>", Goto::State(HEADER));
const END: Rule = Rule::new("<|end|>", Goto::Text);
const RETURN: Rule = Rule::new("<|return|>", Goto::Text);
const CALL: Rule = Rule::new("<|call|>", Goto::Text);

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "harmony",
    aliases: &["gpt-oss", "gptoss"],
    detect: &[Markers { all: &["<|channel|>", "<|message|>", "<|start|>"], none: &[] }],
    entries: &[CHANNEL, START, END, RETURN, CALL],
    // The prompt ends in the header's first word, so that a call may begin with its recipient.
    fresh_entries: &[Rule::new("to=", Goto::State(HEADER)).peeks(), Rule::new("<|message|>", Goto::Text)],
    states: &[
        State {
            body: Body::HarmonyHeader { call: ARGUMENTS },
            rules: &[Rule::new("<|message|>", Goto::Text)],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::JsonArguments { done: Goto::State(AFTER) },
            rules: &[
                CALL.ends(),
                END.ends(),
                RETURN.ends(),
                START.ends(),
                Rule::new("```json", Goto::State(ARGUMENTS)),
                Rule::new("```", Goto::State(ARGUMENTS)),
            ],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[CALL, END, RETURN, START, CHANNEL, Rule::new("```", Goto::State(AFTER))],
            otherwise: Goto::Text,
        },
    ],
    literals: &["<|constrain|>"],
    ids: IdStyle::Call,
    scope: Scope::Channels,
    opened_by: &[],
    wire: Wire {
        open: "",
        between: "<|start|>assistant",
        close: "",
        call: CallWire::Named {
            before: "<|channel|>commentary to=functions.",
            between: " <|constrain|>json<|message|>",
            after: "<|call|>",
        },
    },
};
