//! `<tool_call>{"name": "zip", "arguments": {"a": 1}}</tool_call>`: Hermes, Qwen 2.5 and 3, and many more. Others write
//! the same JSON, or a list of it, between other tags: Granite, Nemotron Nano, MiniMax M1, GigaChat, Firefunction.

use super::{Body, CallWire, Goto, IdStyle, Markers, NameStyle, Rule, Scope, State, ToolFormat, Wire};

const OPEN: usize = 0;
const CALL: usize = 1;
const AFTER: usize = 2;
const CLOSED: usize = 3;
const NAME: usize = 4;
const PYTHON: usize = 5;
const ARGUMENTS: usize = 6;

const TAG: Rule = Rule::new("<tool_call>", Goto::State(OPEN));
const GRANITE: Rule = Rule::new("<|tool_call|>", Goto::State(OPEN));
const NEMOTRON: Rule = Rule::new("<TOOLCALL>", Goto::State(OPEN));
const MINIMAX_M1: Rule = Rule::new("<tool_calls>", Goto::State(OPEN));
const GIGACHAT: Rule = Rule::new("<|function_call|>", Goto::State(OPEN));
const GIGACHAT_ROLE: Rule = Rule::new("function call<|role_sep|>", Goto::State(OPEN));
const FIREFUNCTION: Rule = Rule::new("functools[", Goto::State(OPEN));
const END: Rule = Rule::new("</tool_call>", Goto::State(CLOSED));
const NEMOTRON_END: Rule = Rule::new("</TOOLCALL>", Goto::Back);
const MINIMAX_M1_END: Rule = Rule::new("</tool_calls>", Goto::Back);
const GIGACHAT_END: Rule = Rule::new("<|message_sep|>", Goto::Back);

pub(super) const FORMAT: ToolFormat = ToolFormat {
    name: "hermes",
    aliases: &[
        "nous",
        "qwen",
        "qwen3",
        "granite",
        "granite3",
        "nemotron_v2",
        "minimax_m1",
        "gigachat",
        "firefunction",
        "xlam",
    ],
    detect: &[
        Markers { all: &["<tool_call>"], none: &["invoke name="] },
        Markers { all: &["<|tool_call|>"], none: &[] },
        Markers { all: &["<TOOLCALL>"], none: &[] },
        Markers { all: &["<tool_calls>", "</tool_calls>"], none: &[] },
        Markers { all: &["functools["], none: &[] },
        Markers { all: &["<|function_call|>"], none: &[] },
        Markers { all: &["'function call'", "<|role_sep|>"], none: &[] },
    ],
    entries: &[TAG, GRANITE, NEMOTRON, MINIMAX_M1, GIGACHAT, GIGACHAT_ROLE, FIREFUNCTION],
    fresh_entries: &[Rule::new("{", Goto::State(CALL)).peeks(), Rule::new("[", Goto::State(OPEN))],
    states: &[
        // A list of calls in one pair of tags is read like calls of their own.
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("{", Goto::State(CALL)).peeks(),
                Rule::new("[", Goto::State(OPEN)),
                // What small models put between: a fence, or the tag once more.
                Rule::new("```json", Goto::State(OPEN)),
                Rule::new("```", Goto::State(OPEN)),
                TAG,
            ],
            otherwise: Goto::State(NAME),
        },
        State {
            body: Body::JsonCall { done: Goto::State(AFTER) },
            rules: &[END.ends(), NEMOTRON_END.ends(), MINIMAX_M1_END.ends(), GIGACHAT_END.ends()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("{", Goto::State(CALL)).peeks(),
                Rule::new(",", Goto::State(AFTER)),
                Rule::new("]", Goto::State(AFTER)),
                Rule::new("}", Goto::State(AFTER)),
                Rule::new("```", Goto::State(AFTER)),
                TAG,
                END,
                NEMOTRON_END,
                MINIMAX_M1_END,
                GIGACHAT_END,
                Rule::new("</toolcall>", Goto::State(CLOSED)),
            ],
            otherwise: Goto::Back,
        },
        State { body: Body::Layout, rules: &[END, TAG], otherwise: Goto::Back },
        // The name stands before its arguments.
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[
                Rule::new("(", Goto::State(PYTHON)).peeks(),
                Rule::new("{", Goto::State(ARGUMENTS)).starts().peeks(),
            ],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::PythonArguments { done: Goto::State(AFTER) },
            rules: &[END.ends()],
            otherwise: Goto::Reject,
        },
        State { body: Body::JsonArguments { done: Goto::State(AFTER) }, rules: &[END.ends()], otherwise: Goto::Reject },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "<tool_call>\n",
        between: "\n</tool_call>\n<tool_call>\n",
        close: "\n</tool_call>",
        call: CallWire::Object { before: "", keys: ["name", "arguments"], after: "" },
    },
};
