"""Does mlx-lm read what `tokbar quantize` writes? `packed.py TOKBAR`: packs checkpoints of goldens, has mlx-lm load them and compares
its logits with those of the golden, which are mlx-lm's own on its own packing."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import mlx.core as mx
import numpy as np
from mlx_lm.utils import load_model

import golden
from reference import write_checkpoint

# (golden, options of the same packing)
PACKINGS = [
    ("llama_affine2_g32", ["--bits", "2", "--group-size", "32"]),
    ("llama_affine4_g64", ["--bits", "4"]),
    ("llama_mxfp4_g32", ["--mode", "mxfp4"]),
    ("llama_mxfp8_g32", ["--mode", "mxfp8"]),
    ("llama_nvfp4_g16", ["--mode", "nvfp4"]),
]
# Other bits for each part: mlx-lm must find every matrix packed as config.json says.
MIXED = ["qwen3_moe_affine4_g64", "qwen3_next_affine4_g32", "kimi_linear_affine4_g32"]
PARTS = ["--bits", "6", "--group-size", "32", "--part", "experts=2", "--part", "shared=8", "--part", "head=keep"]


def packed(tokbar, name, options, folder):
    """The config of the golden's checkpoint packed by tokbar, and mlx-lm's model of it."""
    spec = golden.FIXTURES[name]
    config = {key: value for key, value in spec["config"].items() if key not in ("quantization", "quantization_config")}
    write_checkpoint(folder / "from", config, spec["dtype"])
    subprocess.run([tokbar, "quantize", folder / "from", folder / "to", *options], check=True, capture_output=True)
    model, loaded = load_model(folder / "to")
    model.set_dtype(mx.float32)
    return model, loaded


def main():
    tokbar = sys.argv[1]
    for name, options in [*PACKINGS, *((name, PARTS) for name in MIXED)]:
        with tempfile.TemporaryDirectory() as folder:
            model, config = packed(tokbar, name, options, Path(folder))
            prompt, continuation = next(golden.sequences(name, golden.FIXTURES[name]))
            logits = np.array(model(mx.array([prompt + continuation]))[0])
            assert np.isfinite(logits).all(), name
            if options is PARTS:
                table = config["quantization"]
                print(f"{name}: loaded, {sum('.' in key for key in table)} modules packed otherwise than most")
                continue
            stored = json.loads((Path(__file__).parents[2] / "models/tests/golden" / f"{name}.json").read_text())
            expected = np.concatenate(list(golden.numbers(stored["sequences"][0]))).reshape(logits.shape)
            off = np.abs(logits - expected).max()
            print(f"{name}: off by {off:.1e}")
            assert off < golden.TOLERANCE["quantized"], name


if __name__ == "__main__":
    main()
