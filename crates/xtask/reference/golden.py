"""Writes the golden logits of the model families: `golden.py DIR [--check] [NAME...]`.

The format is described in the README.md beside the fixtures. `--check` writes nothing and fails where a stored fixture
differs from what the reference says now.
"""

import argparse
import base64
import json
import sys
from pathlib import Path

import numpy as np

import fixtures
import fixtures_aliases
import fixtures_gemma
import fixtures_long
import fixtures_packed
import fixtures_published
import fixtures_sparse
import recipe
import rope_cases
from reference import Reference, tensor_table
from reference_torch import MODEL_TYPES as BY_TORCH, TorchReference, is_here as has_torch

FIXTURES = {**fixtures.FIXTURES, **fixtures_aliases.FIXTURES, **fixtures_gemma.FIXTURES, **fixtures_sparse.FIXTURES, **fixtures_long.FIXTURES, **fixtures_packed.FIXTURES, **fixtures_published.FIXTURES}

TOLERANCE = {"plain": 2e-4, "quantized": 2e-3}
# A change that a fixture is there to notice must move some logit by more than this; ten times what a pass may be off.
VISIBLE = 2e-3


def encoded(array):
    array = np.ascontiguousarray(array, dtype="<f4")
    return {"shape": list(array.shape), "f32": base64.b64encode(array.tobytes()).decode()}


def token_ids(seed, count, n_vocab):
    return [int(draw % n_vocab) for draw in recipe.draws(seed, count)]


def sequences(name, spec):
    """[(prompt, continuation)] of the fixture."""
    config = spec["config"]
    n_vocab, n_decode = config.get("text_config", config).get("vocab_size") or config["vocab_size"], spec["run"]["n_decode"]
    for row, length in enumerate(spec["run"]["lengths"]):
        ids = token_ids(f"{name}.row{row}", length + n_decode, n_vocab)
        yield ids[:length], ids[length:]


def reference_of(config, dtype, changes):
    """mlx-lm, or transformers for what mlx-lm does not have."""
    return (TorchReference if config["model_type"] in BY_TORCH else Reference)(config, dtype, changes)


def check_unlike(name, spec, ids, logits):
    """The fixture's point must show: each change it is there to notice moves its logits."""
    for change in spec["unlike"]:
        reference = reference_of(spec["config"], spec["dtype"], {**spec["reference"], **change})
        moved = np.abs(reference.logits(ids, len(ids)) - logits).max()
        if not moved > VISIBLE:
            sys.exit(f"{name}: {change} moves the logits by {moved:.1e} only; make the fixture notice it")


def golden(name, spec):
    config = spec["config"]
    reference = reference_of(config, spec["dtype"], spec["reference"])
    rows = []
    for row, (prompt, continuation) in enumerate(sequences(name, spec)):
        logits = reference.logits(prompt + continuation, len(prompt))
        assert np.isfinite(logits).all() and logits.std() > 0.1, name
        first = 0 if row == 0 else len(prompt) - 1
        rows.append(
            {
                "prompt": prompt,
                "prefill": encoded(logits[first : len(prompt)]),
                "continuation": continuation,
                "decode": encoded(logits[len(prompt) :]),
            }
        )
    check_unlike(name, spec, prompt + continuation, logits)
    head = {}
    if reference.predictor:
        prompt, continuation = next(sequences(name, spec))
        head = {"head": encoded(reference.predictor.logits(prompt + continuation))}
    return {
        "about": spec["about"],
        "config": config,
        "dtype": spec["dtype"],
        "tolerance": TOLERANCE["quantized" if "quantization" in config else "plain"],
        "tensors": tensor_table(config),
        "sequences": rows,
        **head,
    }


def printed(fixture):
    """JSON with one tensor and one sequence a line, so that a diff can be read."""
    parts = []
    for key, value in fixture.items():
        if isinstance(value, list):
            lines = ",\n".join("  " + json.dumps(item) for item in value)
            parts.append(f' "{key}": [\n{lines}\n ]')
        else:
            parts.append(f' "{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def numbers(value):
    """Every base64 array of a fixture, in order."""
    if isinstance(value, dict):
        if "f32" in value:
            yield np.frombuffer(base64.b64decode(value["f32"]), dtype="<f4")
            return
        value = list(value.values())
    for item in value if isinstance(value, list) else []:
        yield from numbers(item)


def without_numbers(value):
    if isinstance(value, dict):
        return {key: without_numbers(item) for key, item in value.items() if key != "f32"}
    return [without_numbers(item) for item in value] if isinstance(value, list) else value


def difference(stored, fresh):
    """Why the stored fixture is out of date, or None. Logits may differ by rounding, as BLAS libraries do."""
    if without_numbers(stored) != without_numbers(fresh):
        return "its config, tensors or ids changed"
    off = max(np.abs(a - b).max() for a, b in zip(numbers(stored), numbers(fresh)))
    return f"a number is off by {off:.1e}" if off > 2e-5 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("names", nargs="*", help="fixtures to make; all of them if none is named")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_intermixed_args()
    makers = {name: lambda name=name, spec=spec: golden(name, spec) for name, spec in FIXTURES.items()}
    if not (args.names or has_torch()):
        makers = {name: make for name, make in makers.items() if FIXTURES[name]["config"]["model_type"] not in BY_TORCH}
        print(f"left out, for want of torch: {', '.join(sorted(BY_TORCH))}", file=sys.stderr)
    makers["rope"] = lambda: rope_cases.golden(encoded)
    for name in args.names or makers:
        fresh, path = makers[name](), args.dir / f"{name}.json"
        if not args.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(printed(fresh))
        elif reason := difference(json.loads(path.read_text()), fresh):
            sys.exit(f"{path.name}: {reason}; write it anew with `cargo xtask golden models {name}`")
        print(name)


if __name__ == "__main__":
    main()
