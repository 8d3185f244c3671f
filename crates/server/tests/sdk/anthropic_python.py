"""Tools and errors through Anthropic's Python SDK. Usage: anthropic_python.py CALLING ANSWERING STRICT BUSY LOADING"""
import sys

import anthropic

CALLING, ANSWERING, STRICT, BUSY, LOADING = sys.argv[1:6]
LOOK = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}}}
ASK = {"model": "tiny", "max_tokens": 200, "tools": [LOOK]}


def client(url, key="right"):
    return anthropic.Anthropic(base_url=url, api_key=key, max_retries=0)


def check(what, holds, seen):
    if not holds:
        raise SystemExit(f"{what}: {seen!r}")
    print("ok", what)


def fails(kind, status, call):
    try:
        call()
    except kind as error:
        check(f"{status} raises {kind.__name__}", error.status_code == status, error)
    else:
        raise SystemExit(f"nothing was raised for {status}")


messages = [{"role": "user", "content": "look at the sea"}]
asked = client(CALLING).messages.create(messages=messages, **ASK)
kinds = [block.type for block in asked.content]
check("thought, text and call are blocks", kinds == ["thinking", "text", "tool_use"], asked)
call = asked.content[2]
check("the call has its input", (call.name, call.input, asked.stop_reason) == ("look", {"at": "sea"}, "tool_use"), asked)

with client(CALLING).messages.stream(messages=messages, **ASK) as stream:
    events = [event.type for event in stream]
    final = stream.get_final_message()
check("a stream adds up to the same", [block.type for block in final.content] == kinds and final.content[2].input == call.input, final)
check("it starts and ends as it should", (events[0], events[-1]) == ("message_start", "message_stop"), events)
check("counts agree", final.usage.output_tokens == asked.usage.output_tokens > 0, final.usage)

messages += [
    {"role": "assistant", "content": asked.content},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "blue"}]},
]
said = client(ANSWERING).messages.create(messages=messages, **ASK)
check("the round trip ends in an answer", (said.content[0].text, said.stop_reason) == ("It is blue.", "end_turn"), said)
counted = client(ANSWERING).messages.count_tokens(model="tiny", messages=messages, tools=[LOOK])
check("tokens are counted", counted.input_tokens == said.usage.input_tokens, counted)
check("models are listed", [model.id for model in client(ANSWERING).models.list()] == ["org/tiny"], "models")

small = {"messages": [{"role": "user", "content": "hi"}], "model": "tiny", "max_tokens": 5}
strict = client(STRICT)
fails(anthropic.BadRequestError, 400, lambda: strict.messages.create(**{**small, "messages": []}))
fails(anthropic.AuthenticationError, 401, lambda: client(STRICT, "wrong").messages.create(**small))
fails(anthropic.NotFoundError, 404, lambda: strict.messages.create(**{**small, "model": "none"}))
big = {**small, "messages": [{"role": "user", "content": "x" * 30_000}]}
fails(anthropic.APIStatusError, 413, lambda: strict.messages.create(**big))
fails(anthropic.RateLimitError, 429, lambda: client(BUSY).messages.create(**small))
fails(anthropic.APIStatusError, 503, lambda: client(LOADING).messages.create(**small))
print("all checks passed")
