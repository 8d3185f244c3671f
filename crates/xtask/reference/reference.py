"""Runs a tiny checkpoint made by the recipe through mlx-lm, in f32."""

import json
import tempfile
from pathlib import Path

import mlx.core as mx
import numpy as np
from mlx_lm.models.base import create_causal_mask
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.models.rope_utils import SuScaledRoPE
from mlx_lm.utils import load_model

import families
import recipe

gather_qmm = mx.gather_qmm


def gather_qmm_without_global_scale(*args, global_scale=None, **kwargs):
    """mlx-lm 0.32.2 passes an argument that MLX 0.32.2 does not know; only nvfp4 experts would need it."""
    assert global_scale is None
    return gather_qmm(*args, **kwargs)


mx.gather_qmm = gather_qmm_without_global_scale

DTYPES = {"float32": mx.float32, "float16": mx.float16, "bfloat16": mx.bfloat16}


def packing(config, name):
    """How the tensor `name` is packed: {group_size, bits, mode}, or None."""
    table = config.get("quantization")
    if table is None or "conv1d." in name or ".conv.weight" in name:
        return None
    override = table.get(name.removesuffix(".weight"), {})
    if override is False:
        return None
    chosen = override or table
    return {"group_size": chosen["group_size"], "bits": chosen["bits"], "mode": chosen.get("mode", "affine")}


def is_fp8(config, name):
    """Whether the tensor `name` is kept as 8-bit floats, as DeepSeek does: projections only."""
    table = config.get("quantization_config") or {}
    return table.get("quant_method") == "fp8" and any(part in name for part in ("_proj.", ".w1.", ".w2.", ".w3."))


