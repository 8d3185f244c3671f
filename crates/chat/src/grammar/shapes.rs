//! The shapes of every tool format, by the format's name.

use super::shape::{CallShape, Notation, Piece, PlainShape, Trigger};
use Piece::{Id, Index, Json, Name, Object, Plain, Text};

/// A shape with one call to a block and blocks on lines of their own.
const TAGGED: CallShape =
    CallShape { begin: "", call: &[], between: None, end: "", again: Some("\n"), marker: "", triggers: &[] };

/// A shape with one block of calls.
const SECTION: CallShape = CallShape { between: Some(""), again: None, ..TAGGED };

/// A call as one JSON object.
const JSON_CALL: &[Piece] = &[Text("{\"name\": \""), Name, Text("\", \"arguments\": "), Json, Text("}")];

const QWEN_PAIRS: PlainShape = PlainShape {
    open: "<parameter=",
    text: ">\n",
    json: ">\n",
    close: "</parameter>",
    done: "</function>",
    lines: true,
};

const GLM_PAIRS: PlainShape = PlainShape {
    open: "<arg_key>",
    text: "</arg_key>\n<arg_value>",
    json: "</arg_key>\n<arg_value>",
    close: "</arg_value>",
    done: "</tool_call>",
    lines: false,
};

const MINICPM_PAIRS: PlainShape = PlainShape {
    open: "<param name=\"",
    text: "\">",
    json: "\">",
    close: "</param>",
    done: "</function>",
    lines: false,
};

const MINIMAX_PAIRS: PlainShape = PlainShape {
    open: "<parameter name=\"",
    text: "\">",
    json: "\">",
    close: "</parameter>",
    done: "</invoke>",
    lines: false,
};

const DSML_PAIRS: PlainShape = PlainShape {
    open: "<｜DSML｜parameter name=\"",
    text: "\" string=\"true\">",
    json: "\" string=\"false\">",
    close: "</｜DSML｜parameter>",
    done: "</｜DSML｜invoke>",
    lines: false,
};

const HUNYUAN_PAIRS: PlainShape = PlainShape {
    open: "<arg_key:opensource>",
    text: "</arg_key:opensource>\n<arg_value:opensource>",
    json: "</arg_key:opensource>\n<arg_value:opensource>",
    close: "</arg_value:opensource>",
    done: "</tool_call:opensource>",
    lines: false,
};

const HORIZON_PAIRS: PlainShape = PlainShape {
    open: "<ifm|arg_key>",
    text: "</ifm|arg_key><ifm|arg_type>string</ifm|arg_type><ifm|arg_value>",
    json: "</ifm|arg_key><ifm|arg_value>",
    close: "</ifm|arg_value>",
    done: "</ifm|tool_call>",
    lines: false,
};

const PYTHON: Notation = Notation {
    brackets: ("(", ")"),
    equals: "=",
    string: r#"/"([^"\\\n]|\\["\\nt])*"/"#,
    quote: "\"",
    key_quote: "\"",
    colon: ": ",
    comma: ", ",
    words: ["True", "False", "None"],
};

const GEMMA: Notation = Notation {
    brackets: ("{", "}"),
    equals: ":",
    string: r#"/<\|"\|>(?s:.*)<\|"\|>/"#,
    quote: "<|\"|>",
    key_quote: "",
    colon: ":",
    comma: ",",
    words: ["true", "false", "null"],
};

const LLAMA_CALL: &[Piece] = &[Text("{\"name\": \""), Name, Text("\", \"parameters\": "), Json, Text("}")];
const LLAMA_FUNCTION: &[Piece] = &[Name, Text(">"), Json, Text("</function>")];

const DSML_CALL: &[Piece] = &[Text("\n<｜DSML｜invoke name=\""), Name, Text("\">\n"), Plain(&DSML_PAIRS)];

