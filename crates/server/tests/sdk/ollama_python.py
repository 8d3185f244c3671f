"""Ollama's Python SDK. Usage: ollama_python.py CALLING ANSWERING STRICT BUSY LOADING"""
import sys

import ollama

CALLING, ANSWERING, STRICT, BUSY, LOADING = sys.argv[1:6]


def look(at: str) -> str:
    """Looks.

    Args:
      at: What to look at.
    """
    return "blue"


def client(url, key="right"):
    return ollama.Client(host=url, headers={"Authorization": f"Bearer {key}"})


def check(what, holds, seen):
    if not holds:
        raise SystemExit(f"{what}: {seen!r}")
    print("ok", what)


def fails(status, call):
    try:
        call()
    except ollama.ResponseError as error:
        check(f"{status} raises ResponseError", error.status_code == status and len(error.error) > 10, error)
    else:
        raise SystemExit(f"nothing was raised for {status}")


messages = [{"role": "user", "content": "look at the sea"}]
asked = client(CALLING).chat("tiny", messages, tools=[look], think=True)
call = asked.message.tool_calls[0].function
check("the call has its arguments", (call.name, dict(call.arguments)) == ("look", {"at": "sea"}), asked)
check("text and thought are apart", asked.message.content == "Aye." and asked.message.thinking, asked)

pieces = list(client(CALLING).chat("tiny", messages, tools=[look], stream=True))
check("a stream adds up to the same", "".join(piece.message.content or "" for piece in pieces) == "Aye.", pieces)
check("its last line has the counts", pieces[-1].done and pieces[-1].eval_count == asked.eval_count > 0, pieces[-1])
check("and the times", pieces[-1].total_duration >= pieces[-1].eval_duration >= 0, pieces[-1])

messages += [asked.message, {"role": "tool", "tool_name": "look", "content": look(**call.arguments)}]
said = client(ANSWERING).chat("tiny", messages, tools=[look])
check("the round trip ends in an answer", (said.message.content, said.done_reason) == ("It is blue.", "stop"), said)
whole = client(ANSWERING).generate("tiny:latest", "hi")
check("generate answers", whole.response == "It is blue.", whole)
streamed = "".join(piece.response for piece in client(ANSWERING).generate("tiny", "hi", stream=True))
check("and streams the same", streamed == whole.response, streamed)
check("models are listed", [model.model for model in client(ANSWERING).list().models] == ["org/tiny"], "models")
check("and shown", "tools" in client(ANSWERING).show("tiny").capabilities, "capabilities")
check("and running", client(ANSWERING).ps().models[0].context_length == 4096, "ps")

small = [{"role": "user", "content": "hi"}]
fails(400, lambda: client(STRICT).chat("tiny", small, options={"mirostat": 2}))
fails(401, lambda: client(STRICT, "wrong").chat("tiny", small))
fails(404, lambda: client(STRICT).chat("none", small))
fails(413, lambda: client(STRICT).chat("tiny", [{"role": "user", "content": "x" * 30_000}]))
fails(429, lambda: client(BUSY).chat("tiny", small))
fails(503, lambda: client(LOADING).chat("tiny", small))
fails(501, lambda: client(STRICT).embed("tiny", "hi"))
fails(429, lambda: list(client(BUSY).chat("tiny", small, stream=True)))
print("all checks passed")
