//! Wire texts of every format. All are ours.

use super::Case;

/// What any format does with text and reasoning.
const COMMON: [(&str, &str, &str); 13] = [
    ("", "", "$"),
    ("", "plain", "plain$"),
    ("", "  spaces kept \n\n", "  spaces kept \n\n$"),
    ("", "a < b and <b>c</b>, 5 > 3 {\"x\": [1]}\n", "a < b and <b>c</b>, 5 > 3 {\"x\": [1]}\n$"),
    ("", "<think>\nwhy\n</think>\n\nbecause", "~why~because$"),
    ("", "<think></think>because", "because$"),
    ("", "\n<think>why</think>", "~why~$"),
    ("", "use <think> for thinking</think>.", "use <think> for thinking</think>.$"),
    ("", "<thin", "<thin$"),
    ("<think>\n", "why\n</think>\nbecause", "~why~because$"),
    ("<think>", "<think>why</think>because", "~why~because$"),
    ("<think>\n\n</think>\n\n", "</think>because", "because$"),
    ("<think>", "never closed", "~never closed~$"),
];

const TAGGED: [&str; 19] = [
    "hermes",
    "qwen3_coder",
    "llama3",
    "mistral",
    "glm47",
    "deepseek_v32",
    "lfm2",
    "minicpm",
    "deepseek_v3",
    "deepseek_v31",
    "kimi_k2",
    "minimax",
    "minimax_m3",
    "hy_v3",
    "k2_horizon",
    "functionary",
    "apertus",
    "cohere",
    "ui_tars",
];

