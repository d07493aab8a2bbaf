"""The exact definition of casting: one number, by rational arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from ...spec import (
    Cast,
    CastNan,
    CastNegative,
    CastOverflow,
    CastRounding,
    CastUnderflow,
    EncodedZero,
    FloatFormat,
    NanSubstitute,
    Number,
    SpecialCodes,
)
from .binary32 import TWO, floor_log2

ROUNDINGS: dict[CastRounding, Callable[[int, Fraction, Fraction], bool]] = {
    CastRounding.RNE: lambda code, part, random: 2 * part > 1 or (2 * part == 1 and code % 2 == 1),
    CastRounding.RNA: lambda code, part, random: 2 * part >= 1,
    CastRounding.RNZ: lambda code, part, random: 2 * part > 1,
    CastRounding.RTZ: lambda code, part, random: False,
    CastRounding.RP: lambda code, part, random: part > 0,
    CastRounding.SR: lambda code, part, random: part + random >= 1,
}
"""Is a magnitude rounded up that is ``part`` of a step above the number of a code?"""

OVERFLOWS: dict[CastOverflow, Callable[[Cast, bool], int | None]] = {
    CastOverflow.SATURATE: lambda rules, is_inf: rules.destination.max_code,
    CastOverflow.INF: lambda rules, is_inf: rules.destination.inf_code,
    CastOverflow.IEEE: lambda rules, is_inf: (
        rules.destination.max_code if rules.rounding is CastRounding.RTZ and not is_inf else rules.destination.inf_code
    ),
}
"""The magnitude code of Inf, or of a number beyond the largest; None is NaN."""


def quiet(to: FloatFormat) -> int:
    """The NaN with the first fraction bit alone, or the only NaN of the format."""
    return to.max_code + 1 if to.inf_code is None else to.inf_code + (1 << (to.man_bits - 1))


def payload(negative: bool, fraction: Fraction | None, to: FloatFormat) -> int:
    if fraction is None:
        return quiet(to)
    return signed(quiet(to) | int(fraction * 2**to.man_bits), negative, to)


def signed(magnitude: int, negative: bool, to: FloatFormat) -> int:
    return to.signed_code(magnitude, negative and to.signed)


NANS: dict[CastNan, Callable[[bool, Fraction | None, FloatFormat], int]] = {
    CastNan.CANONICAL: lambda negative, fraction, to: quiet(to),
    CastNan.SIGNED: lambda negative, fraction, to: signed(quiet(to), negative, to),
    CastNan.ALL_ONES: lambda negative, fraction, to: to.magnitude_mask,
    CastNan.SIGNED_ALL_ONES: lambda negative, fraction, to: signed(to.magnitude_mask, negative, to),
    CastNan.NEGATIVE: lambda negative, fraction, to: 2**to.bits - 1,
    CastNan.PAYLOAD: payload,
}
"""The code of NaN, from the sign of the source and, if it is NaN, its fraction."""

SUBSTITUTES: dict[NanSubstitute, Callable[[bool, FloatFormat], int]] = {
    NanSubstitute.LARGEST: lambda negative, to: to.max_code,
    NanSubstitute.ZERO: lambda negative, to: signed(0, not negative, to),
}
"""The code for NaN in a format without NaN, from the sign of the source."""

NEGATIVES: dict[CastNegative, bool] = {CastNegative.MAGNITUDE: False, CastNegative.NAN: True}
"""Do values below zero become NaN in a format without a sign?"""

ZEROS: dict[EncodedZero, Callable[[bool, bool, bool], bool]] = {
    EncodedZero.SIGNED: lambda negative, was_zero, is_zero: negative,
    EncodedZero.POSITIVE: lambda negative, was_zero, is_zero: negative and not is_zero,
    EncodedZero.TAKEN_POSITIVE: lambda negative, was_zero, is_zero: negative and not was_zero,
    EncodedZero.TAKEN_NEGATIVE: lambda negative, was_zero, is_zero: negative or was_zero,
}
"""Is a result negative, given the sign of the source, whether it was zero, and whether the result is?"""

UNDERFLOWS: dict[CastUnderflow, Callable[[Fraction], bool]] = {
    CastUnderflow.SMALLEST: lambda value: False,
    CastUnderflow.NAN_ZERO: lambda value: value == 0,
    CastUnderflow.NAN: lambda value: True,
}
"""Does a magnitude below the smallest number become NaN in a format without a zero?"""


def neighbour(value: Fraction, to: FloatFormat) -> tuple[int, Fraction]:
    """The code of the largest magnitude not above a value > 0, and the distance to it as a part of the step to the
    next. Codes continue beyond the largest number and, in a format without a zero, below the smallest one.
    """
    exponent = max(floor_log2(value), to.emin) if to.subnormals else floor_log2(value)
    steps = value / TWO ** (exponent - to.man_bits)
    leading = 0 if to.subnormals else 1 << to.man_bits  # exponent field 0 is a binade like the others
    return ((exponent - to.emin) << to.man_bits) + steps.__floor__() - leading, steps % 1


def cast_number(code: int, rules: Cast, random: int = 0) -> int:
    """Cast one number.

    Parameters
    ----------
    code : the bit pattern of the source
    rules : formats and rules
    random : its random bits under `CastRounding.SR`

    Returns
    -------
    int
        the bit pattern of the destination

    Raises
    ------
    ValueError
        for a pattern outside the source

    >>> from mxcast.spec import casting
    >>> [hex(cast_number(code, casting("e8m0", "ptx"))) for code in (0x3F800001, 0, 0x7F800000)]
    ['0x80', '0x0', '0xfe']
    """
    source, to = rules.source, rules.destination
    number = source.decode(code)
    negative = number.negative
    magnitude = _magnitude(number, rules, Fraction(random, 2**rules.random_bits))
    if not to.signed and negative and NEGATIVES[rules.negative]:
        magnitude = None
    if magnitude is not None:
        was_zero = number.kind == "finite" and number.magnitude == 0
        return signed(magnitude, ZEROS[rules.zero](negative, was_zero, magnitude == 0), to)
    if to.nan_code is None:
        return SUBSTITUTES[rules.nan_substitute](negative, to)
    if to.specials is SpecialCodes.FNUZ:
        return to.nan_code
    has_payload = number.kind == "nan" and source.man_bits > 0 and source.specials is not SpecialCodes.FNUZ
    fraction = Fraction(code % 2**source.man_bits, 2**source.man_bits) if has_payload else None
    return NANS[rules.nan](negative, fraction, to)


def _magnitude(number: Number, rules: Cast, random: Fraction) -> int | None:
    """The magnitude code without its sign; None is NaN."""
    to, value = rules.destination, number.magnitude
    if number.kind == "nan":
        return None
    if number.kind == "inf":
        return OVERFLOWS[rules.overflow](rules, True)
    code = -1  # without a zero in the format, zero is below the smallest number
    if value:
        code, part = neighbour(value, to)
        code += ROUNDINGS[rules.rounding](code, part, random)
    elif to.subnormals:
        code = 0
    if code < 0:
        return None if UNDERFLOWS[rules.underflow](value) else 0
    return OVERFLOWS[rules.overflow](rules, False) if code > to.max_code else code
