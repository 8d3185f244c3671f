"""What mlx-lm says with a real model: greedy tokens and log-likelihoods. `real.py NAME FOLDER FILE`, where FOLDER holds the
model's f32 weights (see checkpoints.py) and FILE is the fixture to write. Its README.md describes it.
"""

import argparse
import json
from pathlib import Path

import mlx.core as mx
import numpy as np
from mlx_lm.generate import generate_step
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import load_model
from tokenizers import Tokenizer

# Every greedy choice must win by this much, so that rounding cannot turn it. In nats.
CLEAR = 2e-3
CHATML = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"

TEXTS = {
    "prose": "The old lighthouse keeper climbed the stairs every evening, lit the lamp, and watched the ships pass until dawn.",
    "question": "Question: How many legs does a spider have?\nAnswer: A spider has eight legs.",
    "code": "def add(a, b):\n    return a + b\n\nprint(add(2, 3))\n",
    "digits": "In 1969, 3 people flew 384400 km to the Moon and back in 8 days.",
    "scripts": "Das Wort 猫 heißt auf Englisch cat; на русском языке кошка 🐈.",
}
MODELS = {
    "smollm2": {
        "n_greedy": 64,
        "prompts": [
            CHATML.format("What is the capital of France?"),
            CHATML.format("Explain why the sky is blue."),
            CHATML.format("Write a short story about a fox and a crow."),
            "Once upon a time, in a village by the sea,",
            "Water boils at 100 degrees Celsius. Ice melts at",
        ],
    },
    "gemma3": {"n_greedy": 32, "prompts": ["The capital of France is", "One, two, three, four,"]},
}


def greedy(model, ids, n_tokens):
    """The tokens that mlx-lm chooses, past any EOS, and by how much the closest choice was won."""
    tokens, margin = [], float("inf")
    for token, logprobs in generate_step(mx.array(ids), model, max_tokens=n_tokens):
        best, second = np.sort(np.array(logprobs))[-1:-3:-1]
        tokens.append(int(token))
        margin = min(margin, float(best - second))
    return tokens, margin


def scores(model, ids):
    """Log-probability of each id after the first, given those before it; and what greedy decoding would have said there."""
    logits = np.array(model(mx.array([ids]), cache=make_prompt_cache(model))[0]).astype(np.float64)[:-1]
    peak = logits.max(axis=-1, keepdims=True)
    logprobs = logits - peak - np.log(np.exp(logits - peak).sum(axis=-1, keepdims=True))
    return logprobs[np.arange(len(ids) - 1), ids[1:]], logits.argmax(axis=-1)


def fixture(name, folder):
    model, _ = load_model(folder)
    assert model.model.embed_tokens.weight.dtype == mx.float32
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    prompts, texts = [], []
    for prompt in MODELS[name]["prompts"]:
        ids = tokenizer.encode(prompt).ids
        tokens, margin = greedy(model, ids, MODELS[name]["n_greedy"])
        print(f"{margin:.4f} {tokenizer.decode(tokens)!r}")
        assert margin > CLEAR, f"{prompt!r} has a choice that is too close; take another prompt"
        prompts.append({"prompt": prompt, "ids": ids, "greedy": tokens, "text": tokenizer.decode(tokens)})
    for title, text in TEXTS.items():
        ids = tokenizer.encode(text).ids
        logprobs, best = scores(model, ids)
        rounded = [round(float(x), 6) for x in logprobs]
        texts.append({"name": title, "text": text, "ids": ids, "logprobs": rounded, "best": best.tolist()})
    return {"prompts": prompts, "texts": texts}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=MODELS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("file", type=Path)
    args = parser.parse_args()
    value = fixture(args.name, args.folder)
    lines = [f' "{key}": [\n' + ",\n".join("  " + json.dumps(item) for item in items) + "\n ]" for key, items in value.items()]
    args.file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
