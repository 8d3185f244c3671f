"""Writes the token ids, the streamed texts and the rendered templates that the chat crate must reproduce:
`tokens.py DIR TESTKIT`, where TESTKIT holds the models' folders. The README.md beside the fixtures describes them.
"""

import argparse
import json
from datetime import datetime
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

from conversations import CONVERSATIONS, TEMPLATES
from corpus import CORPUS

MODELS = {"smollm2": "SmolLM2-135M-Instruct", "gemma3": "gemma-3-270m"}
NOW = datetime(2025, 3, 9, 14, 5, 7)


class FixedClock(datetime):
    """`strftime_now` asks the clock; the fixtures need one answer."""

    @classmethod
    def now(cls, tz=None):
        return NOW


def streamed(tokenizer, ids):
    """What each id lets a stream show; joined, all of the text."""
    stream = DecodeStream(skip_special_tokens=True)
    return [stream.step(tokenizer, token) or "" for token in ids]


def encoded(tokenizer, text):
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    entry = {"ids": ids, "with_specials": tokenizer.encode(text).ids, "text": tokenizer.decode(ids), "pieces": streamed(tokenizer, ids)}
    assert "".join(entry["pieces"]) == entry["text"] or "\ufffd" in entry["text"], (text, entry)
    return entry


def rendered(render):
    """The text, or the error that the template raised itself."""
    try:
        return {"rendered": render()}
    except Exception as error:
        return {"error": str(error)}


def model(folder):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    config = json.loads((folder / "tokenizer_config.json").read_text())
    names = {key: config[key] for key in ("bos_token", "eos_token")}
    chat = PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=config["chat_template"], **names)
    templates = []
    for name, (messages, add_generation_prompt) in CONVERSATIONS.items():
        result = rendered(lambda: chat.apply_chat_template(messages, tokenize=False, add_generation_prompt=add_generation_prompt))
        if "rendered" in result:
            result["ids"] = tokenizer.encode(result["rendered"], add_special_tokens=False).ids
        templates.append({"name": name, "messages": messages, "add_generation_prompt": add_generation_prompt, **result})
    texts = {name: encoded(tokenizer, text) for name, text in CORPUS.items()}
    return {"folder": folder.name, "texts": texts, "templates": templates}


def own_templates():
    cases = []
    for name, (template, messages, extra) in TEMPLATES.items():
        variables = {"tools": None, "bos_token": "<s>", "eos_token": "</s>", **extra}
        tools = variables.pop("tools")

        def render():
            texts, _ = chat_template_utils.render_jinja_template(
                [messages], tools=tools, chat_template=template, add_generation_prompt=True, **variables
            )
            return texts[0]

        cases.append({"name": name, "template": template, "messages": messages, "tools": tools, "variables": variables, **rendered(render)})
    return {"now": NOW.isoformat(), "cases": cases}


def write(path, value, key):
    """JSON with one case a line, so that a diff can be read."""
    head = {k: v for k, v in value.items() if k not in key}
    parts = [f" {json.dumps(k)}: {json.dumps(v)}" for k, v in head.items()]
    for k in key:
        items = value[k].items() if isinstance(value[k], dict) else ((None, v) for v in value[k])
        lines = [("" if n is None else json.dumps(n) + ": ") + json.dumps(v, ensure_ascii=True) for n, v in items]
        opening, closing = "{}" if isinstance(value[k], dict) else "[]"
        parts.append(f" {json.dumps(k)}: {opening}\n  " + ",\n  ".join(lines) + f"\n {closing}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("testkit", type=Path)
    args = parser.parse_args()
    chat_template_utils.datetime = FixedClock
    write(args.dir / "corpus.json", {"texts": CORPUS}, ["texts"])
    write(args.dir / "templates.json", own_templates(), ["cases"])
    for name, folder in MODELS.items():
        write(args.dir / f"{name}.json", model(args.testkit / folder), ["texts", "templates"])
        print(name)


if __name__ == "__main__":
    main()
