"""Ollama's SDK for Python. Usage: ollama_python.py READY STRICT BUSY LOADING"""
import sys

import ollama

READY, STRICT, BUSY, LOADING = sys.argv[1:5]
CALL = 'look [[{"name": "look", "arguments": {"at": "sea"}}]]'


def look(at: str) -> str:
    """Looks.

    Args:
      at: What to look at.
    """
    return "blue-4711"


def client(url, key="right"):
    return ollama.Client(host=url, headers={"Authorization": f"Bearer {key}"})


def fails(status, call):
    try:
        call()
    except ollama.ResponseError as error:
        assert error.status_code == status, error
        print("ok", status, "raises ResponseError")
    else:
        raise SystemExit(f"nothing was raised for {status}")


messages = [{"role": "user", "content": CALL}]
asked = client(READY).chat("scripted", messages, tools=[look])
call = asked.message.tool_calls[0].function
assert (call.name, dict(call.arguments)) == ("look", {"at": "sea"}), asked
messages += [asked.message, {"role": "tool", "tool_name": "look", "content": look(**call.arguments)}]
said = client(READY).chat("scripted", messages, tools=[look])
assert said.message.content == "The tool said: blue-4711", said

small = [{"role": "user", "content": "hi"}]
fails(400, lambda: client(STRICT).chat("scripted", small, options={"mirostat": 2}))
fails(401, lambda: client(STRICT, "wrong").chat("scripted", small))
fails(404, lambda: client(STRICT).chat("none", small))
fails(413, lambda: client(STRICT).chat("scripted", [{"role": "user", "content": "x" * 30_000}]))
fails(429, lambda: client(BUSY).chat("scripted", small))
fails(503, lambda: client(LOADING).chat("scripted", small))
print("all checks passed")
