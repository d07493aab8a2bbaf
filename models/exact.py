"""The slow, obviously right definition: exact rationals, one block at a time.

Nothing here is clever. Source numbers are decoded to `fractions.Fraction`, the shared exponent is found by the
inequality that defines its rule, and an element is chosen among all values of its format by distance. The fast model
and, through it, the hardware are judged by this file; it shares no step with either.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from ..spec import FP32, FixedFormat, FloatFormat, Numerics, Rounding, ScaleRule, Specials, Subnormals

__all__ = ["quantize_block", "Number", "decode", "element_value", "shared_exponent", "round_element"]

TWO = Fraction(2)


@dataclass(frozen=True)
class Number:
    """A decoded source number. ``kind`` is "finite", "inf" or "nan"; ``magnitude`` of Inf and NaN is what their fraction
    says in the binade above FP32's largest, which only `Specials.DROP` looks at."""

    negative: bool
    magnitude: Fraction
    kind: str = "finite"


@lru_cache(maxsize=1 << 18)
def decode(pattern: int, source: FloatFormat, subnormals: Subnormals = Subnormals.EXACT) -> Number:
    """The number of a bit pattern (IEEE 754-2019, section 3.4).

    >>> from mxcast.spec import FP32
    >>> decode(0xBFC00000, FP32)
    Number(negative=True, magnitude=Fraction(3, 2), kind='finite')
    """
    fraction = pattern & ((1 << source.man_bits) - 1)
    exponent = (pattern >> source.man_bits) & ((1 << source.exp_bits) - 1)
    significand = Fraction(fraction, 1 << source.man_bits) + (1 if exponent else 0)
    magnitude = significand * TWO ** (max(exponent, 1) - source.bias)
    if magnitude < TWO ** FP32.emin and subnormals is Subnormals.FLUSH:
        magnitude = Fraction(0)
    kind = "finite"
    if exponent == (1 << source.exp_bits) - 1:
        kind = "nan" if fraction else "inf"
        magnitude = significand * TWO ** (FP32.emax + 1)
    return Number(bool(pattern & source.sign_mask), magnitude, kind)


