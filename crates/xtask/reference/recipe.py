"""Weights from names: every number of a tensor follows from its name, its shape and its kind, so no fixture stores weights.

The Rust side makes the same bits; `tests/golden/README.md` of the models crate states the recipe.
"""

import math

import numpy as np

FNV_OFFSET = 0xCBF29CE484222325
FNV_PRIME = 0x100000001B3
GOLDEN_GAMMA = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def fnv1a(name):
    """FNV-1a, 64 bits, over the name's UTF-8 bytes."""
    state = FNV_OFFSET
    for byte in name.encode():
        state = ((state ^ byte) * FNV_PRIME) & MASK
    return state


def draws(name, count):
    """The first `count` values of splitmix64 seeded with the name's hash, uint64."""
    with np.errstate(over="ignore"):
        step = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN_GAMMA)
        z = np.uint64(fnv1a(name)) + step
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def tensor(name, shape, kind):
    """One tensor in f32. Every step is a single f32 operation, so any IEEE machine gets the same bits."""
    unit = (draws(name, math.prod(shape)) >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)
    centred = unit - np.float32(0.5)
    if kind == "matrix":
        values = centred * np.float32(2) / np.sqrt(np.float32(shape[-1]))
    elif kind == "norm":
        values = np.float32(1) + np.float32(0.2) * centred
    elif kind in ("norm_zero", "bias"):
        values = np.float32(0.2) * centred
    elif kind == "decay":
        values = np.float32(-1) - np.float32(4) * unit
    elif kind.startswith("below "):
        values = (unit * np.float32(kind.removeprefix("below "))).astype(np.int32)
    else:
        raise ValueError(f"unknown kind {kind!r}")
    return values.reshape(shape)
