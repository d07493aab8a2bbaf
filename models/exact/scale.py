"""The exact definition of scale rules: from the largest magnitude of a block to its shared exponent."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

from ...spec import E8M0, FP32, Encode, NumberFormat, ScaleRule
from .binary32 import TWO, floor_log2, fp32, fp32_fields

POWERS = [TWO**exponent for exponent in range(-E8M0.bias, 512)]
"""Values of scales in increasing order, and larger powers of two, which are clamped."""


def shared_exponent(amax: Fraction, numerics: Encode) -> int:
    """The shared exponent X of a block, unbiased and clamped to the exponents of the scale format.

    Parameters
    ----------
    amax : the largest magnitude of the block; if it is 0, X is the smallest exponent
    numerics : element format, scale format and scale rule

    Returns
    -------
    int
        X; the scale code is X plus the bias of the scale format
    """
    element, scale = numerics.block.element, numerics.block.scale
    exponent = scale.emin if amax == 0 else SCALE_RULES[numerics.scale_rule](amax, element)
    return min(max(exponent, scale.emin), scale.emax)


def floor(amax: Fraction, element: NumberFormat) -> int:
    return floor_log2(amax) - element.emax


def bias_floor(amax: Fraction, element: NumberFormat) -> int:
    return floor_log2(amax) - element.bias


def ceil(amax: Fraction, element: NumberFormat) -> int:
    return smallest_exponent(amax / element.max_value)


def rceil(amax: Fraction, element: NumberFormat) -> int:
    return smallest_exponent(fp32(amax * fp32(1 / element.max_value)))


def pow2_ceil(amax: Fraction, element: NumberFormat) -> int:
    field, fraction = fp32_fields(amax)
    return field - FP32.bias - element.emax + (1 if fraction else 0)


def even(amax: Fraction, element: NumberFormat) -> int:
    field, fraction = fp32_fields(amax)
    half_place = Fraction(1, 2 ** (element.fraction_bits + 1))
    return field - FP32.bias - element.emax + (1 if fraction + half_place >= 1 else 0)


def even1(amax: Fraction, element: NumberFormat) -> int:
    field, fraction = fp32_fields(amax)
    return field - FP32.bias - element.emax + (1 if fraction >= Fraction(3, 4) else 0)


def round_log2(amax: Fraction, element: NumberFormat) -> int:
    """The smallest X with log2 r < X + 1/2, where r is the ratio of the numbers: r**2 < 2**(2X + 1), or
    floor(log2 r**2) <= 2X. The two sides are never equal, as 2**(2X + 1) is no square of a rational number.
    """
    binade = floor_log2((amax / element.max_value) ** 2)
    return (binade + 1) // 2


def linear_nearest(amax: Fraction, element: NumberFormat) -> int:
    """On the fields of FP32: the fraction of a subnormal above 2**-127 is above 1/2."""
    product = fp32(amax * fp32(1 / element.max_value))
    if product <= TWO**E8M0.emin:
        return E8M0.emin
    field, fraction = fp32_fields(product)
    return field - FP32.bias + (1 if fraction >= Fraction(1, 2) else 0)


def midmax(amax: Fraction, element: NumberFormat) -> int:
    return smallest_exponent(2 * amax / (element.max_value + TWO ** (element.emax + 1)))


SCALE_RULES: dict[ScaleRule, Callable[[Fraction, NumberFormat], int]] = {
    ScaleRule.FLOOR: floor,
    ScaleRule.BIAS_FLOOR: bias_floor,
    ScaleRule.CEIL: ceil,
    ScaleRule.RCEIL: rceil,
    ScaleRule.POW2_CEIL: pow2_ceil,
    ScaleRule.EVEN: even,
    ScaleRule.EVEN1: even1,
    ScaleRule.ROUND_LOG2: round_log2,
    ScaleRule.LINEAR_NEAREST: linear_nearest,
    ScaleRule.MIDMAX: midmax,
}
"""X under each rule for a largest magnitude > 0, before the clamp."""


def smallest_exponent(ratio: Fraction) -> int:
    """The smallest X of a scale code, -127 or more, with ratio <= 2**X."""
    return bisect_left(POWERS, ratio) - E8M0.bias
