"""The fraction from which a scale rule raises the scale by one: a comparison with a constant in every binade.

Let a = 2**(e - 127) * (1 + m / 2**23). Every scale rule subtracts a constant from e, and adds one for fractions m above
another constant, which is the same in all binades. Both follow from one number, the largest with a shared exponent of
0: its exponent is subtracted, and its fraction is the last without a raise. For ``ceil`` the number is the largest
element, for ``floor`` the last FP32 number below a power of two. For ``rceil`` it is the last number whose product
rounds down to 1, for ``linear_nearest`` the last whose product is below 1.5.

Only the binade in which the byte first exceeds 0 can have a different constant. There the product of ``rceil`` is
subnormal, and for elements below 2 it is the binade of the FP32 subnormals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, isqrt

from ...spec import ELEMENTS, FP32, TF32, Encode, NumberFormat, ScaleRule, Subnormals

NEVER = (1 << 23) - 1
"""The largest FP32 fraction, which no fraction exceeds."""


ULP = Fraction(1, 1 << 23)
"""The place of the last FP32 fraction bit, for a number from 1 to 2."""


@dataclass(frozen=True)
class Limit:
    """The largest number with a shared exponent of 0, from which the constants of a scale rule follow."""

    number: Fraction
    """FP32 numbers above it have a larger shared exponent."""
    lowest: int | None = None
    """The last fraction without a raise in the lowest binade; None if it is the same as in other binades."""

    @property
    def offset(self) -> int:
        """The constant that the rule subtracts from the exponent: the exponent of the limit."""
        exponent = self.number.numerator.bit_length() - self.number.denominator.bit_length()
        return exponent - (self.number < Fraction(2) ** exponent)

    @property
    def in_binade(self) -> int:
        """The last fraction without a raise in other binades: the fraction of the limit."""
        return int((self.number / Fraction(2) ** self.offset - 1) / ULP)

    @property
    def at_bottom(self) -> int:
        return self.in_binade if self.lowest is None else self.lowest


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
        limit = LIMITS[numerics.scale_rule](element)
        in_binade, at_bottom = limit.in_binade, limit.at_bottom
        if source is TF32:  # it holds widened numbers, all far above the bottom
            at_bottom = in_binade
        elif element.emax == 0 and numerics.input_subnormals is Subnormals.FLUSH:
            at_bottom = NEVER
        # a number of a shorter source is an FP32 number whose last bits are zero
        dropped = FP32.man_bits - source.man_bits
        return cls(in_binade >> dropped, element.emax, at_bottom >> dropped)


def _floor(element: NumberFormat) -> Limit:
    return Limit((2 - ULP) * Fraction(2) ** element.emax)


def _bias_floor(element: NumberFormat) -> Limit:
    return Limit((2 - ULP) * Fraction(2) ** element.bias)


def _ceil(element: NumberFormat) -> Limit:
    return _of_value(Fraction(element.max_value), element)


def _midmax(element: NumberFormat) -> Limit:
    return _of_value((element.max_value + Fraction(2) ** (element.emax + 1)) / 2, element)


def _round_log2(element: NumberFormat) -> Limit:
    return _of_value(Fraction(isqrt(int(2 * element.max_value**2 * 4**32)), 2**32), element)


def _of_value(number: Fraction, element: NumberFormat) -> Limit:
    """For a rule that compares values. FP32 subnormals matter if emax is 0; m is m / 2**22 of the smallest scale."""
    return Limit(number) if element.emax else Limit(number, min(int(number / 2 / ULP), NEVER))


def _reciprocal(element: NumberFormat) -> Fraction:
    """fl32(1 / destmax)."""
    ratio = 1 / element.max_value
    ulp = Fraction(2) ** -(element.emax + (1 if ratio < Fraction(2) ** -element.emax else 0) + 23)
    return round(ratio / ulp) * ulp  # Python rounds fractions to even


def _linear_nearest(element: NumberFormat) -> Limit:
    # a product rounds up to 1.5 from half a unit in the last place below it, because 1.5 is even
    first = Limit((Fraction(3, 2) - ULP / 2) / _reciprocal(element))
    unit = ULP * Fraction(2) ** first.offset
    # in the lowest binade the product is above 2**-127, as for rceil
    return Limit((ceil(first.number / unit) - 1) * unit, _rceil(element).lowest)


def _rceil(element: NumberFormat) -> Limit:
    reciprocal, binade = _reciprocal(element), Fraction(2) ** element.emax
    # a product up to half a unit in the last place above 2**k rounds down to it (a tie to even): 2**(k - 24), and
    # 2**-150 for the subnormal 2**-127
    lowest = (1 + ULP) / reciprocal
    return Limit((1 + ULP / 2) / reciprocal, int((lowest / binade - 1 if element.emax else lowest / 2) / ULP))


def _pow2_ceil(element: NumberFormat) -> Limit:
    return Limit(Fraction(2) ** element.emax)


def _even(element: NumberFormat) -> Limit:
    return Limit((2 - Fraction(1, 2 << element.fraction_bits) - ULP) * Fraction(2) ** element.emax)


def _even1(element: NumberFormat) -> Limit:
    return Limit((Fraction(7, 4) - ULP) * Fraction(2) ** element.emax)


LIMITS: dict[ScaleRule, Callable[[NumberFormat], Limit]] = {
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
"""The limit of each rule for an element format."""


def exponent_offset(numerics: Encode) -> int:
    """The constant that the scale rule subtracts from the exponent."""
    return LIMITS[numerics.scale_rule](numerics.block.element).offset


@cache
def rounds_up(rule: ScaleRule) -> bool:
    """Can the fraction raise the exponent by one under a scale rule?"""
    return any(LIMITS[rule](element).in_binade < NEVER for element in ELEMENTS.values())


@cache
def exceeds_largest(rule: ScaleRule) -> bool:
    """Can a number be above the largest element under its scale, for some element of OCP?

    It can if the limit of the rule is above the largest element. One unit in the last place of FP32 does not count,
    because the product of ``rceil`` is rounded.
    """
    return any(LIMITS[rule](element).number > element.max_value * (1 + ULP) for element in ELEMENTS.values())
