"""The fraction from which a scale rule raises the scale by one: a comparison with a constant in every binade.

Let a = 2**(e - 127) * (1 + m / 2**23). Every scale rule subtracts a constant from e. It is emax, or the bias for
``bias_floor``. It is emax + 1 for ``round_log2`` if the largest element is above sqrt(2) * 2**emax, and for
``linear_nearest`` if it is above 4/3 * 2**emax.

All rules except ``floor`` and ``bias_floor`` add one for fractions m above another constant, which is the same in all
binades. For ``ceil`` it is the fraction of the largest element. For ``rceil`` it is the last fraction whose product
rounds down to a power of two. For ``linear_nearest`` it is the last one whose product is below 1.5 times a power of
two. Only the binade in which the byte first exceeds 0 can have a different constant. There the product of ``rceil`` is
subnormal, and for elements below 2 it is the binade of the FP32 subnormals.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, floor, isqrt

from ...spec import ELEMENTS, FP32, TF32, Encode, NumberFormat, ScaleRule, Subnormals


def _is_above_root(element: NumberFormat) -> bool:
    """Is the largest element above sqrt(2) times its power of two? Then so is a number half a binade below it."""
    return element.max_value**2 > 2 * Fraction(4) ** element.emax


def is_above_four_thirds(element: NumberFormat) -> bool:
    """Is the largest element above 4/3 times its power of two? Then 3/4 of it is above one too."""
    return 3 * element.max_value > 4 * Fraction(2) ** element.emax


OFFSETS = {
    ScaleRule.BIAS_FLOOR: lambda element: element.bias,
    ScaleRule.ROUND_LOG2: lambda element: element.emax + _is_above_root(element),
    ScaleRule.LINEAR_NEAREST: lambda element: element.emax + is_above_four_thirds(element),
    **dict.fromkeys(
        (
            *(ScaleRule.FLOOR, ScaleRule.CEIL, ScaleRule.RCEIL, ScaleRule.POW2_CEIL, ScaleRule.EVEN, ScaleRule.EVEN1),
            ScaleRule.MIDMAX,
        ),
        lambda element: element.emax,
    ),
}
"""The constant that each rule subtracts from the exponent."""

NEVER = (1 << 23) - 1
"""The largest FP32 fraction, which no fraction exceeds."""


@dataclass(frozen=True)
class Threshold:
    """Source fractions above ``in_binade`` raise the scale by one. In the binade of biased exponent ``bottom``,
    fractions above ``at_bottom`` do.
    """

    in_binade: int
    bottom: int
    at_bottom: int

    @classmethod
    def of(cls, numerics: Encode) -> Threshold:
        element, source = numerics.block.element, numerics.source
        in_binade, at_bottom = LIMITS[numerics.scale_rule](element)
        if source is TF32:  # it holds widened numbers, all far above the bottom
            at_bottom = in_binade
        elif element.emax == 0 and numerics.input_subnormals is Subnormals.FLUSH:
            at_bottom = NEVER
        # a number of a shorter source is an FP32 number whose last bits are zero
        dropped = FP32.man_bits - source.man_bits
        return cls(in_binade >> dropped, element.emax, at_bottom >> dropped)


def _never(element: NumberFormat) -> tuple[int, int]:
    return NEVER, NEVER


def _ceil(element: NumberFormat) -> tuple[int, int]:
    return _of_largest(Fraction(element.max_value), element)


def _midmax(element: NumberFormat) -> tuple[int, int]:
    return _of_largest((element.max_value + Fraction(2) ** (element.emax + 1)) / 2, element)


def _of_largest(largest: Fraction, element: NumberFormat) -> tuple[int, int]:
    in_binade = largest / Fraction(2) ** element.emax - 1
    at_bottom = in_binade if element.emax else largest / 2  # a subnormal m is m / 2**22 of the smallest scale
    return int(in_binade * 2**23), int(at_bottom * 2**23)


def _reciprocal(element: NumberFormat) -> Fraction:
    """fl32(1 / destmax)."""
    ratio = 1 / element.max_value
    ulp = Fraction(2) ** -(element.emax + (1 if ratio < Fraction(2) ** -element.emax else 0) + 23)
    return round(ratio / ulp) * ulp  # Python rounds fractions to even


def _linear_nearest(element: NumberFormat) -> tuple[int, int]:
    # a product rounds up to 1.5 * 2**k from half a unit in the last place below it, because 1.5 * 2**k is even
    reciprocal, binade = _reciprocal(element), Fraction(2) ** element.emax
    first = (Fraction(3, 2) - Fraction(1, 2**24)) / (2 if is_above_four_thirds(element) else 1) / reciprocal
    # in the lowest binade the product is above 2**-127, as for rceil
    return ceil((first / binade - 1) * 2**23) - 1, _rceil(element)[1]


def _rceil(element: NumberFormat) -> tuple[int, int]:
    reciprocal = _reciprocal(element)
    # a product up to half a unit in the last place above 2**k rounds down to it (a tie to even): 2**(k - 24), and
    # 2**-150 for the subnormal 2**-127
    largest = (1 + Fraction(1, 2**24)) / reciprocal
    lowest = (1 + Fraction(1, 2**23)) / reciprocal
    binade = Fraction(2) ** element.emax
    at_bottom = lowest / binade - 1 if element.emax else lowest / 2
    return floor((largest / binade - 1) * 2**23), floor(at_bottom * 2**23)


def _pow2_ceil(element: NumberFormat) -> tuple[int, int]:
    return 0, 0


def _even(element: NumberFormat) -> tuple[int, int]:
    last = (1 << 23) - (1 << (22 - element.fraction_bits)) - 1
    return last, last


def _even1(element: NumberFormat) -> tuple[int, int]:
    return 0x5FFFFF, 0x5FFFFF


def _round_log2(element: NumberFormat) -> tuple[int, int]:
    # the last significand whose square is below the square of the middle; a subnormal m is m / 2**22 of the smallest
    # scale
    largest = element.max_value / Fraction(2) ** element.emax
    in_binade = isqrt(int(largest**2 * (1 if _is_above_root(element) else 4) * 2**45)) - (1 << 23)
    return in_binade, in_binade if element.emax else min(isqrt(int(largest**2 * 2**45)), NEVER)


LIMITS = {
    ScaleRule.FLOOR: _never,
    ScaleRule.BIAS_FLOOR: _never,
    ScaleRule.CEIL: _ceil,
    ScaleRule.RCEIL: _rceil,
    ScaleRule.POW2_CEIL: _pow2_ceil,
    ScaleRule.EVEN: _even,
    ScaleRule.EVEN1: _even1,
    ScaleRule.ROUND_LOG2: _round_log2,
    ScaleRule.LINEAR_NEAREST: _linear_nearest,
    ScaleRule.MIDMAX: _midmax,
}
"""For each rule, the FP32 fractions above which it raises the scale by one: in a binade, and in the lowest one."""


def rounds_up(rule: ScaleRule) -> bool:
    """Can the fraction raise the exponent by one under a scale rule?"""
    return LIMITS[rule] is not _never


@cache
def exceeds_largest(rule: ScaleRule) -> bool:
    """Can a number be above the largest element under its scale, for some element of OCP?

    It can if the rule subtracts more than emax, or if its threshold is above the fraction of the largest element. One
    unit in the last place of FP32 does not count, because the product of ``rceil`` is rounded.
    """
    return any(
        OFFSETS[rule](element) > element.emax or LIMITS[rule](element)[0] > _ceil(element)[0] + 1
        for element in ELEMENTS.values()
    )