def floor_log2(value: Fraction) -> int:
    """The largest integer E with 2**E <= value, for value > 0."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if TWO ** exponent <= value else exponent - 1


@lru_cache(maxsize=None)
def element_value(code: int, element: FloatFormat | FixedFormat) -> Fraction:
    """Value of a finite non-negative code (OCP MX v1.0, section 5.3)."""
    if isinstance(element, FixedFormat):
        return Fraction(code, 1 << element.frac_bits)
    field, fraction = divmod(code, 1 << element.man_bits)
    hidden = 1 if field else 0
    return (hidden + Fraction(fraction, 1 << element.man_bits)) * TWO ** (max(field, 1) - element.bias)


def shared_exponent(amax: Fraction, numerics: Numerics) -> int:
    """X of a block whose largest magnitude is ``amax``, clamped to -127..127; an all-zero block has -127."""
    element, rule = numerics.block.element, numerics.scale_rule
    if amax == 0:
        return -127
    largest = element_value(element.max_code, element)
    if rule is ScaleRule.FLOOR:
        exponent = floor_log2(amax) - element.emax
    elif rule is ScaleRule.BIAS_FLOOR:
        exponent = floor_log2(amax) - element.bias
    elif rule is ScaleRule.CEIL:
        exponent = smallest_exponent(amax / largest)
    elif rule is ScaleRule.RCEIL:
        exponent = smallest_exponent(fp32(amax * fp32(1 / largest)))
    elif rule is ScaleRule.POW2_CEIL:
        field, fraction = fp32_fields(amax)
        exponent = field - 127 - element.emax + (1 if fraction else 0)
    elif rule is ScaleRule.EVEN:
        field, fraction = fp32_fields(amax)
        half_place = Fraction(1, 2 ** (element.fraction_bits + 1))
        exponent = field - 127 - element.emax + (1 if fraction + half_place >= 1 else 0)
    return min(max(exponent, -127), 127)


def smallest_exponent(ratio: Fraction) -> int:
    """The smallest X >= -127 with ratio <= 2**X."""
    return next(x for x in range(-127, 512) if ratio <= TWO ** x)


def fp32(value: Fraction) -> Fraction:
    """The FP32 number nearest to a value >= 0, ties to even (IEEE 754-2019, section 4.3.1); below overflow."""
    if value == 0:
        return value
    ulp = TWO ** (max(floor_log2(value), FP32.emin) - FP32.man_bits)
    return round(value / ulp) * ulp  # Python rounds fractions to even


def fp32_fields(value: Fraction) -> tuple[int, Fraction]:
    """Biased exponent of an FP32 number > 0, and its fraction as a part of 1."""
    field = max(floor_log2(value) + FP32.bias, 0)
    significand = value / TWO ** (max(field, 1) - FP32.bias)
    return field, significand - (1 if field else 0)


@lru_cache(maxsize=None)
def all_values(element: FloatFormat | FixedFormat) -> list[Fraction]:
    """Values of the finite non-negative codes, which are in increasing order."""
    values = [element_value(code, element) for code in range(element.max_code + 1)]
    assert values == sorted(values)
    return values


@lru_cache(maxsize=1 << 18)
def nearest_code(value: Fraction, element: FloatFormat | FixedFormat) -> int:
    """The finite code nearest to a value >= 0; of two equally near ones the even one."""
    above = bisect_left(all_values(element), value)
    neighbours = [code for code in (above - 1, above) if 0 <= code <= element.max_code]
    return min(neighbours, key=lambda code: (abs(element_value(code, element) - value), code & 1))


def half_up(value: Fraction) -> int:
    """To an integer, by looking only at the first bit below the point."""
    truncated_to_halves = (2 * value).__floor__()
    return (truncated_to_halves + 1) // 2


def guard_half_up_code(value: Fraction, element: FloatFormat | FixedFormat, subnormals: Subnormals) -> int:
    """Code of a value > 0 under the FPGA paper's recipe (section III.C; docs/numerics.md, "guard_half_up").

    The exponent field is the one of the value's own binade; the fraction is rounded half up in that binade; nothing
    is above the all-ones fraction of the last but one exponent field. A field of 0 keeps the *unshifted* fraction, as
    published, unless element subnormals are exact.
    """
    if isinstance(element, FixedFormat):
        return min(half_up(value * 2 ** element.frac_bits), element.max_code)
    binade = floor_log2(value)
    field = binade + element.bias
    last = ((2 ** element.exp_bits - 2) << element.man_bits) + 2 ** element.man_bits - 1
    if subnormals is Subnormals.EXACT and field < 1:
        return min(half_up(value / TWO ** (element.emin - element.man_bits)), last)
    if field < 0:
        return 0
    fraction = value / TWO ** binade - 1
    return min((field << element.man_bits) + half_up(fraction * 2 ** element.man_bits), last)


def neighbours(value: Fraction, element: FloatFormat | FixedFormat) -> tuple[int, Fraction]:
    """The largest finite code whose value is not above ``value`` >= 0, and how far on the way to the next grid point
    ``value`` is, as a part of 1. The grid goes on beyond the largest code in its last step."""
    values = all_values(element)
    below = bisect_right(values, value) - 1
    step = values[below + 1] - values[below] if below < element.max_code else values[below] - values[below - 1]
    return below, (value - values[below]) / step


@lru_cache(maxsize=1 << 18)
def rounded_code(value: Fraction, rounding: Rounding, element: FloatFormat | FixedFormat, random: Fraction) -> int:
    """The finite code of a value > 0 under every rounding but guard_half_up; ``random`` is a part of 1."""
    if rounding is Rounding.RNE:
        return nearest_code(value, element)
    below, part = neighbours(value, element)
    goes_up = {Rounding.RNA: part >= Fraction(1, 2), Rounding.RTZ: False, Rounding.SR: part + random >= 1}[rounding]
    return min(below + 1 if goes_up else below, element.max_code)


def round_element(number: Number, exponent: int, numerics: Numerics, random: int = 0) -> int:
    """Code of one element of a block with shared exponent ``exponent``."""
    element = numerics.block.element
    value = number.magnitude / TWO ** exponent
    if value == 0:
        code = 0
    elif numerics.rounding is Rounding.GUARD_HALF_UP:
        code = guard_half_up_code(value, element, numerics.element_subnormals)
    else:
        code = rounded_code(value, numerics.rounding, element, Fraction(random, 2 ** numerics.random_bits))
        if isinstance(element, FloatFormat) and numerics.element_subnormals is Subnormals.FLUSH:
            is_normal = element_value(code, element) >= TWO ** element.emin
            code = code if is_normal else 0
    return signed_code(code, number.negative, element)


def signed_code(magnitude: int, negative: bool, element: FloatFormat | FixedFormat) -> int:
    if isinstance(element, FixedFormat):
        return (-magnitude if negative else magnitude) % (1 << element.bits)
    return magnitude + (element.sign_mask if negative else 0)


def quantize_block(patterns: Sequence[int], numerics: Numerics, random: Sequence[int] | None = None) -> tuple[int, list[int]]:
    """Scale byte and element codes of one block of source bit patterns; ``random`` are the random bits of each element
    under `Rounding.SR`.

    >>> from mxcast.spec import numerics
    >>> byte, codes = quantize_block([0x3FC00000, 0xBF800000] + [0] * 30, numerics("e4m3"))
    >>> byte, [hex(c) for c in codes[:3]]
    (119, ['0x7c', '0xf8', '0x0'])
    """
    element, specials = numerics.block.element, numerics.specials
    numbers = [decode(p, numerics.source, numerics.input_subnormals) for p in patterns]
    kinds = {n.kind for n in numbers}
    if specials is Specials.NAN_BLOCK and kinds != {"finite"}:
        return 0xFF, [element.nan_code or 0] * len(numbers)
    if specials is Specials.INF_SCALE and "nan" in kinds:
        return 0xFF, [signed_code(element.signal_nan_code, n.negative, element) for n in numbers]
    if specials is Specials.INF_SCALE and "inf" in kinds:
        return 0xFE, [signed_code(element.signal_inf_code, n.negative, element) for n in numbers]
    # what is left is finite; or DROP, which leaves Inf and NaN out of the maximum; or TE, which leaves NaN out
    amax = max((n.magnitude for n in numbers if n.kind == "finite"), default=Fraction(0))
    exponent = shared_exponent(amax, numerics)
    if specials is Specials.TE and "inf" in kinds:
        exponent = 127
    codes = []
    for number, bits in zip(numbers, random or [0] * len(numbers), strict=True):
        if specials is Specials.TE and number.kind == "nan":
            codes.append(element.max_code if element.nan_code is None else element.nan_code)
        elif specials is Specials.TE and number.kind == "inf":
            codes.append(signed_code(element.max_code, number.negative, element))
        else:
            codes.append(round_element(number, exponent, numerics, bits))
    return exponent + 127, codes
