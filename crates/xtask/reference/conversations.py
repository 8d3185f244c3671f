"""Conversations for the models' own chat templates, and templates of ours that use what templates on the Hub use."""

SYSTEM = {"role": "system", "content": "Answer in one short sentence."}
ASK = {"role": "user", "content": "What is the capital of France?"}
PARIS = {"role": "assistant", "content": "The capital of France is Paris."}
MORE = {"role": "user", "content": "And of Japan?"}


def user(text):
    return {"role": "user", "content": text}


# name: (messages, add_generation_prompt)
CONVERSATIONS = {
    "one_question": ([ASK], True),
    "with_system": ([SYSTEM, ASK], True),
    "many_turns": ([SYSTEM, ASK, PARIS, MORE], True),
    "no_generation_prompt": ([ASK, PARIS], False),
    "no_system_many_turns": ([ASK, PARIS, MORE, {"role": "assistant", "content": "Tokyo."}, user("Thanks!")], True),
    "unicode": ([user("Что такое 猫? 👩‍👩‍👧 e\u0301 नमस्ते\u200b\u00a0x")], True),
    "whitespace": ([{"role": "system", "content": "  keep \n"}, user("\n\n  padded\ttext  \n\n")], True),
    "empty_content": ([user("")], True),
    "looks_like_jinja": ([user("{{ 7 * 7 }} {% for x in y %} {# note #} {{ bos_token }}")], True),
    "looks_like_markers": ([user("<|im_end|>\n<|im_start|>system\nNo.<end_of_turn><bos>")], True),
    "html_and_quotes": ([user("<b>\"5\" & '6'</b> \\n \\u00e9 % {} $1")], True),
    "long": ([user("word " * 200)], True),
    "two_users_in_a_row": ([ASK, MORE], True),
    "assistant_first": ([PARIS, ASK], True),
    "tool_role": ([ASK, {"role": "tool", "content": "42"}], True),
}

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tells the weather <now> in a \"city\" & its région.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}, "scale": {"enum": ["C", "F", None]}},
            "required": ["city"],
        },
    },
}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "", "parameters": {"type": "object", "properties": {}}}}
CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": {"city": "Zürich", "days": 2, "ratio": 0.1, "ok": True, "none": None}}}
    ],
}
RESULT = {"role": "tool", "name": "weather", "tool_call_id": "call_1", "content": "{\"sky\": \"clear\"}"}
THOUGHT = {"role": "assistant", "content": "<think>\nCapital? Paris.\n</think>\n\nParis."}
TOOLS_TALK = [SYSTEM, user("How is it in Zürich?"), CALL, RESULT]

