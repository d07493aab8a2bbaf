"""gfloat: the arithmetic of `encode_block` and `decode_block`, by its functions for whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import numpy as np

from ...spec import Cast, Decode, Encode, Kind, Operation


def function(rules: Operation) -> Callable:
    """`encode_block` with the scale of `compute_scale_amax` and ties to even, or `decode_block`, for whole arrays."""
    gfloat = import_module("gfloat")
    formats = import_module("gfloat.formats")
    if isinstance(rules, Cast):
        return _cast(gfloat, formats, rules)
    assert isinstance(rules, Encode | Decode)
    element = rules.block.element
    width = "int8" if element.kind is Kind.FIXED else f"fp{element.bits}_{element.name}"
    info = getattr(formats, f"format_info_mx{width}")

    def encode(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scales = np.array([gfloat.compute_scale_amax(info.etype.emax, block) for block in x.astype(np.float64)])
        rounded = gfloat.round_ndarray(info.etype, x / scales[:, None], gfloat.RoundMode.TiesToEven, sat=True)
        return gfloat.encode_ndarray(info.stype, scales), gfloat.encode_ndarray(info.etype, rounded)

    def decode(scales: np.ndarray, codes: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            factors = gfloat.decode_ndarray(info.stype, scales)
            return (gfloat.decode_ndarray(info.etype, codes) * factors[:, None]).astype(np.float32)

    return encode if isinstance(rules, Encode) else decode


def _cast(gfloat: ModuleType, formats: ModuleType, rules: Cast) -> Callable:
    """`encode_float` of `round_float` to nearest, ties to even, saturating, one number at a time: its functions for
    arrays have no NaN of E8M0.
    """
    info = getattr(formats, f"format_info_ocp_{rules.scalar.name}")

    def one(number: float) -> int:
        return gfloat.encode_float(info, gfloat.round_float(info, number, gfloat.RoundMode.TiesToEven, sat=True))

    return lambda x: np.array([one(number) for number in x.tolist()], np.uint8)
