"""Renders conversations with public chat templates as transformers does, and writes digests of what comes out.

`public_templates.py FOLDER FILE`: templates are FOLDER/*.jinja, digests go to FILE. The templates themselves are their
models' own and are not kept with our sources.
"""

import argparse
import datetime
import json
import pathlib

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2026, 3, 4, 5, 6, 7)
SPECIALS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}

TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tells the weather <now> in a \"city\" & its région.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Where."},
                "days": {"type": "integer", "description": "How long.", "default": 1},
            },
            "required": ["city"],
        },
    },
}
SYSTEM = {"role": "system", "content": "Answer in one short sentence."}
ASK = {"role": "user", "content": "How is it in Zürich?"}
ANSWER = {"role": "assistant", "content": "It is sunny."}
MORE = {"role": "user", "content": "And tomorrow?"}
CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": "call00001", "type": "function", "function": {"name": "weather", "arguments": {"city": "Zürich", "days": 2}}}
    ],
}
RESULT = {"role": "tool", "name": "weather", "tool_call_id": "call00001", "content": "{\"sky\": \"clear\"}"}

CASES = {
    "plain": ([ASK], None, True),
    "system": ([SYSTEM, ASK], None, True),
    "turns": ([SYSTEM, ASK, ANSWER, MORE], None, True),
    "no_prompt": ([ASK, ANSWER], None, False),
    "tools": ([SYSTEM, ASK], [TOOL], True),
    "call": ([ASK, CALL, RESULT], [TOOL], True),
    "call_turns": ([SYSTEM, ASK, CALL, RESULT, ANSWER, MORE], [TOOL], True),
    "late_system": ([ASK, ANSWER, SYSTEM, MORE], None, True),
    "two_users": ([ASK, MORE], None, True),
}


class Generation(jinja2.ext.Extension):
    """`{% generation %}`, which marks the assistant's text for training and is transparent otherwise."""

    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def written(calls_as_text, none, messages):
    """Messages in one of the ways that templates expect calls."""
    messages = json.loads(json.dumps(messages))
    for message in messages:
        if "tool_calls" in message:
            if none:
                message["content"] = None
            for call in message["tool_calls"]:
                if calls_as_text:
                    arguments = call["function"]["arguments"]
                    call["function"]["arguments"] = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    return messages


def digest(text):
    """FNV-1a of the text's bytes."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def outcome(template, case):
    """What each way of writing the calls gives; one that fails is its error's kind."""
    messages, tools, prompt = case
    has_calls = any("tool_calls" in message for message in messages)
    outcomes = []
    for calls_as_text in [False, True] if has_calls else [False]:
        for none in [False, True] if has_calls else [False]:
            try:
                text = template.render(
                    messages=written(calls_as_text, none, messages),
                    tools=json.loads(json.dumps(tools)),
                    documents=None,
                    add_generation_prompt=prompt,
                    **SPECIALS,
                )
                outcomes.append(digest(text))
            except jinja2.exceptions.TemplateError as error:
                outcomes.append("raised" if type(error) is jinja2.exceptions.TemplateError else "failed")
            except Exception:
                outcomes.append("failed")
    return outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("file", type=pathlib.Path)
    args = parser.parse_args()
    templates = {}
    for path in sorted(args.folder.glob("*.jinja")):
        template = environment().from_string(path.read_text(encoding="utf-8"))
        templates[path.stem] = {name: outcome(template, case) for name, case in CASES.items()}
    cases = {
        name: {"messages": messages, "tools": tools, "add_generation_prompt": prompt}
        for name, (messages, tools, prompt) in CASES.items()
    }
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(digests)}" for name, digests in templates.items())
    head = json.dumps({"now": NOW.isoformat(), "variables": SPECIALS, "cases": cases}, ensure_ascii=False)
    args.file.write_text(f'{head[:-1]}, "templates": {{\n{lines}\n}}}}\n', encoding="utf-8")


main()