/// A shape for each way that a format's checkpoints write calls.
pub(super) const SHAPES: &[(&str, &[CallShape])] = &[
    ("hermes", HERMES),
    ("qwen3_coder", QWEN3_CODER),
    ("mistral", MISTRAL),
    ("deepseek_v32", DEEPSEEK_V32),
    (
        "apertus",
        &[CallShape {
            begin: "<|tools_prefix|>[",
            call: &[Text("{\""), Name, Text("\": "), Json, Text("}")],
            between: Some(", "),
            end: "]<|tools_suffix|>",
            ..SECTION
        }],
    ),
    (
        "cohere",
        &[CallShape {
            begin: "<|START_ACTION|>[",
            call: &[
                Text("\n    {\"tool_call_id\": \""),
                Index,
                Text("\", \"tool_name\": \""),
                Name,
                Text("\", \"parameters\": "),
                Json,
                Text("}"),
            ],
            between: Some(","),
            end: "\n]<|END_ACTION|>",
            ..SECTION
        }],
    ),
    (
        "hy_v3",
        &[CallShape {
            begin: "<tool_calls:opensource>\n",
            call: &[Text("<tool_call:opensource>"), Name, Text("<tool_sep:opensource>\n"), Plain(&HUNYUAN_PAIRS)],
            between: Some("\n"),
            end: "\n</tool_calls:opensource>",
            ..SECTION
        }],
    ),
    (
        "k2_horizon",
        &[CallShape {
            begin: "<ifm|tool_calls>",
            call: &[Text("<ifm|tool_call>"), Name, Plain(&HORIZON_PAIRS)],
            end: "</ifm|tool_calls>",
            ..SECTION
        }],
    ),
    ("glm47", &[CallShape { begin: "<tool_call>", call: &[Name, Text("\n"), Plain(&GLM_PAIRS)], ..TAGGED }]),
    (
        "kimi_k2",
        &[CallShape {
            begin: "<|tool_calls_section_begin|>",
            call: &[
                Text("<|tool_call_begin|>functions."),
                Name,
                Text(":"),
                Index,
                Text("<|tool_call_argument_begin|>"),
                Json,
                Text("<|tool_call_end|>"),
            ],
            end: "<|tool_calls_section_end|>",
            ..SECTION
        }],
    ),
    (
        "llama3",
        &[CallShape {
            call: LLAMA_CALL,
            again: None,
            triggers: &[
                Trigger { on: "<|python_tag|>", is_fresh: false, call: LLAMA_CALL },
                Trigger { on: "<function=", is_fresh: false, call: LLAMA_FUNCTION },
                Trigger {
                    on: "{\"name\": \"",
                    is_fresh: true,
                    call: &[Name, Text("\", \"parameters\": "), Json, Text("}")],
                },
            ],
            ..TAGGED
        }],
    ),
    (
        "deepseek_v3",
        &[CallShape {
            begin: "<｜tool▁calls▁begin｜>",
            call: &[
                Text("<｜tool▁call▁begin｜>function<｜tool▁sep｜>"),
                Name,
                Text("\n```json\n"),
                Json,
                Text("\n```<｜tool▁call▁end｜>"),
            ],
            between: Some("\n"),
            end: "<｜tool▁calls▁end｜>",
            ..SECTION
        }],
    ),
    (
        "deepseek_v31",
        &[CallShape {
            begin: "<｜tool▁calls▁begin｜>",
            call: &[Text("<｜tool▁call▁begin｜>"), Name, Text("<｜tool▁sep｜>"), Json, Text("<｜tool▁call▁end｜>")],
            end: "<｜tool▁calls▁end｜>",
            ..SECTION
        }],
    ),
    (
        "gemma4",
        &[CallShape {
            begin: "<|tool_call>",
            call: &[Text("call:"), Name, Object(&GEMMA)],
            end: "<tool_call|>",
            again: Some(""),
            ..TAGGED
        }],
    ),
    (
        "harmony",
        &[CallShape {
            begin: "<|channel|>commentary to=functions.",
            call: &[Name, Text(" <|constrain|>json<|message|>"), Json],
            again: None,
            triggers: &[Trigger {
                on: "<|start|>assistant to=functions.",
                is_fresh: false,
                call: &[Name, Text("<|channel|>commentary json<|message|>"), Json],
            }],
            ..TAGGED
        }],
    ),
    (
        "lfm2",
        &[CallShape {
            begin: "<|tool_call_start|>[",
            call: &[Name, Object(&PYTHON)],
            between: Some(", "),
            end: "]<|tool_call_end|>",
            ..SECTION
        }],
    ),
    (
        "minicpm",
        &[CallShape { begin: "<function name=\"", call: &[Name, Text("\">"), Plain(&MINICPM_PAIRS)], ..TAGGED }],
    ),
    (
        "minimax",
        &[CallShape {
            begin: "<minimax:tool_call>",
            call: &[Text("\n<invoke name=\""), Name, Text("\">\n"), Plain(&MINIMAX_PAIRS)],
            end: "\n</minimax:tool_call>",
            ..SECTION
        }],
    ),
    (
        "solar",
        &[CallShape {
            begin: "<|tool_call:begin|>",
            call: &[Id, Text("<|tool_call:name|>"), Name, Text("<|tool_call:args|>"), Json, Text("<|tool_call:end|>")],
            again: Some(""),
            ..TAGGED
        }],
    ),
];