def fp8(value):
    """What 8-bit floats with a factor for each block of 128 by 128, its largest magnitude over 448, keep of a matrix."""
    dense = np.array(value.astype(mx.float32))
    rows, columns = [-(-n // 128) for n in dense.shape]
    factors = np.zeros((rows, columns), np.float32)
    scaled = np.empty_like(dense)
    for row in range(rows):
        for column in range(columns):
            at = np.s_[row * 128 : row * 128 + 128, column * 128 : column * 128 + 128]
            factors[row, column] = (np.abs(dense[at]) / np.float32(448)).max()
            scaled[at] = dense[at] / factors[row, column]
    kept = np.array(mx.from_fp8(mx.to_fp8(mx.array(scaled)), dtype=mx.float32))
    spread = np.repeat(np.repeat(factors, 128, 0), 128, 1)[: dense.shape[0], : dense.shape[1]]
    return mx.array(kept * spread)


def tensor_table(config):
    """The fixture's `tensors`: name, shape and kind, with `quantize` on those that are stored packed."""
    table = []
    for name, shape, kind in families.tensors(config):
        entry = {"name": name, "shape": shape, "kind": kind}
        if kind == "matrix" and (how := packing(config, name)):
            entry["quantize"] = how
        if kind == "matrix" and is_fp8(config, name):
            entry["fp8"] = True
        table.append(entry)
    return table


def checkpoint_arrays(config, dtype):
    """The arrays of the checkpoint's safetensors file."""
    arrays = {}
    for entry in tensor_table(config):
        name = entry["name"]
        value = mx.array(recipe.tensor(name, entry["shape"], entry["kind"])).astype(DTYPES[dtype])
        if "fp8" in entry:
            # mlx-lm would round what it unpacks to bfloat16.
            arrays[name] = fp8(value)
            continue
        if "quantize" not in entry:
            arrays[name] = value
            continue
        parts = mx.quantize(value, **entry["quantize"])
        for suffix, part in zip(["weight", "scales", "biases"], parts):
            arrays[f"{name.removesuffix('.weight')}.{suffix}"] = part
    return arrays


def write_checkpoint(folder, config, dtype):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    mx.save_safetensors(str(folder / "model.safetensors"), checkpoint_arrays(config, dtype), {"format": "mlx"})


class LongRope:
    """longrope as its authors have it: the row's whole length picks the factors. `n_total` is set before each row."""

    def __init__(self, config):
        scaling = config["rope_scaling"]
        self.border = scaling["original_max_position_embeddings"]
        self.n_total = 0
        sizes = (families.head_dim(config), config["rope_theta"], config["max_position_embeddings"], self.border)
        self.short = SuScaledRoPE(*sizes, long_factor=scaling["short_factor"])
        self.long = SuScaledRoPE(*sizes, long_factor=scaling["long_factor"])

    def __call__(self, x, offset=0):
        return (self.long if self.n_total > self.border else self.short)(x, offset=offset)


class AuthorsRouting:
    """ERNIE's experts as its authors pick them: a correction is added for picking only."""

    def __init__(self, moe, correction):
        self.moe, self.correction = moe, mx.array(correction).reshape(-1)

    def __call__(self, x):
        moe = self.moe
        scores = mx.softmax(moe.gate(x).astype(mx.float32), axis=-1)
        picked = mx.argpartition(-(scores + self.correction), kth=moe.k - 1, axis=-1)[..., : moe.k]
        weights = mx.take_along_axis(scores, picked, axis=-1)
        weights = weights / weights.sum(axis=-1, keepdims=True)
        y = (moe.switch_mlp(x, picked) * weights[..., None]).sum(axis=-2)
        return y + moe.shared_experts(x)


def correct_routing(model):
    for index, layer in enumerate(model.layers):
        if hasattr(layer.mlp, "switch_mlp"):
            name = f"model.layers.{index}.mlp.moe_statics.e_score_correction_bias"
            n = layer.mlp.gate.weight.shape[0]
            layer.mlp = AuthorsRouting(layer.mlp, recipe.tensor(name, [1, n], "bias"))


class Reference:
    """One loaded checkpoint. `logits(ids, split)` prefills `ids[:split]`, then decodes the rest one by one."""

    def __init__(self, config, dtype="float32", changes=None):
        reference = {**config, **(changes or {})}
        if (reference.get("quantization_config") or {}).get("quant_method") == "fp8":
            del reference["quantization_config"]
        with tempfile.TemporaryDirectory() as folder:
            write_checkpoint(folder, config, dtype)
            (Path(folder) / "config.json").write_text(json.dumps(reference))
            self.model, _ = load_model(Path(folder))
        self.model.set_dtype(mx.float32)
        mx.eval(self.model.parameters())
        if reference["model_type"] == "ernie4_5_moe":
            correct_routing(self.model)
        self.window = reference.get("sliding_window") if reference["model_type"] == "mistral" else None
        self.longrope = None
        if (reference.get("rope_scaling") or {}).get("rope_type") == "longrope":
            self.longrope = LongRope(reference)
            for layer in self.model.layers:
                layer.self_attn.rope = self.longrope

    def logits(self, ids, split):
        """[len(ids), V] in f32. Cached decode must agree with one uncached pass, whatever mlx-lm's caches do."""
        if self.longrope:
            self.longrope.n_total = len(ids)
        whole = self.whole(ids)
        if self.window is None:
            cached = self.cached(ids, split)
            assert np.abs(whole - cached).max() < 5e-5, np.abs(whole - cached).max()
            return cached
        return whole

    def whole(self, ids):
        if self.window is None:
            # Without a cache, mlx-lm's gemma3n has no keys and values to share.
            cache = make_prompt_cache(self.model) if self.model.model_type == "gemma3n" else None
            return np.array(self.model(mx.array([ids]), cache=cache)[0])
        inner = self.model.model
        h = inner.embed_tokens(mx.array([ids]))
        mask = create_causal_mask(len(ids), window_size=self.window)
        for layer in inner.layers:
            h = layer(h, mask, None)
        return np.array(self.model.lm_head(inner.norm(h))[0])

    def cached(self, ids, split):
        cache = make_prompt_cache(self.model)
        rows = [np.array(self.model(mx.array([ids[:split]]), cache=cache)[0])]
        for token in ids[split:]:
            rows.append(np.array(self.model(mx.array([[token]]), cache=cache)[0]))
        return np.concatenate(rows)
