"""Responses of the real model through OpenAI's Python SDK. Usage: responses_python.py BASE_URL"""
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
ASK = {"model": "default", "temperature": 0, "max_output_tokens": 24, "input": "What is the capital of France?"}


def check(what, holds, seen):
    if not holds:
        raise SystemExit(f"{what}: {seen!r}")
    print("ok", what)


whole = client.responses.create(**ASK)
check("the answer names Paris", "Paris" in whole.output_text, whole)
check("it ends by itself", whole.status == "completed", whole)

with client.responses.stream(**ASK) as stream:
    deltas = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
    final = stream.get_final_response()
check("streaming gives the same text", deltas == final.output_text == whole.output_text, deltas)
check("and the same counts", final.usage.total_tokens == whole.usage.total_tokens, final.usage)

more = client.responses.create(**{**ASK, "input": "And of Italy?"}, previous_response_id=whole.id)
check("an answer is gone on from", more.usage.input_tokens > whole.usage.total_tokens, more.usage)
cut = client.responses.create(**{**ASK, "max_output_tokens": 2})
check("an answer cut short is incomplete", cut.incomplete_details.reason == "max_output_tokens", cut)
print("all checks passed")
