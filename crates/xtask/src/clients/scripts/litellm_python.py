"""LiteLLM. Usage: litellm_python.py READY STRICT BUSY LOADING"""
import json
import sys

import litellm

READY, STRICT, BUSY, LOADING = sys.argv[1:5]
CALL = 'look [[{"name": "look", "arguments": {"at": "sea"}}]]'
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}}


def ask(url, messages, key="right", model="openai/scripted", **options):
    base = url if model.startswith("anthropic/") else url + "/v1"
    return litellm.completion(model=model, api_base=base, api_key=key, messages=messages, num_retries=0, max_retries=0, **options)


def fails(kind, call):
    try:
        call()
    except kind as error:
        print("ok", type(error).__name__, error.status_code)
    else:
        raise SystemExit(f"{kind.__name__} was not raised")


for model in ["openai/scripted", "anthropic/scripted"]:
    messages = [{"role": "user", "content": CALL}]
    asked = ask(READY, messages, model=model, tools=[LOOK]).choices[0].message
    call = asked.tool_calls[0]
    assert json.loads(call.function.arguments) == {"at": "sea"}, asked
    messages += [asked.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": "blue-4711"}]
    said = ask(READY, messages, model=model, tools=[LOOK])
    assert said.choices[0].message.content == "The tool said: blue-4711", said

small = [{"role": "user", "content": "hi"}]
fails(litellm.BadRequestError, lambda: ask(STRICT, small, temperature=-1))
fails(litellm.AuthenticationError, lambda: ask(STRICT, small, key="wrong"))
fails(litellm.NotFoundError, lambda: ask(STRICT, small, model="openai/none"))
fails(litellm.exceptions.APIError, lambda: ask(STRICT, [{"role": "user", "content": "x" * 30_000}]))
fails(litellm.RateLimitError, lambda: ask(BUSY, small))
fails(litellm.ServiceUnavailableError, lambda: ask(LOADING, small))
print("all checks passed")
