"""LangChain. Usage: langchain_python.py READY STRICT BUSY LOADING"""
import sys

import openai
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

READY, STRICT, BUSY, LOADING = sys.argv[1:5]
CALL = 'look [[{"name": "look", "arguments": {"at": "sea"}}]]'


@tool
def look(at: str) -> str:
    """Looks."""
    return "blue-4711"


def chat(url, key="right", model="scripted", **options):
    return ChatOpenAI(model=model, base_url=url + "/v1", api_key=key, max_retries=0, **options)


def fails(kind, call):
    try:
        call()
    except kind as error:
        print("ok", type(error).__name__, error.status_code)
    else:
        raise SystemExit(f"{kind.__name__} was not raised")


for options in [{}, {"use_responses_api": True}, {"streaming": True}]:
    llm = chat(READY, **options).bind_tools([look])
    messages = [HumanMessage(CALL)]
    asked = llm.invoke(messages)
    call = asked.tool_calls[0]
    assert call["args"] == {"at": "sea"}, asked
    messages += [asked, ToolMessage(look.invoke(call["args"]), tool_call_id=call["id"])]
    assert llm.invoke(messages).text == "The tool said: blue-4711", llm.invoke(messages)

fails(openai.BadRequestError, lambda: chat(STRICT, temperature=-1).invoke("hi"))
fails(openai.AuthenticationError, lambda: chat(STRICT, key="wrong").invoke("hi"))
fails(openai.NotFoundError, lambda: chat(STRICT, model="none").invoke("hi"))
fails(openai.APIStatusError, lambda: chat(STRICT).invoke("x" * 30_000))
fails(openai.RateLimitError, lambda: chat(BUSY).invoke("hi"))
fails(openai.InternalServerError, lambda: chat(LOADING).invoke("hi"))
print("all checks passed")
