"""MLX: `quantize` and `dequantize` of the modes mxfp4, mxfp8 and nvfp4, on the default device of MLX."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from ...models.arrays.block_array import BlockArray
from ...models.arrays.packing import pack, unpack
from ...spec import BlockOperation, Operation, is_nvfp4
from ...spec.layouts.catalogue import layout_named

MODES = {"e2m1": ("mxfp4", 4), "e4m3": ("mxfp8", 8), "nvfp4": ("nvfp4", 4)}
"""By element or format the mode of MLX, and the bits of an element."""


def function(rules: Operation) -> Callable:
    """A function on blocks as rows; for NVFP4 with ``global_scale``, the largest magnitude of the tensor."""
    return _made(rules, has_global_scale=True)


def single(rules: Operation) -> Callable:
    """NVFP4 without ``global_scale``."""
    return _made(rules, has_global_scale=False)


def _made(rules: Operation, *, has_global_scale: bool) -> Callable:
    mx = import_module("mlx.core")
    assert isinstance(rules, BlockOperation)
    nvfp4 = is_nvfp4(rules)
    mode, bits = MODES["nvfp4" if nvfp4 else rules.block.element.name]
    layout = layout_named("mlx", rules.block)
    how = {"group_size": rules.block_size, "bits": bits, "mode": mode}

    def encode(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        more = {}
        if nvfp4 and has_global_scale:
            more = {"global_scale": mx.array(np.abs(x).max())}
        even = np.concatenate([x, np.zeros_like(x[: len(x) % 2])])  # it does not take a single row of 16
        codes, scales = mx.quantize(mx.array(even), **how, **more)[:2]
        found = unpack({"weight": np.array(codes), "scales": np.array(scales)}, layout)
        return found.scales[: len(x)], found.codes[: len(x)]

    def decode(scales: np.ndarray, codes: np.ndarray) -> np.ndarray:
        q = BlockArray(scales=scales[:, None], codes=codes, block=layout.block_format)
        stored = pack(q, layout)
        y = mx.dequantize(mx.array(stored["weight"]), mx.array(stored["scales"]), **how, dtype=mx.float32)
        return np.array(y)

    return decode if rules.name == "decode" else encode
