"""Anthropic's SDK for Python. Usage: anthropic_python.py READY STRICT BUSY LOADING"""
import sys

import anthropic

READY, STRICT, BUSY, LOADING = sys.argv[1:5]
CALL = 'look [[{"name": "look", "arguments": {"at": "sea"}}]]'
LOOK = {"name": "look", "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}}}


def client(url, key="right"):
    return anthropic.Anthropic(base_url=url, api_key=key, max_retries=0)


def fails(kind, status, call):
    try:
        call()
    except kind as error:
        assert error.status_code == status, error
        print("ok", status, "raises", kind.__name__)
    else:
        raise SystemExit(f"nothing was raised for {status}")


ask = {"model": "scripted", "max_tokens": 200, "tools": [LOOK]}
messages = [{"role": "user", "content": CALL}]
asked = client(READY).messages.create(messages=messages, **ask)
call = asked.content[-1]
assert asked.stop_reason == "tool_use" and call.input == {"at": "sea"}, asked
with client(READY).messages.stream(messages=messages, **ask) as stream:
    assert stream.get_final_message().content[-1].input == {"at": "sea"}
messages += [
    {"role": "assistant", "content": asked.content},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "blue-4711"}]},
]
said = client(READY).messages.create(messages=messages, **ask)
assert said.content[0].text == "The tool said: blue-4711", said

small = {"model": "scripted", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
big = {**small, "messages": [{"role": "user", "content": "x" * 30_000}]}
fails(anthropic.BadRequestError, 400, lambda: client(STRICT).messages.create(**{**small, "messages": []}))
fails(anthropic.AuthenticationError, 401, lambda: client(STRICT, "wrong").messages.create(**small))
fails(anthropic.NotFoundError, 404, lambda: client(STRICT).messages.create(**{**small, "model": "none"}))
fails(anthropic.APIStatusError, 413, lambda: client(STRICT).messages.create(**big))
fails(anthropic.RateLimitError, 429, lambda: client(BUSY).messages.create(**small))
fails(anthropic.APIStatusError, 503, lambda: client(LOADING).messages.create(**small))
print("all checks passed")
