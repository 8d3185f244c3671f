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
    projections = ("_proj.", "_proj_with_mqa.", ".w1.", ".w2.", ".w3.", ".attn.w")
    apart = ("weights_proj.", "indexer.compressor.")
    is_projection = any(part in name for part in projections) or name.endswith("_proj")
    return table.get("quant_method") == "fp8" and is_projection and not any(part in name for part in apart)


def is_int4(config, name):
    """Whether the tensor `name` is kept as 4-bit integers, as Moonshot does: experts only."""
    table = config.get("quantization_config") or {}
    return table.get("quant_method") == "compressed-tensors" and ".experts." in name


def is_fp4(config, name):
    """Whether the tensor `name` is kept as 4-bit floats: experts only."""
    table = config.get("quantization_config") or {}
    return table.get("expert_dtype") == "fp4" and ".experts." in name


def fp4(value):
    """What 4-bit floats with a power of 2 for each 32 of a row keep of a matrix."""
    how = {"group_size": 32, "bits": 4, "mode": "mxfp4"}
    return mx.dequantize(*mx.quantize(value, **how), **how).astype(mx.float32)


def is_blocks(config, name):
    """Whether the tensor `name` is kept as blocks of 4-bit floats, as OpenAI does: experts only."""
    table = config.get("quantization_config") or {}
    return table.get("quant_method") == "mxfp4" and ".experts." in name


def blocks(name, value):
    """4-bit floats, sixteen bytes for each 32 of a row, with a power of 2 each."""
    words, scales = mx.quantize(value, group_size=32, bits=4, mode="mxfp4")
    return {f"{name}_blocks": words.view(mx.uint8).reshape(*scales.shape, 16), f"{name}_scales": scales}


