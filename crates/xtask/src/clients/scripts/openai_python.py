"""OpenAI's SDK for Python. Usage: openai_python.py READY STRICT BUSY LOADING"""
import json
import sys

import openai

READY, STRICT, BUSY, LOADING = sys.argv[1:5]
CALL = 'look [[{"name": "look", "arguments": {"at": "sea"}}]]'
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}}


def client(url, key="right"):
    return openai.OpenAI(base_url=url + "/v1", api_key=key, max_retries=0)


def fails(kind, status, call):
    try:
        call()
    except kind as error:
        assert error.status_code == status, error
        print("ok", status, "raises", kind.__name__)
    else:
        raise SystemExit(f"nothing was raised for {status}")


messages = [{"role": "user", "content": CALL}]
asked = client(READY).chat.completions.create(model="scripted", messages=messages, tools=[LOOK]).choices[0]
call = asked.message.tool_calls[0]
assert asked.finish_reason == "tool_calls" and json.loads(call.function.arguments) == {"at": "sea"}, asked
stream = client(READY).chat.completions.create(model="scripted", messages=messages, tools=[LOOK], stream=True)
deltas = [piece for chunk in stream for choice in chunk.choices for piece in choice.delta.tool_calls or []]
assert json.loads("".join(piece.function.arguments or "" for piece in deltas)) == {"at": "sea"}, deltas
messages += [asked.message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": "blue-4711"}]
said = client(READY).chat.completions.create(model="scripted", messages=messages, tools=[LOOK])
assert said.choices[0].message.content == "The tool said: blue-4711", said

item = {"type": "function", "name": "look", "parameters": LOOK["function"]["parameters"], "strict": False}
asked = client(READY).responses.create(model="scripted", input=CALL, tools=[item])
call = next(item for item in asked.output if item.type == "function_call")
items = [{"role": "user", "content": CALL}, *[item.to_dict() for item in asked.output]]
items.append({"type": "function_call_output", "call_id": call.call_id, "output": "blue-4711"})
said = client(READY).responses.create(model="scripted", input=items, tools=[item])
assert said.output_text == "The tool said: blue-4711", said

small = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}
big = {**small, "messages": [{"role": "user", "content": "x" * 30_000}]}
fails(openai.BadRequestError, 400, lambda: client(STRICT).chat.completions.create(**{**small, "messages": []}))
fails(openai.AuthenticationError, 401, lambda: client(STRICT, "wrong").chat.completions.create(**small))
fails(openai.NotFoundError, 404, lambda: client(STRICT).chat.completions.create(**{**small, "model": "none"}))
fails(openai.APIStatusError, 413, lambda: client(STRICT).chat.completions.create(**big))
fails(openai.RateLimitError, 429, lambda: client(BUSY).chat.completions.create(**small))
fails(openai.InternalServerError, 503, lambda: client(LOADING).chat.completions.create(**small))
print("all checks passed")
