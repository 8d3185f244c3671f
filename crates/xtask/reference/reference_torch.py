"""Runs a tiny checkpoint made by the recipe through transformers on torch, in f32: for families that mlx-lm does not have.

torch is not among requirements.txt, being larger than all else together: `pip install torch` where these goldens are to be written.
"""

import importlib.util
import json
import tempfile
from pathlib import Path

import numpy as np

MODEL_TYPES = {"deepseek_v4"}


def is_here():
    return importlib.util.find_spec("torch") is not None


def loaded(config, arrays):
    """transformers' model of a checkpoint's arrays; what is packed is unpacked there."""
    import mlx.core as mx
    import torch
    from transformers import AutoModelForCausalLM

    with tempfile.TemporaryDirectory() as folder:
        plain = {key: value for key, value in config.items() if key != "quantization_config"}
        (Path(folder) / "config.json").write_text(json.dumps(plain))
        mx.save_safetensors(f"{folder}/model.safetensors", arrays, {"format": "mlx"})
        model, report = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager", output_loading_info=True
        )
    assert not report["missing_keys"] and not report["mismatched_keys"], report
    return model.eval()


class Predictor:
    """The head that predicts the token after the next: transformers drops it, but it is one more layer with ends of its own."""

    OWN = ("e_proj.weight", "h_proj.weight", "enorm.weight", "hnorm.weight")
    ENDS = ("norm.weight", "hc_head_fn", "hc_head_base", "hc_head_scale")
    COPIES = ("emb.", "head.")

    def __init__(self, config, arrays):
        import mlx.core as mx
        import torch

        n = config["num_hidden_layers"]
        head = {name.removeprefix("mtp.0."): value for name, value in arrays.items() if name.startswith("mtp.0.")}
        deeper = {name: value for name, value in arrays.items() if not name.startswith("mtp.")}
        deeper |= {name: head.pop(name) for name in self.ENDS}
        self.own = {name: torch.tensor(np.array(head.pop(name).astype(mx.float32))) for name in self.OWN}
        deeper |= {f"layers.{n}.{name}": value for name, value in head.items() if not name.startswith(self.COPIES)}
        self.torch, self.model = torch, loaded({**config, "num_hidden_layers": n + 1}, deeper)

    def logits(self, ids):
        """As reference.Predictor.logits."""
        own, model, eps = self.own, self.model, self.model.config.rms_norm_eps
        norm = lambda x, name: self.torch.nn.functional.rms_norm(x, x.shape[-1:], own[f"{name}.weight"], eps)

        def join(_, args):
            after = norm(model.model.embed_tokens(self.torch.tensor([ids[1:]])), "enorm") @ own["e_proj.weight"].T
            before = norm(args[0], "hnorm") @ own["h_proj.weight"].T
            return (after.unsqueeze(2) + before,)

        with self.torch.no_grad(), model.model.layers[-1].register_forward_pre_hook(join):
            return model(self.torch.tensor([ids[:-1]]), use_cache=False).logits[0].float().numpy()


class TorchReference:
    """As reference.Reference."""

    def __init__(self, config, dtype="float32", changes=None):
        import torch
        from transformers import DynamicCache

        from reference import checkpoint_arrays

        self.torch, self.cache = torch, DynamicCache
        torch.manual_seed(0)
        arrays, changed = checkpoint_arrays(config, dtype), {**config, **(changes or {})}
        self.model = loaded(changed, arrays)
        self.predictor = Predictor(changed, arrays) if "mtp.0.e_proj.weight" in arrays else None

    def logits(self, ids, split):
        """[len(ids), V] in f32. Cached decode must agree with one uncached pass."""
        with self.torch.no_grad():
            whole = self.model(self.torch.tensor([ids]), use_cache=False).logits[0].float().numpy()
            cache = self.cache(config=self.model.config)
            rows = []
            for part in [ids[:split], *([token] for token in ids[split:])]:
                rows.append(self.model(self.torch.tensor([part]), cache=cache, use_cache=True).logits[0].float().numpy())
        cached = np.concatenate(rows)
        assert np.abs(whole - cached).max() < 5e-5, np.abs(whole - cached).max()
        return cached
