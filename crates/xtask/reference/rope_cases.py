"""RoPE alone: what each setting does to one array. Authority: mlx-lm's rope_utils; longrope's factors as its authors pick them."""

import mlx.core as mx
import numpy as np
from mlx_lm.models.rope_utils import initialize_rope

import recipe
from fixtures import HEAD_DIM, LLAMA3, LONGROPE, YARN, YARN_SHAPED
from reference import LongRope

SHAPE = [1, 2, 5, HEAD_DIM]
# (name, config, first position)
CASES = [
    ("default", {}, 0),
    ("default_later", {"rope_theta": 1e6}, 131),
    ("partial", {"partial_rotary_factor": 0.5}, 3),
    ("partial_linear", {"partial_rotary_factor": 0.25, "rope_scaling": {"rope_type": "linear", "factor": 4.0}}, 3),
    ("linear", {"rope_scaling": {"type": "linear", "factor": 4.0}}, 9),
    ("llama3", {"rope_scaling": LLAMA3}, 70),
    ("yarn", {"rope_scaling": YARN}, 70),
    ("yarn_shaped", {"rope_scaling": YARN_SHAPED}, 70),
    ("yarn_partial", {"partial_rotary_factor": 0.5, "rope_scaling": YARN}, 11),
    ("proportional", {"rope_scaling": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "factor": 2.0}}, 7),
    ("longrope_short", {"rope_scaling": LONGROPE}, 4),
    ("longrope_long", {"rope_scaling": LONGROPE}, 13),
]


def turned(config, x, offset):
    scaling = config.get("rope_scaling")
    if scaling and scaling.get("rope_type") == "longrope":
        rope = LongRope(config)
        rope.n_total = offset + x.shape[-2]
        return rope(x, offset=offset)
    dims = int(config["head_dim"] * config.get("partial_rotary_factor", 1.0))
    return initialize_rope(dims, config["rope_theta"], False, scaling, config["max_position_embeddings"])(x, offset=offset)


def golden(encoded):
    x = mx.array(recipe.tensor("rope.input", SHAPE, "matrix"))
    cases = []
    for name, changes, offset in CASES:
        config = {"head_dim": HEAD_DIM, "rope_theta": 10000.0, "max_position_embeddings": 256, **changes}
        out = np.array(turned(config, x, offset))
        cases.append({"name": name, "config": config, "offset": offset, "output": encoded(out)})
    return {
        "about": "RoPE alone; longrope's length is offset + the input's positions",
        "input": {"name": "rope.input", "shape": SHAPE, "kind": "matrix"},
        "cases": cases,
    }
