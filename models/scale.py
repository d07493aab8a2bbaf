"""From the largest magnitude of a block to its scale byte."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..spec import Numerics, ScaleRule

__all__ = ["scale_bytes", "scale_reciprocals"]


def scale_bytes(amax: np.ndarray, numerics: Numerics) -> np.ndarray:
    """Scale bytes of blocks by their largest magnitudes: (n,) uint32 finite patterns -> (n,) uint8.

    ``floor`` and ``bias_floor`` subtract from the exponent field; ``ceil`` goes one up where the significand exceeds
    that of the largest element value. FP32 subnormals are below every scale but the smallest, unless the largest
    element value is below 2, when they are compared with it at exponent -127.
    """
    element = numerics.block.element
    exponent = (amax >> 23).astype(np.int32)
    if numerics.scale_rule is ScaleRule.BIAS_FLOOR:
        byte = exponent - element.bias
    else:
        byte = exponent - element.emax
    if numerics.scale_rule is ScaleRule.CEIL:
        # destmax in units of the last bit of the fraction: above its binade, and at exponent -127
        in_binade = (element.max_value / Fraction(2) ** element.emax - 1) * 2**23
        at_bottom = element.max_value * 2**22
        assert in_binade.denominator == at_bottom.denominator == 1
        limit = np.where(exponent > 0, np.uint32(in_binade), np.uint32(min(at_bottom, 2**32 - 1)))
        byte += (amax & np.uint32(0x7FFFFF)) > limit
    return np.clip(byte, 0, 254).astype(np.uint8)


def scale_reciprocals(scales: np.ndarray) -> np.ndarray:
    """2**-X as float32, exactly, of scale bytes 0 to 254: (n,) uint8 -> (n,) float32."""
    exponent = np.int32(254) - scales
    # the reciprocal of 2**127 is subnormal: its one fraction bit instead of an exponent field
    return np.where(exponent > 0, exponent << 23, 1 << 22).astype(np.uint32).view(np.float32)