const HERMES: &[CallShape] = &[
    CallShape {
        begin: "<tool_call>",
        call: &[Text("\n{\"name\": \""), Name, Text("\", \"arguments\": "), Json, Text("}\n</tool_call>")],
        ..TAGGED
    },
    CallShape {
        marker: "<|tool_call|>",
        begin: "<|tool_call|>[",
        call: JSON_CALL,
        between: Some(", "),
        end: "]",
        ..SECTION
    },
    CallShape {
        marker: "<TOOLCALL>",
        begin: "<TOOLCALL>[",
        call: JSON_CALL,
        between: Some(", "),
        end: "]</TOOLCALL>",
        ..SECTION
    },
    CallShape {
        marker: "</tool_calls>",
        begin: "<tool_calls>\n",
        call: JSON_CALL,
        between: Some("\n"),
        end: "\n</tool_calls>",
        ..SECTION
    },
];

const QWEN3_CODER: &[CallShape] = &[
    CallShape {
        begin: "<tool_call>",
        call: &[Text("\n<function="), Name, Text(">\n"), Plain(&QWEN_PAIRS), Text("\n</tool_call>")],
        triggers: &[Trigger { on: "<function=", is_fresh: false, call: &[Name, Text(">\n"), Plain(&QWEN_PAIRS)] }],
        ..TAGGED
    },
    CallShape {
        marker: "<seed:tool_call>",
        begin: "<seed:tool_call>",
        call: &[Text("\n<function="), Name, Text(">\n"), Plain(&QWEN_PAIRS), Text("\n</seed:tool_call>")],
        ..TAGGED
    },
];

const MISTRAL: &[CallShape] = &[
    CallShape { begin: "[TOOL_CALLS][", call: JSON_CALL, between: Some(", "), end: "]", ..SECTION },
    CallShape {
        marker: "[ARGS]",
        begin: "[TOOL_CALLS]",
        call: &[Name, Text("[ARGS]"), Json],
        again: Some(""),
        ..TAGGED
    },
];

const DEEPSEEK_V32: &[CallShape] = &[
    CallShape { begin: "<｜DSML｜function_calls>", call: DSML_CALL, end: "\n</｜DSML｜function_calls>", ..SECTION },
    CallShape {
        marker: "<｜DSML｜tool_calls>",
        begin: "<｜DSML｜tool_calls>",
        call: DSML_CALL,
        end: "\n</｜DSML｜tool_calls>",
        ..SECTION
    },
];
