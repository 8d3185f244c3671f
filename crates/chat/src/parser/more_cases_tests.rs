//! Wire texts of formats that stand beside the most common ones. All are ours.

pub(super) const CASES: [(&str, &str, &str); 20] = [
    ("hermes", "<|tool_call|>[{\"name\": \"zip\", \"arguments\": {\"n\": 1}}]", "zip({\"n\": 1})$calls"),
    ("hermes", "<TOOLCALL>[{\"name\": \"noop\", \"arguments\": {}}]</TOOLCALL>", "noop({})$calls"),
    (
        "hermes",
        "<tool_calls>\n{\"name\": \"noop\", \"arguments\": {}}\n{\"name\": \"zip\", \"arguments\": {\"n\": 1}}\n</tool_calls>",
        "noop({})zip({\"n\": 1})$calls",
    ),
    (
        "hermes",
        "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"zip\", \"parameters\": {\"n\": 1}}\n]<|END_ACTION|>",
        "zip({\"n\": 1})$calls",
    ),
    ("hermes", "[{\"name\": \"noop\", \"arguments\": {}}]", "noop({})$calls"),
    ("hermes", "[1, 2]", "[1, 2]$"),
    (
        "qwen3_coder",
        "<seed:tool_call>\n<function=zip>\n<parameter=n>5</parameter>\n</function>\n</seed:tool_call>",
        "zip({\"n\": 5})$calls",
    ),
    (
        "deepseek_v32",
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"zip\">\n<｜DSML｜parameter name=\"path\" string=\"true\">a\n<b></｜DSML｜parameter>\n<｜DSML｜parameter name=\"n\" string=\"false\">5</｜DSML｜parameter>\n<｜DSML｜parameter name=\"any\" string=\"true\">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"noop\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        "zip({\"path\": \"a\\n<b>\", \"n\": 5, \"any\": \"5\"})noop({})$calls",
    ),
    (
        "deepseek_v32",
        "<think>hm</think>Ok.\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"noop\">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        "~hm~Ok.noop({})$calls",
    ),
    (
        "lfm2",
        "<|tool_call_start|>[zip(path=\"/tmp\", n=5, ok=True), noop()]<|tool_call_end|>",
        "zip({\"path\":\"/tmp\", \"n\":5, \"ok\":true})noop({})$calls",
    ),
    (
        "lfm2",
        "<|tool_call_start|>[zip(l=[1, (2, 3)], o={'a': None}, path='it\\'s \"x\"')]<|tool_call_end|>Done.",
        "zip({\"l\":[1, [2, 3]], \"o\":{\"a\": null}, \"path\":\"it's \\\"x\\\"\"})Done.$calls",
    ),
    ("lfm2", "[zip(n=1)]", "zip({\"n\":1})$calls"),
    ("lfm2", "[zipper, nothing]", "[zipper, nothing]$"),
    (
        "minicpm",
        "<function name=\"zip\"><param name=\"path\">a</param><param name=\"n\">5</param></function>",
        "zip({\"path\": \"a\", \"n\": 5})$calls",
    ),
    (
        "minicpm",
        "Ok <function name=\"zip\"><param name=\"path\"><![CDATA[a</param>\n]]></param></function><function name=\"noop\"></function>",
        "Ok zip({\"path\": \"a</param>\\n\"})noop({})$calls",
    ),
    (
        "solar",
        "<|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>zip<|tool_call:args|>{\"n\": 1}<|tool_call:end|><|tool_call:begin|>x<|tool_call:name|>noop<|tool_call:args|>{}<|tool_call:end|>",
        "zip({\"n\": 1})noop({})$calls",
    ),
    ("harmony", " to=functions.zip<|channel|>commentary json<|message|>{\"n\": 1}<|call|>", "zip({\"n\": 1})$calls"),
    ("harmony", "to be or not", "to be or not$"),
    (
        "qwen3_coder",
        "<function=zip>\n<parameter=l>\n['a', 1, True, {'k': None}]\n</parameter>\n<parameter=o>\n{'a': \"it's\"}\n</parameter>\n<parameter=any>\n[not a list\n</parameter>\n</function>",
        "zip({\"l\": [\"a\", 1, true, {\"k\": null}], \"o\": {\"a\": \"it's\"}, \"any\": \"[not a list\"})$calls",
    ),
    (
        "deepseek_v32",
        "<｜DSML｜invoke name=\"zip\">\n<｜DSML｜parameter name=\"path\" string=\"false\">true</｜DSML｜parameter>\n</｜DSML｜invoke>",
        "zip({\"path\": true})$calls",
    ),
];