def int4(name, value):
    """4-bit integers with a factor for each 32 of a row, its largest magnitude over 7, eight a word from the lowest bits on."""
    dense = np.array(value.astype(mx.float32))
    rows, columns = dense.shape
    groups = dense.reshape(rows, columns // 32, 32)
    factors = np.abs(groups).max(-1, keepdims=True) / np.float32(7)
    elements = (np.round(groups / factors).astype(np.int64) + 8).reshape(rows, columns // 8, 8)
    words = (elements << (4 * np.arange(8))).sum(-1).astype(np.uint32).view(np.int32)
    parts = {"packed": words, "scale": factors[..., 0], "shape": np.array([rows, columns], np.int32)}
    return {f"{name}_{leaf}": mx.array(part) for leaf, part in parts.items()}


def fp8_whole(value):
    """What 8-bit floats with a factor for each matrix keep of it: its largest magnitude over 448."""
    dense = np.array(value.astype(mx.float32))
    factors = np.abs(dense).max((-2, -1), keepdims=True) / np.float32(448)
    return mx.from_fp8(mx.to_fp8(mx.array(dense / factors)), dtype=mx.float32) * mx.array(factors)


def fp8(value, has_powers):
    """What 8-bit floats with a factor for each block of 128 by 128 keep of a matrix: its largest magnitude over 448, or the power of 2
    that is no smaller."""
    dense = np.array(value.astype(mx.float32))
    rows, columns = [-(-n // 128) for n in dense.shape]
    factors = np.zeros((rows, columns), np.float32)
    scaled = np.empty_like(dense)
    for row in range(rows):
        for column in range(columns):
            at = np.s_[row * 128 : row * 128 + 128, column * 128 : column * 128 + 128]
            factors[row, column] = (np.abs(dense[at]) / np.float32(448)).max()
            if has_powers:
                factors[row, column] = 2.0 ** np.ceil(np.log2(factors[row, column]))
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
        if kind == "matrix" and is_fp4(config, name):
            entry["fp4"] = True
        elif kind == "matrix" and is_fp8(config, name):
            entry["fp8"] = True
        elif kind == "matrix" and is_int4(config, name):
            entry["int4"] = True
        elif kind == "matrix" and is_blocks(config, name):
            entry["blocks"] = True
        table.append(entry)
    return table


def checkpoint_arrays(config, dtype):
    """The arrays of the checkpoint's safetensors file."""
    arrays = {}
    for entry in tensor_table(config):
        name = entry["name"]
        value = mx.array(recipe.tensor(name, entry["shape"], entry["kind"]))
        value = value if value.dtype == mx.int32 else value.astype(DTYPES[dtype])
        if "fp4" in entry:
            arrays[name] = fp4(value)
            continue
        if "blocks" in entry:
            arrays.update(blocks(name, value))
            continue
        if "int4" in entry:
            arrays.update(int4(name, value))
            continue
        if "fp8" in entry and config["quantization_config"]["weight_block_size"] is None:
            arrays[name] = fp8_whole(value)
            continue
        if "fp8" in entry:
            # mlx-lm would round what it unpacks to bfloat16.
            arrays[name] = fp8(value, config["quantization_config"].get("scale_fmt") == "ue8m0")
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
    # mlx-lm knows of such a layer in the checkpoints of one size only.
    next_layer = f"model.layers.{config.get('num_hidden_layers')}."
    arrays = {name: value for name, value in checkpoint_arrays(config, dtype).items() if not name.startswith(next_layer)}
    mx.save_safetensors(str(folder / "model.safetensors"), arrays, {"format": "mlx"})


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


def scale_keys(model, config):
    """Falcon H1's keys and values as its authors scale them as published."""
    for layer in model.layers:
        attention = layer.self_attn
        attention.k_proj.weight = attention.k_proj.weight * config["key_multiplier"]
        attention.v_proj.weight = attention.v_proj.weight * config["attention_in_multiplier"]


class PlainRouting:
    """Jamba's experts as its authors weigh them: by a softmax over all of them."""

    def __init__(self, moe):
        self.moe = moe

    def __call__(self, x):
        weights = mx.softmax(self.moe.router(x).astype(mx.float32), axis=-1)
        k = self.moe.num_experts_per_tok
        picked = mx.argpartition(-weights, kth=k - 1, axis=-1)[..., :k]
        y = self.moe.switch_mlp(x, picked) * mx.take_along_axis(weights, picked, axis=-1)[..., None]
        return y.sum(axis=-2)


class Predictor:
    """The head that predicts the token after the next: mlx-lm drops it, but has its parts."""

    def __init__(self, model, config, dtype):
        self.text = getattr(model, "language_model", model)
        layers = self.text.model.layers
        index = max(at for at, layer in enumerate(layers) if not layer.is_linear)
        self.layer = type(layers[index])(self.text.args, index)
        arrays = checkpoint_arrays(config, dtype).items()
        head = {name.removeprefix("mtp."): value for name, value in arrays if name.startswith("mtp.")}
        # A filter as published tells `sanitize` that norms are stored less one.
        block = {f"model.{name}": value for name, value in head.items() if name.startswith("layers.0.")}
        block = model.sanitize({**block, "model.layers.0.conv1d.weight": mx.zeros((1, 1, 2))})
        block = {name.split("layers.0.", 1)[1]: value for name, value in block.items()}
        del block["conv1d.weight"]
        self.layer.load_weights(list(block.items()))
        self.layer.set_dtype(mx.float32)
        self.fc = head["fc.weight"]
        self.norms = [head[f"{name}.weight"] + 1 for name in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm")]

    def logits(self, ids):
        """[len(ids) - 1, V] of the token after the next, from each token but the last and the one after it."""
        inner, eps = self.text.model, self.text.args.rms_norm_eps
        embedding, hidden, last = self.norms
        before = mx.fast.rms_norm(inner(mx.array([ids[:-1]])), hidden, eps)
        after = mx.fast.rms_norm(inner.embed_tokens(mx.array([ids[1:]])), embedding, eps)
        h = self.layer(mx.concatenate([after, before], axis=-1) @ self.fc.T, mask="causal")
        h = mx.fast.rms_norm(h, last, eps)
        return np.array((inner.embed_tokens.as_linear if self.text.args.tie_word_embeddings else self.text.lm_head)(h)[0])


class NextLayer:
    """As Predictor, of families that keep the head as one more layer."""

    OWN = ("enorm.", "hnorm.", "eh_proj.", "shared_head.", "embed_tokens.")

    def __init__(self, model, config, dtype):
        self.model, n = model, config["num_hidden_layers"]
        at, last = f"model.layers.{n}.", n - 1
        head = {name.removeprefix(at): value for name, value in checkpoint_arrays(config, dtype).items() if name.startswith(at)}
        block = {f"model.layers.{last}.{name}": value for name, value in head.items() if not name.startswith(self.OWN)}
        block = {name.split(f"layers.{last}.", 1)[1]: value for name, value in model.sanitize(block).items()}
        self.layer = type(model.layers[last])(model.args, last)
        self.layer.load_weights(list(block.items()))
        self.layer.set_dtype(mx.float32)
        self.head = {name: value.astype(mx.float32) for name, value in head.items()}

    def logits(self, ids):
        """As Predictor.logits."""
        inner, eps, head = self.model.model, self.model.args.rms_norm_eps, self.head
        before = mx.fast.rms_norm(inner(mx.array([ids[:-1]])), head["hnorm.weight"], eps)
        after = mx.fast.rms_norm(inner.embed_tokens(mx.array([ids[1:]])), head["enorm.weight"], eps)
        mask = create_causal_mask(len(ids) - 1)
        h = self.layer(mx.concatenate([after, before], axis=-1) @ head["eh_proj.weight"].T, mask=mask)
        # The copies of what is around the blocks are the network's in real checkpoints.
        return np.array(self.model.lm_head(mx.fast.rms_norm(h, head["shared_head.norm.weight"], eps))[0])


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
        if reference["model_type"] == "jamba":
            for layer in self.model.layers:
                if hasattr(layer.feed_forward, "switch_mlp"):
                    layer.feed_forward = PlainRouting(layer.feed_forward)
        if reference["model_type"] == "falcon_h1" and not reference.get("is_converted"):
            scale_keys(self.model, reference)
        names = [name for name, *_ in families.tensors(config)]
        self.predictor = Predictor(self.model, config, dtype) if "mtp.fc.weight" in names else None
        if any(name.startswith("model.layers.") and name.endswith(".eh_proj.weight") for name in names):
            self.predictor = NextLayer(self.model, config, dtype)
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
