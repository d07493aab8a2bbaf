"""The slow, obviously right definition: exact rationals, one block at a time.

Nothing here is clever. Source numbers are decoded to `fractions.Fraction`, the shared exponent is found by the
inequality that defines its rule, and an element is chosen among all values of its format by distance. The fast model
and, through it, the hardware are judged by this file; it shares no step with either.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from ..spec import FixedFormat, FloatFormat, Numerics, Rounding, ScaleRule, Specials, Subnormals

__all__ = ["quantize_block", "Number", "decode", "element_value", "shared_exponent", "round_element"]

TWO = Fraction(2)


@dataclass(frozen=True)
class Number:
    """A decoded source number. ``kind`` is "finite", "inf" or "nan"; ``magnitude`` is what its fields say if the top
    exponent were one like any other, which only `Specials.DROP` looks at for Inf and NaN."""

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
    if exponent == 0 and subnormals is Subnormals.FLUSH:
        magnitude = Fraction(0)
    kind = "finite"
    if exponent == (1 << source.exp_bits) - 1:
        kind = "nan" if fraction else "inf"
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
    if rule is ScaleRule.FLOOR:
        exponent = floor_log2(amax) - element.emax
    elif rule is ScaleRule.BIAS_FLOOR:
        exponent = floor_log2(amax) - element.bias
    elif rule is ScaleRule.CEIL:
        largest = element_value(element.max_code, element)
        exponent = next(x for x in range(-512, 512) if amax <= largest * TWO ** x)
    return min(max(exponent, -127), 127)


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
        return half_up(value / TWO ** (element.emin - element.man_bits))
    if field < 0:
        return 0
    fraction = value / TWO ** binade - 1
    return min((field << element.man_bits) + half_up(fraction * 2 ** element.man_bits), last)


def round_element(number: Number, exponent: int, numerics: Numerics) -> int:
    """Code of one element of a block with shared exponent ``exponent``."""
    element = numerics.block.element
    value = number.magnitude / TWO ** exponent
    if value == 0:
        code = 0
    elif numerics.rounding is Rounding.RNE:
        code = nearest_code(value, element)
        if isinstance(element, FloatFormat) and numerics.element_subnormals is Subnormals.FLUSH:
            is_normal = element_value(code, element) >= TWO ** element.emin
            code = code if is_normal else 0
    elif numerics.rounding is Rounding.GUARD_HALF_UP:
        code = guard_half_up_code(value, element, numerics.element_subnormals)
    return signed_code(code, number.negative, element)


def signed_code(magnitude: int, negative: bool, element: FloatFormat | FixedFormat) -> int:
    if isinstance(element, FixedFormat):
        return (-magnitude if negative else magnitude) % (1 << element.bits)
    return magnitude + (element.sign_mask if negative else 0)


def quantize_block(patterns: Sequence[int], numerics: Numerics) -> tuple[int, list[int]]:
    """Scale byte and element codes of one block of source bit patterns.

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
    # what is left is finite, or DROP, which leaves Inf and NaN out of the maximum only
    amax = max((n.magnitude for n in numbers if n.kind == "finite"), default=Fraction(0))
    exponent = shared_exponent(amax, numerics)
    return exponent + 127, [round_element(n, exponent, numerics) for n in numbers]
