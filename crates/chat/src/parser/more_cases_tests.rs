//! Wire texts of formats that stand beside the most common ones. All are ours.

pub(super) const CASES: [(&str, &str, &str); 57] = [
    ("hermes", "<|tool_call|>[{\"name\": \"zip\", \"arguments\": {\"n\": 1}}]", "zip({\"n\": 1})$calls"),
    ("hermes", "<TOOLCALL>[{\"name\": \"noop\", \"arguments\": {}}]</TOOLCALL>", "noop({})$calls"),
    (
        "hermes",
        "<tool_calls>\n{\"name\": \"noop\", \"arguments\": {}}\n{\"name\": \"zip\", \"arguments\": {\"n\": 1}}\n</tool_calls>",
        "noop({})zip({\"n\": 1})$calls",
    ),
    (
        "cohere",
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
        "zip({\"path\": \"true\"})$calls",
    ),
    (
        "hermes",
        "<|function_call|>{\"name\": \"zip\", \"arguments\": {\"n\": 1}}<|message_sep|>\n\n",
        "zip({\"n\": 1})$calls",
    ),
    (
        "hermes",
        "function call<|role_sep|>\n{\"name\": \"noop\", \"arguments\": {}}<|message_sep|>\n\n",
        "noop({})$calls",
    ),
    ("hermes", "Ok functools[{\"name\": \"noop\", \"arguments\": {}}]", "Ok noop({})$calls"),
    ("cohere", "<|START_RESPONSE|>Hi there.<|END_RESPONSE|>", "Hi there.$"),
    ("cohere", "<|START_THINKING|>plan<|END_THINKING|>ok", "<|START_THINKING|>plan<|END_THINKING|>ok$"),
    (
        "cohere",
        "Action: ```json\n[\n    {\n        \"tool_name\": \"zip\",\n        \"parameters\": {\"n\": 1}\n    }\n]```",
        "zip({\"n\": 1})$calls",
    ),
    (
        "muse",
        " to=self<|message|>hm<|eom|><|start|>assistant to=zip<|message|><atem:function_calls>\n<atem:invoke name=\"zip\">\n<atem:parameter name=\"path\">a\n</atem:parameter>\n<atem:parameter name=\"n\">5</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>",
        "~hm~zip({\"path\": \"a\\n\", \"n\": 5})$calls",
    ),
    ("muse", " to=user<|message|>Hi.\n<|eot|>", "Hi.\n$"),
    ("muse", "<|message|>Hi.<|eot|>", "Hi.$"),
    (
        "muse",
        "<|start|>assistant to=zip<|message|><atem:function_calls><atem:invoke name=\"zip\"><atem:parameter name=\"path\">a<|eot|>",
        "zip({\"path\": \"a<|eot|>\"})$calls",
    ),
    (
        "kimi_k3",
        "<|open|>response<|sep|>I zip.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"zip\" index=\"1\"<|sep|><|open|>argument key=\"path\" type=\"string\"<|sep|>a<|close|>argument<|sep|><|open|>argument key=\"n\" type=\"number\"<|sep|>5<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool=\"noop\" index=\"2\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>",
        "I zip.zip({\"path\": \"a\", \"n\": 5})noop({})$calls",
    ),
    (
        "kimi_k3",
        "<|open|>tools<|sep|><|open|>call tool=\"zip\" index=\"1\"<|sep|><|open|>json type=\"object\"<|sep|>{\"n\": 1}<|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "minimax_m3",
        "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"zip\">]<]minimax[>[<path>a <b> ]<]\n]<]minimax[>[</path>]<]minimax[>[<l>]<]minimax[>[<item>1]<]minimax[>[</item>]<]minimax[>[<item>]<]minimax[>[<k>x]<]minimax[>[</k>]<]minimax[>[</item>]<]minimax[>[</l>]<]minimax[>[<o>]<]minimax[>[<a>true]<]minimax[>[</a>]<]minimax[>[</o>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        "zip({\"path\": \"a <b> ]<]\\n\", \"l\": [1, {\"k\": \"x\"}], \"o\": {\"a\": true}})$calls",
    ),
    (
        "minimax_m3",
        "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"zip\">]<]minimax[>[<l>]<]minimax[>[</l>]<]minimax[>[<o>]<]minimax[>[</o>]<]minimax[>[<n>5",
        "zip({\"l\": [], \"o\": {}, \"n\": 5})$calls",
    ),
    (
        "hy_v3",
        "<tool_calls:opensource>\n<tool_call:opensource>zip<tool_sep:opensource>\n<arg_key:opensource>path</arg_key:opensource>\n<arg_value:opensource>a\n</arg_value:opensource>\n<arg_key:opensource>n</arg_key:opensource>\n<arg_value:opensource>5</arg_value:opensource>\n</tool_call:opensource>\n<tool_call:opensource>noop<tool_sep:opensource>\n</tool_call:opensource>\n</tool_calls:opensource>",
        "zip({\"path\": \"a\\n\", \"n\": 5})noop({})$calls",
    ),
    (
        "hy_v3",
        "<tool_call:opensource>zip<tool_sep:opensource>{\"n\": 1}<end_of_tool_call:opensource>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "hy_v3",
        "<tool_call:opensource>zip<tool_sep:opensource>{\"n\": 1</tool_call:opensource>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "hy_v3",
        "<tool_call:opensource>zip<arg_key:opensource>n</arg_key:opensource><arg_value:opensource>1</tool_call:opensource></tool_calls:opensource>",
        "zip({\"n\": 1})$calls",
    ),
    (
        "k2_horizon",
        "<ifm|tool_calls><ifm|tool_call>zip<ifm|arg_key>path</ifm|arg_key><ifm|arg_type>string</ifm|arg_type><ifm|arg_value>5</ifm|arg_value><ifm|arg_key>n</ifm|arg_key><ifm|arg_type>integer</ifm|arg_type><ifm|arg_value>5</ifm|arg_value><ifm|arg_key>any</ifm|arg_key><ifm|arg_type>string</ifm|arg_type><ifm|arg_value>5</ifm|arg_value></ifm|tool_call></ifm|tool_calls>",
        "zip({\"path\": \"5\", \"n\": 5, \"any\": \"5\"})$calls",
    ),
    (
        "k2_horizon",
        "<ifm|tool_call>zip<ifm|arg_key>n</ifm|arg_key><ifm|arg_value>5</ifm|arg_value></ifm|tool_call><ifm|tool_call>{\"name\": \"noop\", \"arguments\": {}}</ifm|tool_call>",
        "zip({\"n\": 5})noop({})$calls",
    ),
    ("functionary", ">>>all\nI zip.>>>zip\n{\"n\": 1}>>>noop\n{}", "I zip.zip({\"n\": 1})noop({})$calls"),
    ("functionary", ">>> print(1)\n>>>nope\n", ">>> print(1)\n>>>nope\n$"),
    (
        "functionary",
        "<|from|>assistant\n<|recipient|>all\n<|content|>Ok.<|from|>assistant\n<|recipient|>zip\n<|content|>{\"n\": 1}<|stop|>",
        "Ok.zip({\"n\": 1})$calls",
    ),
    (
        "apertus",
        "<|tools_prefix|>[{\"zip\": {\"n\": 1}}, {\"noop\": {}}]<|tools_suffix|>",
        "zip({\"n\": 1})noop({})$calls",
    ),
    ("ui_tars", "Action: zip(path='<point>200 300</point>')", "zip({\"path\":\"<point>200 300</point>\"})$calls"),
    ("ui_tars", "Action: nope(a=1)", "Action: nope(a=1)$"),
    ("solar", "<|think|>hm<|end|><|begin|>assistant<|content|>Hi.\n<|end|>", "~hm~Hi.\n$"),
    // Line breaks of another system stand around tags and in values.
    (
        "qwen3_coder",
        "<tool_call>\r\n<function=zip>\r\n<parameter=path>\r\na\r\nb\r\n</parameter>\r\n</function>\r\n</tool_call>",
        "zip({\"path\": \"a\\r\\nb\"})$calls",
    ),
    ("hermes", "Ok.\r\n<tool_call>\r\n{\"name\": \"noop\", \"arguments\": {}}\r\n</tool_call>", "Ok.noop({})$calls"),
    // No arguments, said in other ways, and arguments as text.
    ("hermes", "<tool_call>\n{\"name\": \"noop\", \"arguments\": null}\n</tool_call>", "noop({})$calls"),
    ("hermes", "<tool_call>\n{\"name\": \"noop\", \"arguments\": \"\"}\n</tool_call>", "noop({})$calls"),
    ("mistral", "[TOOL_CALLS]noop[ARGS]null", "noop({})$calls"),
    ("mistral", "[TOOL_CALLS]noop[ARGS]", "noop({})$calls"),
    (
        "kimi_k2",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.zip:0<|tool_call_argument_begin|>\"{\\\"n\\\": 1}\"<|tool_call_end|><|tool_calls_section_end|>",
        "zip({\"n\": 1})$calls",
    ),
    ("solar", "<|tool_call:begin|>x<|tool_call:name|>noop<|tool_call:args|>\"\"<|tool_call:end|>", "noop({})$calls"),
    // Python's own ways to write values.
    (
        "lfm2",
        "<|tool_call_start|>[zip(n=+3, l=[.5, 5., 1_000], path='\\x41\\U0001F600', o=dict(a=1))]<|tool_call_end|>",
        "zip({\"n\":3, \"l\":[0.5, 5.0, 1000], \"path\":\"A😀\", \"o\":{\"a\":1}})$calls",
    ),
    ("harmony", "<|message|>Hi.<|return|>", "Hi.$"),
];
