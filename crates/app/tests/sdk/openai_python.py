"""Chats through the official Python SDK. Usage: openai_python.py BASE_URL"""
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
GREEDY = {"model": "default", "temperature": 0, "max_tokens": 24}


def check(what, holds, seen):
    if not holds:
        raise SystemExit(f"{what}: {seen!r}")
    print("ok", what)


models = [model.id for model in client.models.list()]
check("models are listed", len(models) >= 1, models)
check("a model can be looked up", client.models.retrieve(models[0]).id == models[0], models)

whole = client.chat.completions.create(messages=QUESTION, **GREEDY)
text = whole.choices[0].message.content
check("the answer names Paris", "Paris" in text, text)
check("it ends by itself", whole.choices[0].finish_reason == "stop", whole)
check("usage adds up", whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens, whole.usage)
check("usage says what was cached", whole.usage.prompt_tokens_details.cached_tokens >= 0, whole.usage)

chunks = list(client.chat.completions.create(messages=QUESTION, stream=True, stream_options={"include_usage": True}, **GREEDY))
streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
check("streaming gives the same text", streamed == text, streamed)
check("the first chunk has the role", chunks[0].choices[0].delta.role == "assistant", chunks[0])
check("the last chunk has the usage", chunks[-1].usage.total_tokens == whole.usage.total_tokens, (chunks[-1].usage, whole.usage))

pair = client.chat.completions.create(messages=QUESTION, n=2, **GREEDY)
check("two choices are told apart", [choice.index for choice in pair.choices] == [0, 1], pair)
check("greedy choices agree", all(choice.message.content == text for choice in pair.choices), pair)

scored = client.chat.completions.create(messages=QUESTION, logprobs=True, top_logprobs=2, **GREEDY)
tokens = scored.choices[0].logprobs.content
check("every token has a score", "".join(token.token for token in tokens).strip() == text.strip(), tokens)
check("greedy tokens are the likeliest", all(token.token == token.top_logprobs[0].token for token in tokens), tokens)

stopped = client.chat.completions.create(messages=QUESTION, stop=["Paris"], **GREEDY)
check("a stop string is cut off", "Paris" not in stopped.choices[0].message.content, stopped)

completed = client.completions.create(prompt="The capital of France is", **{**GREEDY, "max_tokens": 4})
check("a plain completion goes on", len(completed.choices[0].text) > 0, completed)
pieces = client.completions.create(prompt="The capital of France is", stream=True, **{**GREEDY, "max_tokens": 4})
streamed = "".join(piece.choices[0].text for piece in pieces if piece.choices)
check("a streamed completion is the same", streamed == completed.choices[0].text, streamed)

try:
    client.chat.completions.create(model="no-such-model", messages=QUESTION)
except openai.NotFoundError as error:
    check("an unknown model is refused by name", "no-such-model" in str(error), str(error))
else:
    raise SystemExit("an unknown model was accepted")
print("all checks passed")
