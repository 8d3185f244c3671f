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


class TorchReference:
    """As reference.Reference."""

    predictor = None

    def __init__(self, config, dtype="float32", changes=None):
        import torch
        from transformers import AutoModelForCausalLM, DynamicCache

        from reference import write_checkpoint

        self.torch, self.cache = torch, DynamicCache
        torch.manual_seed(0)
        with tempfile.TemporaryDirectory() as folder:
            write_checkpoint(folder, config, dtype)
            # What is packed is unpacked there.
            changed = {key: value for key, value in {**config, **(changes or {})}.items() if key != "quantization_config"}
            (Path(folder) / "config.json").write_text(json.dumps(changed))
            model, report = AutoModelForCausalLM.from_pretrained(
                folder, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager", output_loading_info=True
            )
        assert not report["missing_keys"] and not report["mismatched_keys"], report
        self.model = model.eval()

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
