"""Checkpoints in f32, for the benchmark and for what real models say: `checkpoints.py dense FOLDER SOURCE` dequantizes an
imported model, `checkpoints.py deep FOLDER` makes a deep tiny one by the goldens' recipe.
"""

import argparse
import json
import shutil
from pathlib import Path

import mlx.core as mx
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from reference import packing, write_checkpoint

# 28 layers of almost nothing: what a step costs beside its arithmetic.
DEEP = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_act": "silu",
    "vocab_size": 1000,
    "hidden_size": 64,
    "intermediate_size": 192,
    "num_hidden_layers": 28,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "bos_token_id": 998,
    "eos_token_id": 999,
}


def dense_arrays(arrays, config):
    """The checkpoint's arrays with every packed one unpacked, all in f32. The unpacking itself is done in f32 too."""
    out = {}
    for name, value in arrays.items():
        stem, _, part = name.rpartition(".")
        if f"{stem}.scales" not in arrays:
            out[name] = value.astype(mx.float32)
        elif part == "weight":
            how = packing(config, name)
            scales, biases = arrays[f"{stem}.scales"], arrays.get(f"{stem}.biases")
            if how["mode"] == "affine":
                scales, biases = scales.astype(mx.float32), biases.astype(mx.float32)
            out[name] = mx.dequantize(value, scales, biases, **how).astype(mx.float32)
    return out


def dense(source, folder):
    config = json.loads((source / "config.json").read_text())
    arrays = {}
    for path in sorted(source.glob("model*.safetensors")):
        arrays.update(mx.load(str(path)))
    folder.mkdir(parents=True, exist_ok=True)
    mx.save_safetensors(str(folder / "model.safetensors"), dense_arrays(arrays, config), {"format": "mlx"})
    for path in [*source.glob("tokenizer*.json"), *source.glob("generation_config.json"), *source.glob("chat_template*")]:
        shutil.copy(path, folder / path.name)
    left_out = ("quantization", "quantization_config", "torch_dtype")
    config = {key: value for key, value in config.items() if key not in left_out}
    (folder / "config.json").write_text(json.dumps({**config, "torch_dtype": "float32"}, indent=1))


def deep(folder):
    write_checkpoint(folder, DEEP, "float32")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    fillers = [f"<filler_{index}>" for index in range(DEEP["vocab_size"] - len(alphabet) - 2)]
    vocab = {token: index for index, token in enumerate([*alphabet, *fillers, "<bos>", "<eos>"])}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<bos>", "<eos>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<bos>", "eos_token": "<eos>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    which = parser.add_subparsers(dest="which", required=True)
    one = which.add_parser("dense")
    one.add_argument("folder", type=Path)
    one.add_argument("source", type=Path)
    which.add_parser("deep").add_argument("folder", type=Path)
    args = parser.parse_args()
    if args.which == "dense":
        dense(args.source, args.folder)
    else:
        deep(args.folder)


if __name__ == "__main__":
    main()
