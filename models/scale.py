"""From the largest magnitude of a block to its scale byte."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..spec import Numerics, ScaleRule

__all__ = ["scale_bytes", "scale_reciprocals", "spread"]

RULES = (ScaleRule.FLOOR, ScaleRule.CEIL, ScaleRule.RCEIL, ScaleRule.POW2_CEIL, ScaleRule.EVEN, ScaleRule.BIAS_FLOOR)
"""Those that are modelled here."""
FRACTION = np.uint32(0x7FFFFF)
RECIPROCALS = np.append(np.ldexp(np.float32(1), 127 - np.arange(255)), np.float32(np.nan)).astype(np.float32)
"""2**-X of every scale byte, exactly; that of 2**127 is subnormal."""


def scale_bytes(amax: np.ndarray, numerics: Numerics) -> np.ndarray:
    """Scale bytes of blocks by their largest magnitudes: (n,) uint32 finite patterns -> (n,) uint8.

    All rules work on the exponent field; ``rceil`` on that of a product in FP32, which the machine's own multiplication
    rounds as the rule demands.
    """
    element, rule = numerics.block.element, numerics.scale_rule
    if rule not in RULES:
        raise ValueError(f"no model of the scale rule {rule}")
    if rule is ScaleRule.RCEIL:
        # cvt.rp.satfinite.ue8m0 of the product: the next power of two, at the smallest normal one 2**-127 included
        product = amax.view(np.float32) * (np.float32(1) / np.float32(element.max_value))
        bits = product.view(np.uint32)
        exponent, fraction = (bits >> 23).astype(np.int32), bits & FRACTION
        byte = exponent + (fraction > np.where(exponent > 0, np.uint32(0), np.uint32(1 << 22)))
        return np.minimum(byte, 254).astype(np.uint8)
    if rule is ScaleRule.EVEN:
        amax = amax + np.uint32(1 << (22 - element.fraction_bits))
    exponent = (amax >> 23).astype(np.int32)
    byte = exponent - (element.bias if rule is ScaleRule.BIAS_FLOOR else element.emax)
    if rule is ScaleRule.POW2_CEIL:
        byte += (amax & FRACTION) > 0
    if rule is ScaleRule.CEIL:
        # destmax in units of the last bit of the fraction: above its binade, and at exponent -127, where FP32
        # subnormals are, which are below every scale but the smallest unless destmax is below 2
        in_binade = (element.max_value / Fraction(2) ** element.emax - 1) * 2**23
        at_bottom = element.max_value * 2**22
        assert in_binade.denominator == at_bottom.denominator == 1
        limit = np.where(exponent > 0, np.uint32(in_binade), np.uint32(min(at_bottom, 2**32 - 1)))
        byte += (amax & FRACTION) > limit
    return np.minimum(np.maximum(byte, 0), 254).astype(np.uint8)


def scale_reciprocals(scales: np.ndarray) -> np.ndarray:
    """2**-X as float32, exactly, of scale bytes: (n,) uint8 -> (n,) float32, NaN for 0xFF."""
    return np.take(RECIPROCALS, scales)


def spread(factors: np.ndarray, block_size: int, out: np.ndarray) -> np.ndarray:
    """The factor of its block for each element: (n,) float32 -> ``out`` (n * block_size,)."""
    np.copyto(out.reshape(-1, block_size), factors[:, None])
    return out
