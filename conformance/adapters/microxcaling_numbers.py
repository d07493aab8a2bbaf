"""microxcaling: `_quantize_mx`, which quantizes and returns numbers. It is a checkout on the path, not a package."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from ...spec import BlockOperation, Operation

NAMES = {
    "e5m2": "fp8_e5m2",
    "e4m3": "fp8_e4m3",
    "e3m2": "fp6_e3m2",
    "e2m3": "fp6_e2m3",
    "e2m1": "fp4_e2m1",
    "int8": "int8",
}


def function(rules: Operation) -> Callable:
    """The shared exponent "max" and the rounding "even", on the CPU, without its CUDA kernels."""
    torch = import_module("torch")
    quantize = import_module("mx.mx_ops")._quantize_mx
    formats = import_module("mx.formats").ElemFormat
    assert isinstance(rules, BlockOperation)
    element, size = formats.from_str(NAMES[rules.block.element.name]), rules.block_size

    def encode(x: np.ndarray) -> np.ndarray:
        made = quantize(torch.from_numpy(x), 8, element, axes=[-1], block_size=size, round="even")
        return made.numpy()

    return encode
