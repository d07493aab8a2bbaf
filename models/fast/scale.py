"""The largest magnitude of a block, and its scale byte."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ...spec import E8M0, Encode, NumberFormat, ScaleRule
from ..arrays.source import FRACTION

POWERS = np.ldexp(np.float32(1), E8M0.bias - np.arange(E8M0.max_code + 1))
RECIPROCALS = np.append(POWERS, np.float32(np.nan)).astype(np.float32)
"""2**-X of every scale byte, exactly; 2**-127 is subnormal."""


def block_amax(magnitudes: np.ndarray, block_size: int) -> np.ndarray:
    """Maximum of each run of ``block_size`` patterns: (n,) uint32 -> (n / block_size,) uint32.

    Patterns of magnitudes are ordered like their values. Short runs are halved pair by pair, because NumPy's reduction
    has an overhead for every run.
    """
    if block_size >= 32:
        return np.maximum.reduceat(magnitudes, np.arange(0, magnitudes.size, block_size))
    while block_size > 1:
        magnitudes = np.maximum(magnitudes[0::2], magnitudes[1::2])
        block_size //= 2
    return magnitudes


def scale_bytes(amax: np.ndarray, numerics: Encode) -> np.ndarray:
    """Scale bytes of blocks by their largest magnitudes: (n,) uint32 finite patterns -> (n,) uint8."""
    byte = SCALE_RULES[numerics.scale_rule](amax, numerics.block.element)
    return np.clip(byte, 0, numerics.block.scale.max_code).astype(np.uint8)


def _exponent(amax: np.ndarray) -> np.ndarray:
    return (amax >> 23).astype(np.int32)


def _floor(amax: np.ndarray, element: NumberFormat) -> np.ndarray:
    return _exponent(amax) - element.emax


def _bias_floor(amax: np.ndarray, element: NumberFormat) -> np.ndarray:
    return _exponent(amax) - element.bias


def _pow2_ceil(amax: np.ndarray, element: NumberFormat) -> np.ndarray:
    return _exponent(amax) - element.emax + ((amax & FRACTION) > 0)


def _even(amax: np.ndarray, element: NumberFormat) -> np.ndarray:
    return _exponent(amax + np.uint32(1 << (22 - element.fraction_bits))) - element.emax


def _ceil(amax: np.ndarray, element: NumberFormat) -> np.ndarray:
    return _holding(amax, element, Fraction(element.max_value))


def _midmax(amax: np.ndarray, element: NumberFormat) -> np.ndarray:
    return _holding(amax, element, (element.max_value + Fraction(2) ** (element.emax + 1)) / 2)


def _holding(amax: np.ndarray, element: NumberFormat, largest: Fraction) -> np.ndarray:
    """The smallest byte with a <= largest * 2**X, where ``largest`` is in the top binade of the element."""
    # both limits are in units of the last place of a: in its own binade, and at exponent -127 of FP32 subnormals, which
    # need more than the smallest scale only if ``largest`` is below 2
    in_binade = int((largest / Fraction(2) ** element.emax - 1) * 2**23)
    at_bottom = min(int(largest * 2**22), 2**32 - 1)
    exponent = _exponent(amax)
    limit = np.where(exponent > 0, np.uint32(in_binade), np.uint32(at_bottom))
    return exponent - element.emax + ((amax & FRACTION) > limit)


def _product(amax: np.ndarray, element: NumberFormat) -> np.ndarray:
    """Patterns of a / destmax by a reciprocal: float32 multiplication has the rounding of the rules."""
    return (amax.view(np.float32) * (np.float32(1) / np.float32(element.max_value))).view(np.uint32)


def _linear_nearest(amax: np.ndarray, element: NumberFormat) -> np.ndarray:
    bits, half = _product(amax, element), np.uint32(1 << 22)
    return _exponent(bits) + ((bits & half > 0) & (bits != half))


def _rceil(amax: np.ndarray, element: NumberFormat) -> np.ndarray:
    # cvt.rp.satfinite.ue8m0 of the product is the power of two that is not below it, down to 2**-127, which is
    # subnormal in FP32
    bits = _product(amax, element)
    exponent = _exponent(bits)
    return exponent + ((bits & FRACTION) > np.where(exponent > 0, np.uint32(0), np.uint32(1 << 22)))


def _even1(amax: np.ndarray, element: NumberFormat) -> np.ndarray:
    return _exponent(amax + np.uint32(1 << 21)) - element.emax


def _round_log2(amax: np.ndarray, element: NumberFormat) -> np.ndarray:
    # the byte is the number of squares destmax**2 * 2**(2 * byte - 255) up to the square of a; float64 contains all of
    # these squares, which have at most 48 bits
    halfway = np.ldexp(float(element.max_value) ** 2, 2 * np.arange(1, E8M0.max_code + 1) - 2 * E8M0.bias - 1)
    return np.searchsorted(halfway, np.square(amax.view(np.float32), dtype=np.float64)).astype(np.int32)


SCALE_RULES: dict[ScaleRule, Callable[[np.ndarray, NumberFormat], np.ndarray]] = {
    ScaleRule.FLOOR: _floor,
    ScaleRule.BIAS_FLOOR: _bias_floor,
    ScaleRule.CEIL: _ceil,
    ScaleRule.RCEIL: _rceil,
    ScaleRule.POW2_CEIL: _pow2_ceil,
    ScaleRule.EVEN: _even,
    ScaleRule.EVEN1: _even1,
    ScaleRule.ROUND_LOG2: _round_log2,
    ScaleRule.LINEAR_NEAREST: _linear_nearest,
    ScaleRule.MIDMAX: _midmax,
}
"""The byte of each rule from the exponent field, before it is clamped: (n,) uint32 patterns -> (n,) int32."""


def scale_reciprocals(scales: np.ndarray) -> np.ndarray:
    """2**-X as float32, exactly, of scale bytes: (n,) uint8 -> (n,) float32, NaN for 0xFF."""
    return np.take(RECIPROCALS, scales)


def broadcast(factors: np.ndarray, block_size: int, out: np.ndarray) -> np.ndarray:
    """Broadcast the factor of each block to its elements: (n,) float32 -> ``out`` (n * block_size,)."""
    np.copyto(out.reshape(-1, block_size), factors[:, None])
    return out
