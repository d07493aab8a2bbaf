"""PyTorch: casts of tensors by `Tensor.to`, on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from ...spec import Cast, Operation

NAMES = {
    "e5m2": "float8_e5m2",
    "e4m3": "float8_e4m3fn",
    "e8m0": "float8_e8m0fnu",
    "e4m3fnuz": "float8_e4m3fnuz",
    "e5m2fnuz": "float8_e5m2fnuz",
}


def function(rules: Operation) -> Callable:
    """`Tensor.to` the format, or from it."""
    torch = import_module("torch")
    assert isinstance(rules, Cast)
    dtype = getattr(torch, NAMES[rules.scalar.name])
    if rules.is_back:
        to = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[rules.destination.name]
        return lambda codes: torch.from_numpy(codes).view(dtype).to(to)

    def cast(x: np.ndarray) -> object:
        return torch.from_numpy(x).to(dtype)

    return cast
