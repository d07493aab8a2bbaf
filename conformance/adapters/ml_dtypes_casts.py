"""ml_dtypes: casts of arrays by `astype`, and products of scales and elements."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from ...spec import Cast, Decode, Operation

NAMES = {
    "e5m2": "float8_e5m2",
    "e4m3": "float8_e4m3fn",
    "e3m2": "float6_e3m2fn",
    "e2m3": "float6_e2m3fn",
    "e2m1": "float4_e2m1fn",
    "e8m0": "float8_e8m0fnu",
    "e4m3fnuz": "float8_e4m3fnuz",
    "e5m2fnuz": "float8_e5m2fnuz",
}


def function(rules: Operation) -> Callable:
    """`astype` to the format, or from it; of a decoder the product of two float32."""
    library = import_module("ml_dtypes")
    if isinstance(rules, Decode):
        element, scale = (getattr(library, NAMES[one.name]) for one in (rules.block.element, rules.block.scale))
        return lambda scales, codes: (
            codes.view(element).astype(np.float32) * scales.view(scale).astype(np.float32)[:, None]
        )
    assert isinstance(rules, Cast)
    dtype = getattr(library, NAMES[rules.scalar.name])
    if rules.is_back:
        to = {"fp32": np.float32, "fp16": np.float16, "bf16": library.bfloat16}[rules.destination.name]
        return lambda codes: codes.view(dtype).astype(to)
    return lambda x: x.astype(dtype)
