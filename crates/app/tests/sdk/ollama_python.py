"""Chats with the real model through Ollama's Python SDK. Usage: ollama_python.py BASE_URL"""
import sys

import ollama

client = ollama.Client(host=sys.argv[1].removesuffix("/v1"))
QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
GREEDY = {"temperature": 0, "num_predict": 24}


def check(what, holds, seen):
    if not holds:
        raise SystemExit(f"{what}: {seen!r}")
    print("ok", what)


[model] = client.list().models
check("the model is listed", model.size > 1 << 20 and model.details.family == "llama", model)
shown = client.show(model.model)
check("and shown", shown.modelinfo["llama.context_length"] == 8192, shown)

whole = client.chat("default", QUESTION, options=GREEDY)
check("the answer names Paris", "Paris" in whole.message.content, whole)
pieces = list(client.chat("default", QUESTION, options=GREEDY, stream=True))
streamed = "".join(piece.message.content for piece in pieces)
check("streaming gives the same text", streamed == whole.message.content, streamed)
check("times add up", pieces[-1].total_duration == pieces[-1].prompt_eval_duration + pieces[-1].eval_duration > 0, pieces[-1])

answered = client.generate("default", QUESTION[0]["content"], options=GREEDY)
check("generate asks the same question", answered.response == whole.message.content, answered)
raw = client.generate("default", "The capital of France is", raw=True, options={**GREEDY, "num_predict": 4})
check("raw text goes on", len(raw.response) > 0, raw)
print("all checks passed")
