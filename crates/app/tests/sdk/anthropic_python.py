"""Chats with the real model through Anthropic's Python SDK. Usage: anthropic_python.py BASE_URL"""
import sys

import anthropic

client = anthropic.Anthropic(base_url=sys.argv[1].removesuffix("/v1"), api_key="none", max_retries=0)
ASK = {
    "model": "default",
    "max_tokens": 24,
    "extra_body": {"temperature": 0},
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
}


def check(what, holds, seen):
    if not holds:
        raise SystemExit(f"{what}: {seen!r}")
    print("ok", what)


whole = client.messages.create(**ASK)
text = whole.content[0].text
check("the answer names Paris", "Paris" in text, text)
check("it ends by itself", whole.stop_reason == "end_turn", whole)
counted = client.messages.count_tokens(model="default", messages=ASK["messages"])
total = whole.usage.input_tokens + whole.usage.cache_read_input_tokens
check("tokens are counted as they are used", counted.input_tokens == total, (counted, whole.usage))

with client.messages.stream(**ASK) as stream:
    streamed = "".join(stream.text_stream)
    final = stream.get_final_message()
check("streaming gives the same text", streamed == text, streamed)
check("and the same counts", final.usage.output_tokens == whole.usage.output_tokens, final.usage)

with client.messages.stream(**{**ASK, "max_tokens": 512}) as stream:
    next(iter(stream.text_stream))
after = client.messages.create(**ASK)
check("the server goes on after a client that left", after.content[0].text == text, after)

billed = {**ASK, "system": [{"type": "text", "text": "x-anthropic-billing-header: cch=1;"}, {"type": "text", "text": "Be brief."}]}
plain = {**ASK, "system": "Be brief."}
first, second = client.messages.create(**billed), client.messages.create(**plain)
check("attribution is not part of the prompt", first.content[0].text == second.content[0].text, (first, second))

stopped = client.messages.create(**ASK, stop_sequences=["Paris"])
check("a stop sequence is named", (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", "Paris"), stopped)
print("all checks passed")
