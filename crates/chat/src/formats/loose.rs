//! Calls that a model writes otherwise than its family does, as heavily quantized ones do: bare or fenced JSON, a list of
//! Python calls, another family's tags, a tag without its partner. Only declared tools are called this way.

use super::{Body, CallWire, Goto, IdStyle, NameStyle, Rule, Scope, State, ToolFormat, ValueStyle, Wire};

const LIST: usize = 0;
const CALL: usize = 1;
const AFTER: usize = 2;
const PYTHON_NAME: usize = 3;
const PYTHON: usize = 4;
const FENCED: usize = 5;
const TAGGED: usize = 6;
const NAME: usize = 7;
const BODY: usize = 8;
const KEY: usize = 9;
const VALUE: usize = 10;
const ARGUMENTS: usize = 11;
const SPOKEN_NAME: usize = 12;
const SPOKEN: usize = 13;
const MISTRAL: usize = 14;
const MISTRAL_NAME: usize = 15;

const OBJECT: Rule = Rule::new("{", Goto::State(CALL)).peeks();
const ARRAY: Rule = Rule::new("[", Goto::State(LIST));
const TAG: Rule = Rule::new("<tool_call>", Goto::State(TAGGED));
const FUNCTION: Rule = Rule::new("<function=", Goto::State(NAME));
const SPEECH: Rule = Rule::new("[Calling tool: ", Goto::State(SPOKEN_NAME));

/// Anywhere in the text.
pub(crate) const ENTRIES: &[Rule] = &[
    TAG,
    Rule::new("<tool_calls>", Goto::State(TAGGED)),
    Rule::new("<|tool_call|>", Goto::State(TAGGED)),
    Rule::new("<function_call>", Goto::State(TAGGED)),
    Rule::new("<tools>", Goto::State(TAGGED)),
    Rule::new("<|python_tag|>", Goto::State(TAGGED)),
    Rule::new("[TOOL_CALLS]", Goto::State(MISTRAL)),
    FUNCTION,
    SPEECH,
];

/// Where nothing but whitespace stands before.
pub(crate) const FRESH_ENTRIES: &[Rule] = &[
    OBJECT,
    ARRAY,
    Rule::new("```json", Goto::State(FENCED)),
    Rule::new("```tool_call", Goto::State(FENCED)),
    Rule::new("```tool_code", Goto::State(FENCED)),
    Rule::new("```python", Goto::State(FENCED)),
    Rule::new("```xml", Goto::State(FENCED)),
    Rule::new("```", Goto::State(FENCED)),
];

const AFTER_CALL: Rule = Rule::new("</tool_call>", Goto::State(AFTER));

pub(crate) const FORMAT: ToolFormat = ToolFormat {
    name: "loose",
    aliases: &[],
    detect: &[],
    entries: ENTRIES,
    fresh_entries: FRESH_ENTRIES,
    states: &[
        State { body: Body::Layout, rules: &[OBJECT, ARRAY], otherwise: Goto::State(PYTHON_NAME) },
        State {
            body: Body::JsonCall { done: Goto::State(AFTER) },
            rules: &[AFTER_CALL.ends(), Rule::new("```", Goto::State(AFTER)).ends()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[
                OBJECT,
                Rule::new(",", Goto::State(LIST)),
                Rule::new(";", Goto::State(AFTER)),
                Rule::new("]", Goto::State(AFTER)),
                Rule::new("```", Goto::State(AFTER)),
                AFTER_CALL,
                Rule::new("</tool_calls>", Goto::State(AFTER)),
                Rule::new("</function_call>", Goto::State(AFTER)),
                Rule::new("</tools>", Goto::State(AFTER)),
                Rule::new("</toolcall>", Goto::State(AFTER)),
                Rule::new("</function>", Goto::State(AFTER)),
                Rule::new("<tool_call>", Goto::State(TAGGED)),
                FUNCTION,
                Rule::new("[TOOL_CALLS]", Goto::State(MISTRAL)),
            ],
            otherwise: Goto::Back,
        },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("(", Goto::State(PYTHON)).peeks()],
            otherwise: Goto::Reject,
        },
        State { body: Body::PythonArguments { done: Goto::State(AFTER) }, rules: &[], otherwise: Goto::Reject },
        State {
            body: Body::Layout,
            rules: &[OBJECT, ARRAY, TAG, FUNCTION, SPEECH],
            otherwise: Goto::State(PYTHON_NAME),
        },
        State { body: Body::Layout, rules: &[OBJECT, ARRAY, FUNCTION], otherwise: Goto::Reject },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new(">", Goto::State(BODY)).starts()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Layout,
            rules: &[
                Rule::new("<parameter=", Goto::State(KEY)),
                Rule::new("{", Goto::State(ARGUMENTS)).peeks(),
                Rule::new("</function>", Goto::State(AFTER)).ends(),
                AFTER_CALL.ends(),
            ],
            otherwise: Goto::Back,
        },
        State { body: Body::Key, rules: &[Rule::new(">", Goto::State(VALUE))], otherwise: Goto::Back },
        State {
            body: Body::Value(ValueStyle::OwnLines),
            rules: &[
                Rule::new("</parameter>", Goto::State(BODY)).before(&["<parameter=", "</function>", "</tool_call>"]),
                Rule::new("</function>", Goto::State(AFTER)).ends().before(&["</tool_call>"]),
            ],
            otherwise: Goto::Back,
        },
        State {
            body: Body::JsonArguments { done: Goto::State(AFTER) },
            rules: &[Rule::new("</function>", Goto::State(AFTER)).ends(), AFTER_CALL.ends()],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("()", Goto::State(AFTER)).whole(), Rule::new("(", Goto::State(SPOKEN))],
            otherwise: Goto::Reject,
        },
        State {
            body: Body::JsonArguments { done: Goto::State(SPOKEN) },
            rules: &[Rule::new(")", Goto::State(AFTER)), Rule::new("]", Goto::Back)],
            otherwise: Goto::Back,
        },
        State { body: Body::Layout, rules: &[OBJECT, ARRAY], otherwise: Goto::State(MISTRAL_NAME) },
        State {
            body: Body::Name(NameStyle::Plain),
            rules: &[Rule::new("[ARGS]", Goto::State(ARGUMENTS)), Rule::new("{", Goto::State(ARGUMENTS)).peeks()],
            otherwise: Goto::Reject,
        },
    ],
    literals: &[],
    ids: IdStyle::Call,
    scope: Scope::Calls,
    opened_by: &[],
    wire: Wire {
        open: "",
        between: "\n",
        close: "",
        call: CallWire::Named { before: "[Calling tool: ", between: "(", after: ")]" },
    },
};
