"""Responses through OpenAI's Python SDK. Usage: responses_python.py CALLING ANSWERING STRICT BUSY LOADING"""
import sys

import openai

CALLING, ANSWERING, STRICT, BUSY, LOADING = sys.argv[1:6]
LOOK = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}, "strict": False}


def client(url, key="right"):
    return openai.OpenAI(base_url=url + "/v1", api_key=key, max_retries=0)


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


asked = client(CALLING).responses.create(model="tiny", input="look at the sea", tools=[LOOK])
kinds = [item.type for item in asked.output]
check("thought, text and call are items", kinds == ["reasoning", "message", "function_call"], asked)
call = asked.output[2]
check("the call has its arguments", (call.name, call.arguments, asked.status) == ("look", '{"at": "sea"}', "completed"), asked)

with client(CALLING).responses.stream(model="tiny", input="look at the sea", tools=[LOOK]) as stream:
    events = [event.type for event in stream]
    final = stream.get_final_response()
check("a stream adds up to the same", [item.type for item in final.output] == kinds and final.output_text == asked.output_text, final)
check("it starts and ends as it should", (events[0], events[-1]) == ("response.created", "response.completed"), events)
check("counts agree", final.usage.output_tokens == asked.usage.output_tokens > 0, final.usage)

items = [{"role": "user", "content": "look at the sea"}, *[item.to_dict() for item in asked.output]]
items.append({"type": "function_call_output", "call_id": call.call_id, "output": "blue"})
said = client(ANSWERING).responses.create(model="tiny", input=items, tools=[LOOK])
check("the round trip ends in an answer", said.output_text == "It is blue.", said)
again = client(ANSWERING).responses.create(model="tiny", input="and now?", tools=[LOOK], previous_response_id=said.id)
check("an answer is gone on from", again.previous_response_id == said.id and again.usage.input_tokens > said.usage.input_tokens, again)
check("an answer is kept", client(ANSWERING).responses.retrieve(said.id).output_text == "It is blue.", said)
client(ANSWERING).responses.delete(said.id)
fails(openai.NotFoundError, 404, lambda: client(ANSWERING).responses.retrieve(said.id))

small = {"model": "tiny", "input": "hi", "max_output_tokens": 5}
strict = client(STRICT)
fails(openai.BadRequestError, 400, lambda: strict.responses.create(**{**small, "background": True}))
fails(openai.AuthenticationError, 401, lambda: client(STRICT, "wrong").responses.create(**small))
fails(openai.NotFoundError, 404, lambda: strict.responses.create(**{**small, "model": "none"}))
fails(openai.APIStatusError, 413, lambda: strict.responses.create(**{**small, "input": "x" * 30_000}))
fails(openai.RateLimitError, 429, lambda: client(BUSY).responses.create(**small))
fails(openai.InternalServerError, 503, lambda: client(LOADING).responses.create(**small))
fails(openai.InternalServerError, 501, lambda: strict.embeddings.create(model="tiny", input="hi"))
print("all checks passed")