const CASES: [(&str, &str, &str); 87] = [
    (
        "hermes",
        "<tool_call>\n{\"name\": \"zip\", \"arguments\": {\"path\": \"/a\", \"n\": 5}}\n</tool_call>",
        "zip({\"path\": \"/a\", \"n\": 5})$calls",
    ),
    (
        "hermes",
        "<tool_call>{\"name\":\"zip\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"noop\",\"arguments\":{}}</tool_call>\n",
        "zip({})noop({})$calls",
    ),
    ("hermes", "Let me look.\n\n<tool_call>{\"name\": \"noop\"}</tool_call>\nDone.", "Let me look.noop({})Done.$calls"),
    (
        "hermes",
        "<tool_call>{\"arguments\": {\"path\": \"é\\u00e9\\\"\\n\"}, \"name\": \"zip\"}</tool_call>",
        "zip({\"path\": \"é\\u00e9\\\"\\n\"})$calls",
    ),
    (
        "hermes",
        "<tool_call>{\"name\": \"zip\", \"arguments\": {\"path\": \"</tool_call><tool_call>{}\", \"o\": {\"a\": [{\"b\": null}]}}}</tool_call>",
        "zip({\"path\": \"</tool_call><tool_call>{}\", \"o\": {\"a\": [{\"b\": null}]}})$calls",
    ),
    (
        "hermes",
        "<tool_call>{\"name\": \"nope\", \"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"nope\", \"arguments\": {}}</tool_call>$",
    ),
    (
        "hermes",
        "The <tool_call> tag starts a call. <tool_call>{\"name\": \"noop\"}</tool_call>",
        "The <tool_call> tag starts a call. noop({})$calls",
    ),
    (
        "hermes",
        "<think>I call <tool_call>{\"name\": \"noop\"}</tool_call> now.</think>ok",
        "~I call ~noop({})~now.~ok$calls",
    ),
    (
        "hermes",
        "<think>\nfirst\n</think>\n\n<tool_call>{\"name\": \"noop\", \"arguments\": {}}</tool_call>",
        "~first~noop({})$calls",
    ),
    (
        "hermes",
        "<tool_call>{\"type\": \"function\", \"function\": {\"name\": \"zip\", \"arguments\": {\"n\": 1}}}</tool_call>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "hermes",
        "<tool_call>{\"name\": \"zip\", \"arguments\": \"{\\\"n\\\": 1}\"}</tool_call>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "hermes",
        "<tool_call>[{\"name\": \"zip\", \"arguments\": {\"n\": 1}}, {\"name\": \"noop\"}]</tool_call>",
        "zip({\"n\": 1})noop({})$calls",
    ),
    (
        "hermes",
        "<tool_call>{\"name\": \"zip\", \"arguments\": {\"path\": \"a\nb\", \"l\": [1, 2,]}}</tool_call>",
        "zip({\"path\": \"a\\nb\", \"l\": [1, 2]})$calls",
    ),
    (
        "hermes",
        "<tool_call>{\"name\": \"zip\", \"arguments\": {\"n\": 1}</tool_call>after",
        "zip({\"n\": 1})after$calls",
    ),
    (
        "hermes",
        "<tool_call>{\"name\": \"zip\", \"arguments\": {\"ok\": True, \"any\": None}}</tool_call>",
        "zip({\"ok\": true, \"any\": null})$calls",
    ),
    ("hermes", "<tool_call>{\"name\": \"zip\", \"arguments\": {\"n\": 1</tool_call>", "zip({\"n\": 1})$calls"),
    ("hermes", "{\"name\": \"zip\", \"arguments\": {\"n\": 1}}", "zip({\"n\": 1})$calls"),
    ("hermes", "{\"name\": \"Bob\", \"age\": 3}", "{\"name\": \"Bob\", \"age\": 3}$"),
    ("hermes", "{\"answer\": 42}", "{\"answer\": 42}$"),
    ("hermes", "Example: {\"name\": \"zip\", \"arguments\": {}}", "Example: {\"name\": \"zip\", \"arguments\": {}}$"),
    (
        "qwen3_coder",
        "<tool_call>\n<function=zip>\n<parameter=path>\n/tmp/a\n</parameter>\n<parameter=n>\n5\n</parameter>\n</function>\n</tool_call>",
        "zip({\"path\": \"/tmp/a\", \"n\": 5})$calls",
    ),
    ("qwen3_coder", "<function=noop>\n</function>", "noop({})$calls"),
    (
        "qwen3_coder",
        "I'll do both.\n\n<tool_call>\n<function=noop>\n</function>\n</tool_call>\n<tool_call>\n<function=zip>\n<parameter=ok>\ntrue\n</parameter>\n</function>\n</tool_call>",
        "I'll do both.noop({})zip({\"ok\": true})$calls",
    ),
    (
        "qwen3_coder",
        "<function=zip>\n<parameter=path>\nline 1\n  line 2 \"q\" \\ \n\n</parameter>\n</function>",
        "zip({\"path\": \"line 1\\n  line 2 \\\"q\\\" \\\\ \\n\"})$calls",
    ),
    (
        "qwen3_coder",
        "<function=zip>\n<parameter=path>\na </parameter> b </function> c\n</parameter>\n</function>",
        "zip({\"path\": \"a </parameter> b </function> c\"})$calls",
    ),
    (
        "qwen3_coder",
        "<function=zip>\n<parameter=n>\n007\n</parameter>\n<parameter=path>\n5\n</parameter>\n<parameter=any>\n5\n</parameter>\n</function>",
        "zip({\"n\": \"007\", \"path\": \"5\", \"any\": 5})$calls",
    ),
    (
        "qwen3_coder",
        "<function=zip>\n<parameter=o>\n{\"a\": [1, \"x\"]}\n</parameter>\n<parameter=maybe>\nnull\n</parameter>\n<parameter=ok>\nFalse\n</parameter>\n</function>",
        "zip({\"o\": {\"a\": [1, \"x\"]}, \"maybe\": null, \"ok\": false})$calls",
    ),
    ("qwen3_coder", "<function=zip>\n<parameter=path>\n</parameter>\n</function>", "zip({\"path\": \"\"})$calls"),
    ("qwen3_coder", "<function=nope>\n</function>", "<function=nope>\n</function>$"),
    (
        "qwen3_coder",
        "<think>\nhm\n</think>\n\n<tool_call>\n<function=noop>\n</function>\n</tool_call>",
        "~hm~noop({})$calls",
    ),
    (
        "qwen3_coder",
        "<tool_call>\n{\"name\": \"zip\", \"arguments\": {\"n\": 1}}\n</tool_call>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "qwen3_coder",
        "<tool_call>\n<function=zip>\n<parameter=n>\n1\n</parameter>\n</tool_call>",
        "zip({\"n\": 1})$calls",
    ),
    ("llama3", "<|python_tag|>{\"name\": \"zip\", \"parameters\": {\"n\": 1}}", "zip({\"n\": 1})$calls"),
    ("llama3", "{\"name\": \"zip\", \"parameters\": {\"path\": \"a;b\"}}", "zip({\"path\": \"a;b\"})$calls"),
    ("llama3", "{\"type\": \"function\", \"name\": \"zip\", \"parameters\": {\"n\": 1}}", "zip({\"n\": 1})$calls"),
    (
        "llama3",
        "{\"name\": \"zip\", \"parameters\": {\"n\": 1}}; {\"name\": \"noop\", \"parameters\": {}}",
        "zip({\"n\": 1})noop({})$calls",
    ),
    ("llama3", "<function=zip>{\"n\": 1}</function>", "zip({\"n\": 1})$calls"),
    ("llama3", "<function=noop></function>", "noop({})$calls"),
    ("llama3", "<|python_tag|>print(1)", "<|python_tag|>print(1)$"),
    ("llama3", "{\"name\": \"Ada\"}", "{\"name\": \"Ada\"}$"),
    ("llama3", "{\"function\": \"zip\", \"parameters\": {\"n\": 1}}", "zip({\"n\": 1})$calls"),
    (
        "mistral",
        "[TOOL_CALLS][{\"name\": \"zip\", \"arguments\": {\"l\": [1, [2]]}}, {\"name\": \"noop\", \"arguments\": {}}]",
        "zip({\"l\": [1, [2]]})noop({})$calls",
    ),
    (
        "mistral",
        "[TOOL_CALLS] [{\"name\": \"zip\", \"arguments\": {\"n\": 1}, \"id\": \"abc123DEF\"}]",
        "zip({\"n\": 1})$calls",
    ),
    ("mistral", "[TOOL_CALLS]zip[ARGS]{\"n\": 1}", "zip({\"n\": 1})$calls"),
    (
        "mistral",
        "ok[TOOL_CALLS]zip[ARGS]{\"path\": \"[TOOL_CALLS]\"}[TOOL_CALLS]noop[ARGS]{}",
        "okzip({\"path\": \"[TOOL_CALLS]\"})noop({})$calls",
    ),
    ("mistral", "[TOOL_CALLS]zip{\"n\": 1}", "zip({\"n\": 1})$calls"),
    ("mistral", "[TOOL_CALLS]zip[CALL_ID]abc123DEF[ARGS]{\"n\": 1}", "zip({\"n\": 1})$calls"),
    ("mistral", "[TOOL_CALLS]nope[ARGS]{}", "[TOOL_CALLS]nope[ARGS]{}$"),
    ("mistral", "[1, 2] and [TOOL", "[1, 2] and [TOOL$"),
    (
        "glm47",
        "<tool_call>zip<arg_key>path</arg_key><arg_value>/a</arg_value><arg_key>n</arg_key><arg_value>5</arg_value></tool_call>",
        "zip({\"path\": \"/a\", \"n\": 5})$calls",
    ),
    (
        "glm47",
        "<tool_call>zip\n<arg_key>path</arg_key>\n<arg_value> a\n</arg_value>\n</tool_call>",
        "zip({\"path\": \" a\\n\"})$calls",
    ),
    ("glm47", "<tool_call>noop</tool_call><tool_call>noop\n</tool_call>", "noop({})noop({})$calls"),
    (
        "glm47",
        "<tool_call>zip<arg_key>path</arg_key><arg_value>a</arg_value>b</arg_value></tool_call>",
        "zip({\"path\": \"a</arg_value>b\"})$calls",
    ),
    ("glm47", "The <tool_call> tag.", "The <tool_call> tag.$"),
    (
        "glm47",
        "<think>hm</think><tool_call>zip_all<arg_key>path</arg_key><arg_value>x</arg_value></tool_call>",
        "~hm~zip_all({\"path\": \"x\"})$calls",
    ),
    (
        "deepseek_v3",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>zip\n```json\n{\"n\": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "deepseek_v3",
        "Ok.\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>zip\n```json\n{\"path\": \"```\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>noop\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "Ok.zip({\"path\": \"```\"})noop({})$calls",
    ),
    (
        "deepseek_v3",
        "<think>hm</think>\n\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>noop\n```json\n{}\n```<｜tool▁call▁end｜>",
        "~hm~noop({})$calls",
    ),
    ("deepseek_v3", "```json\n{\"n\": 1}\n```", "```json\n{\"n\": 1}\n```$"),
    (
        "deepseek_v31",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>zip<｜tool▁sep｜>{\"n\": 1}<｜tool▁call▁end｜><｜tool▁call▁begin｜>noop<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "zip({\"n\": 1})noop({})$calls",
    ),
    (
        "deepseek_v31",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>zip<｜tool▁sep｜>{\"path\": \"<｜tool▁call▁end｜>\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "zip({\"path\": \"<｜tool▁call▁end｜>\"})$calls",
    ),
    (
        "deepseek_v31",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>zip<｜tool▁sep｜>{\"n\": 1<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "kimi_k2",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.zip:0<|tool_call_argument_begin|>{\"n\": 1}<|tool_call_end|><|tool_call_begin|>functions.noop:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        "zip({\"n\": 1})noop({})$calls",
    ),
    (
        "kimi_k2",
        "Hi.<|tool_call_section_begin|><|tool_call_begin|>zip:12 <|tool_call_argument_begin|> {\"path\": \"é\"} <|tool_call_end|><|tool_call_section_end|>",
        "Hi.zip({\"path\": \"é\"})$calls",
    ),
    (
        "kimi_k2",
        "<|tool_call_begin|>functions.nope:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
        "<|tool_call_begin|>functions.nope:0<|tool_call_argument_begin|>{}<|tool_call_end|>$",
    ),
    (
        "minimax",
        "<minimax:tool_call>\n<invoke name=\"zip\">\n<parameter name=\"path\">/a</parameter>\n<parameter name=\"n\">5</parameter>\n</invoke>\n</minimax:tool_call>",
        "zip({\"path\": \"/a\", \"n\": 5})$calls",
    ),
    (
        "minimax",
        "<minimax:tool_call><invoke name=\"zip\"><parameter name=\"path\">a</parameter>b\n</parameter></invoke><invoke name=\"noop\"></invoke></minimax:tool_call>",
        "zip({\"path\": \"a</parameter>b\\n\"})noop({})$calls",
    ),
    (
        "minimax",
        "<think>hm\n</think>\n\n<minimax:tool_call>\n<invoke name=\"noop\">\n</invoke>\n</minimax:tool_call>",
        "~hm~noop({})$calls",
    ),
    ("minimax", "<minimax:tool_call>oops", "<minimax:tool_call>oops$"),
    (
        "gemma4",
        "<|tool_call>call:zip{path:<|\"|>/tmp<|\"|>,n:5,ok:true}<tool_call|>",
        "zip({\"path\": \"/tmp\", \"n\": 5, \"ok\": true})$calls",
    ),
    (
        "gemma4",
        "<|tool_call>call:zip{o:{a:[1,<|\"|>x, y<|\"|>,{b:null}],c:{}},l:[]}<tool_call|>",
        "zip({\"o\": {\"a\": [1, \"x, y\", {\"b\": null}], \"c\": {}}, \"l\": []})$calls",
    ),
    (
        "gemma4",
        "<|tool_call>call:zip{path:<|\"|>a \"b\" {c:1} <tool_call|> \n<|\"|>}<tool_call|><|tool_call>call:noop{}<tool_call|>",
        "zip({\"path\": \"a \\\"b\\\" {c:1} <tool_call|> \\n\"})noop({})$calls",
    ),
    ("gemma4", "Sure.<|tool_call>call:noop{}<tool_call|>", "Sure.noop({})$calls"),
    ("gemma4", "call:zip{n:-1.5}", "zip({\"n\": -1.5})$calls"),
    ("gemma4", "call:zip{maybe:None,any:word}", "zip({\"maybe\": null, \"any\": \"word\"})$calls"),
    ("gemma4", "call: me later", "call: me later$"),
    ("gemma4", "<|tool_call>call:zip{n:5<tool_call|>", "zip({\"n\": 5})$calls"),
    (
        "harmony",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi.\n<|return|>",
        "~hm~Hi.\n$",
    ),
    (
        "harmony",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.zip <|constrain|>json<|message|>{\"n\": 1}<|call|>",
        "~hm~zip({\"n\": 1})$calls",
    ),
    (
        "harmony",
        "<|start|>assistant to=functions.zip<|channel|>commentary json<|message|>{\"path\": \"<|call|>\"}<|call|>",
        "zip({\"path\": \"<|call|>\"})$calls",
    ),
    (
        "harmony",
        "<|channel|>commentary<|message|>I'll zip.<|end|><|start|>assistant<|channel|>commentary to=functions.noop<|message|>{}<|call|>",
        "I'll zip.noop({})$calls",
    ),
    ("harmony", "<|channel|>final<|message|>{\"answer\": 42}<|return|>", "{\"answer\": 42}$"),
    ("harmony", "<|channel|>commentary to=functions.nope<|message|>{}<|call|>", "{}$"),
    (
        "harmony",
        "<|channel|>commentary to=functions.zip<|message|>{\"n\": 1}<|end|><|start|>assistant<|channel|>commentary to=functions.noop<|message|>{}<|call|>",
        "zip({\"n\": 1})noop({})$calls",
    ),
    ("harmony", "no header at all", "no header at all$"),
    ("harmony", "<|channel|>analysis<|message|>cut", "~cut~$"),
    ("harmony", "<|channel|>final<|message|>  exact \n\n<|end|>", "  exact \n\n$"),
];

pub(super) fn all() -> impl Iterator<Item = &'static Case> {
    let common = TAGGED.into_iter().flat_map(|format| {
        COMMON.into_iter().map(move |(prompt_tail, wire, events)| Case { format, prompt_tail, wire, events })
    });
    let own = CASES.into_iter().chain(super::more_cases::CASES).map(|(format, wire, events)| Case {
        format,
        prompt_tail: "",
        wire,
        events,
    });
    Vec::leak(common.chain(own).collect()).iter()
}

/// A call of each format up to the inside of its first argument, a string.
pub(super) fn openings() -> [(&'static str, &'static str); 24] {
    [
        ("hermes", "<tool_call>{\"name\": \"zip\", \"arguments\": {\"path\": \""),
        ("qwen3_coder", "<tool_call>\n<function=zip>\n<parameter=path>\n"),
        ("llama3", "{\"name\": \"zip\", \"parameters\": {\"path\": \""),
        ("mistral", "[TOOL_CALLS]zip[ARGS]{\"path\": \""),
        ("glm47", "<tool_call>zip<arg_key>path</arg_key><arg_value>"),
        ("deepseek_v3", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>zip\n```json\n{\"path\": \""),
        ("deepseek_v31", "<｜tool▁call▁begin｜>zip<｜tool▁sep｜>{\"path\": \""),
        ("kimi_k2", "<|tool_call_begin|>functions.zip:0<|tool_call_argument_begin|>{\"path\": \""),
        (
            "deepseek_v32",
            "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"zip\">\n<｜DSML｜parameter name=\"path\" string=\"true\">",
        ),
        ("lfm2", "<|tool_call_start|>[zip(path='"),
        ("minicpm", "<function name=\"zip\"><param name=\"path\">"),
        ("solar", "<|tool_call:begin|>x<|tool_call:name|>zip<|tool_call:args|>{\"path\": \""),
        ("minimax", "<minimax:tool_call><invoke name=\"zip\"><parameter name=\"path\">"),
        ("gemma4", "<|tool_call>call:zip{path:<|\"|>"),
        ("harmony", "<|channel|>commentary to=functions.zip<|message|>{\"path\": \""),
        ("muse", " to=zip<|message|><atem:function_calls><atem:invoke name=\"zip\"><atem:parameter name=\"path\">"),
        ("kimi_k3", "<|open|>tools<|sep|><|open|>call tool=\"zip\"<|sep|><|open|>argument key=\"path\"<|sep|>"),
        ("minimax_m3", "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"zip\">]<]minimax[>[<path>"),
        (
            "hy_v3",
            "<tool_call:opensource>zip<tool_sep:opensource><arg_key:opensource>path</arg_key:opensource><arg_value:opensource>",
        ),
        ("k2_horizon", "<ifm|tool_call>zip<ifm|arg_key>path</ifm|arg_key><ifm|arg_value>"),
        ("functionary", ">>>zip\n{\"path\": \""),
        ("apertus", "<|tools_prefix|>[{\"zip\": {\"path\": \""),
        ("cohere", "<|START_ACTION|>[{\"tool_name\": \"zip\", \"parameters\": {\"path\": \""),
        ("ui_tars", "Action: zip(path='"),
    ]
}