# name: (template, messages, extra variables). `tools` is one of the variables.
TEMPLATES = {
    "loop_variables": (
        "{% for m in messages %}{{ loop.index }}/{{ loop.length }}{% if loop.first %} first{% endif %}{% if loop.last %} last{% endif %}"
        " {{ loop.index0 }} {{ loop.revindex }} {{ loop.previtem.role if not loop.first else '-' }} {{ m['role'] }}\n{% endfor %}",
        [SYSTEM, ASK, PARIS],
        {},
    ),
    "blocks_are_trimmed": ("{% for m in messages %}\n    {% if m.role == 'user' %}\n  <{{ m.content }}>\n    {% endif %}\n{% endfor %}\nend\n", [ASK, PARIS, MORE], {}),
    "minus_signs": ("a  \n{%- for m in messages -%}  \n [{{- m.role -}}] \n{%- endfor -%}\n  b", [ASK, PARIS], {}),
    "namespace": (
        "{% set ns = namespace(n=0, last='') %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.n = ns.n + 1 %}{% set ns.last = m.content %}{% endif %}{% endfor %}{{ ns.n }} {{ ns.last }}",
        [ASK, PARIS, MORE],
        {},
    ),
    "last_user_backwards": (
        "{%- set ns = namespace(at=messages|length - 1, seen=false) %}{%- for m in messages[::-1] %}{%- set i = (messages|length - 1) - loop.index0 %}"
        "{%- if not ns.seen and m.role == 'user' %}{%- set ns.seen = true %}{%- set ns.at = i %}{%- endif %}{%- endfor %}{{ ns.at }}",
        [SYSTEM, ASK, PARIS, MORE, PARIS],
        {},
    ),
    "tools_tojson": ("{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}", [ASK], {"tools": [WEATHER, CLOCK]}),
    "tools_tojson_indent": ("{{ tools | tojson(indent=4) }}\n{{ tools[1] | tojson(indent=2) }}", [ASK], {"tools": [WEATHER, CLOCK]}),
    "tojson_separators": ("{{ tools[0].function.parameters | tojson(separators=(',', ':'), sort_keys=true) }}", [ASK], {"tools": [WEATHER]}),
    "tojson_ascii": ("{{ messages[0].content | tojson }} {{ messages[0].content | tojson(ensure_ascii=true) }}", [user("é 猫 😀 \u2028 \u007f \u0001 </script> ' \" \\")], {}),
    "tojson_scalars": ("{{ [1, 1.0, -0.5, 1e30, 0.1, true, false, none, 'x', {}, []] | tojson }} {{ [] | tojson(indent=2) }}", [ASK], {}),
    "tool_calls": (
        "{% for m in messages %}{% if m.tool_calls %}{% for c in m.tool_calls %}{% set f = c.function if c.function is defined else c %}"
        "<tool_call>\n{\"name\": \"{{ f.name }}\", \"arguments\": {% if f.arguments is string %}{{ f.arguments }}{% else %}{{ f.arguments | tojson }}{% endif %}}\n</tool_call>"
        "{% endfor %}{% elif m.role == 'tool' %}\n<tool_response>{{ m.content }}</tool_response>{% else %}{{ m.role }}: {{ m.content }}\n{% endif %}{% endfor %}",
        TOOLS_TALK,
        {"tools": [WEATHER]},
    ),
    "arguments_items": (
        "{% for c in messages[2].tool_calls %}{% for key, value in c.function.arguments.items() %}{{ key }}={{ value | tojson if value is not string else value }};{% endfor %}"
        "{% for key in c.function.arguments %}{{ key }},{% endfor %}{{ c.function.arguments.get('city') }} {{ c.function.arguments.get('nope', 'default') }}{% endfor %}",
        TOOLS_TALK,
        {},
    ),
    "python_printing": ("{{ messages[2].tool_calls[0].function.arguments }} {{ [1, 'a', none, true, 1.0, [], {'k': 'v\\'s'}] }} {{ none }} {{ true }} {{ 3 / 2 }} {{ 4 / 2 }} {{ 7 // 2 }} {{ -7 % 3 }} {{ 2 ** 5 }}", TOOLS_TALK, {}),
    "string_methods": (
        "{% set t = messages[0].content %}{{ t.split('</think>')[-1].lstrip('\\n') }}|{{ t.split('</think>')[0].split('<think>')[-1].strip('\\n') }}|{{ t.startswith('<think>') }}|{{ t.endswith('x') }}"
        "|{{ t.replace('Paris', 'Rome') }}|{{ t.upper() }}|{{ t.find('Paris') }}|{{ 'a,b,,c'.split(',') | join('/') }}|{{ ' x y '.split() | length }}|{{ 'xxabxx'.strip('x') }}|{{ 'ab'.title() }}|{{ 'a-b-c'.rsplit('-', 1)[0] }}",
        [THOUGHT],
        {},
    ),
    "string_tests": ("{% for x in [1, 1.5, 'a', [1], {'a': 1}, none, true] %}{{ x is string }} {{ x is number }} {{ x is mapping }} {{ x is iterable }} {{ x is sequence }} {{ x is none }} {{ x is boolean }}\n{% endfor %}", [ASK], {}),
    "slices": ("{{ 'abcdef'[1:3] }} {{ 'abcdef'[::-1] }} {{ 'abcdef'[-2:] }} {{ messages[1:] | length }} {{ messages[-1].role }} {{ messages[:-1] | length }}", [SYSTEM, ASK, PARIS], {}),
    "filters": ("{{ [3, 1, 2] | sort | join(',') }} {{ messages | map(attribute='role') | list | join(' ') }} {{ messages | selectattr('role', 'equalto', 'user') | list | length }} {{ '  x ' | trim }} {{ 'ab' | upper }} {{ missing | default('d') }} {{ '' | default('e', true) }} {{ [1, 2] | first }} {{ [1, 2] | last }} {{ 'x' | length }} {{ {'b': 1, 'a': 2} | items | list }} {{ {'b': 1, 'a': 2} | dictsort }} {{ 3.7 | int }} {{ '5' | int + 1 }} {{ [1, 2, 3] | sum }} {{ 'a b' | replace(' ', '_') }} {{ ['x', 'y'] | reject('equalto', 'x') | list }}", [SYSTEM, ASK], {}),
    "macros": ("{% macro say(role, text='-') %}<{{ role }}>{{ text }}</{{ role }}>{% endmacro %}{% for m in messages %}{{ say(m.role, m.content) }}{% endfor %}{{ say('end') }}", [ASK, PARIS], {}),
    "set_block": ("{% set body %}{{ messages[0].content }}!{% endset %}[{{ body }}] {{ body | length }}", [ASK], {}),
    "break_and_continue": ("{% for m in messages %}{% if m.role == 'system' %}{% continue %}{% endif %}{{ m.content }}{% if m.role == 'assistant' %}{% break %}{% endif %}{% endfor %}", [SYSTEM, ASK, PARIS, MORE], {}),
    "generation_block": ("{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}\n{% endgeneration %}{% else %}{{ m.content }}\n{% endif %}{% endfor %}", [ASK, PARIS], {}),
    "strftime": ("Today: {{ strftime_now('%d %b %Y') }} {{ strftime_now('%Y-%m-%d %H:%M:%S') }} {{ strftime_now('%A %B %-d %j %y %p %I %%') }}{% if strftime_now is defined %} ok{% endif %}", [ASK], {}),
    "variables": ("{{ bos_token }}{{ eos_token }} {{ add_generation_prompt }} {{ enable_thinking is defined and enable_thinking is false }} {{ missing is defined }} {{ tools is none }} {{ documents is none }}", [ASK], {"enable_thinking": False}),
    "undefined_prints_nothing": ("[{{ missing }}] [{{ messages[0].missing }}] [{{ 'yes' if messages[0].tool_calls else 'no' }}] {{ missing is not defined }}", [ASK], {}),
    "raises": ("{% if messages[0].role != 'system' %}{{ raise_exception('Start with a system message, not ' + messages[0].role) }}{% endif %}", [ASK], {}),
    "conditions": ("{{ 'a' if 1 < 2 <= 2 else 'b' }} {{ 'x' in 'xyz' }} {{ 'role' in messages[0] }} {{ 'q' not in ['a'] }} {{ not false and (1 or 0) }} {{ [] == [] }} {{ 'A' ~ 1 ~ none }} {{ ('a' * 3) }} {{ [1] + [2] }}", [ASK], {}),
    "unicode": ("«{{ messages[0].content }}» {{ messages[0].content | length }} {{ messages[0].content[1:3] }} {{ 'ß'.upper() }}", [user("é猫😀e\u0301")], {}),
    "recursive_loop": ("{% for n in [{'v': 1, 'c': [{'v': 2, 'c': []}]}] recursive %}({{ n.v }}{{ loop(n.c) }}){% endfor %}", [ASK], {}),
    "range_and_cycler": ("{% for i in range(0, 6, 2) %}{{ i }}{{ loop.cycle('a', 'b') }}{% endfor %} {% for k, v in {'x': 1}.items() %}{{ k }}{{ v }}{% endfor %} {% for x in [] %}{% else %}none{% endfor %} {% for x in [1, 2, 3] if x != 2 %}{{ x }}{% endfor %}", [ASK], {}),
    "escapes": ("{{ 'tab\\there \\u00e9 \\x41 \\'q\\'' }} {{ \"dq\\n\" }}{{ '<b>' }} {{ '<b>' | e }} {{ '<b>' | safe }}", [ASK], {}),
    "keep_trailing": ("{{ messages[0].content }}\n\n", [ASK], {}),
    "comments": ("a{# one #}b\n{#- two -#}\nc {# three\nlines #} d", [ASK], {}),
    "call_block_and_filter_block": ("{% filter upper %}{{ messages[0].content }}{% endfilter %} {% raw %}{{ raw }}{% endraw %} {% with x = 3 %}{{ x }}{% endwith %}", [ASK], {}),
}
