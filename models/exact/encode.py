"""The slow, obviously right definition: exact rational numbers, one block at a time.

Source numbers are decoded to `fractions.Fraction`. The inequality that defines a scale rule gives the shared exponent,
and the distance to all values of the format selects an element. Tests check the fast model, and through it the
hardware, against this file. It shares no step with either.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

from ...spec import (
    FP32,
    Encode,
    EncodedZero,
    FixedFormat,
    FloatFormat,
    Kind,
    Number,
    NumberFormat,
    Rounding,
    Specials,
    Subnormals,
    signal_codes,
)
from .binary32 import TWO, floor_log2
from .scale import shared_exponent


@lru_cache(maxsize=1 << 18)
def decode(pattern: int, source: FloatFormat, subnormals: Subnormals = Subnormals.EXACT) -> Number:
    """The number of a bit pattern of a source format.

    The magnitude of Inf and NaN is their fraction in the binade above FP32's largest number. Only `Specials.DROP`
    uses it.

    Parameters
    ----------
    pattern : a code of the source format
    source : the source format
    subnormals : whether FP32 subnormals keep their value or become zero

    Returns
    -------
    Number
        sign, magnitude and kind

    Raises
    ------
    ValueError
        for a pattern with more bits than the format

    >>> from mxcast.spec import FP32
    >>> decode(0xBFC00000, FP32)
    Number(negative=True, magnitude=Fraction(3, 2), kind='finite')
    """
    number = source.decode(pattern)
    if number.kind != "finite":
        fraction = Fraction(pattern % (1 << source.man_bits), 1 << source.man_bits)
        return number._replace(magnitude=(1 + fraction) * TWO ** (FP32.emax + 1))
    if number.magnitude < TWO**FP32.emin and subnormals is Subnormals.FLUSH:
        return number._replace(magnitude=Fraction(0))
    return number


def source_number(pattern: int, numerics: Encode) -> Number:
    """The number of a bit pattern for encoding: `decode`, with the sign of zeros under the rules."""
    number = decode(pattern, numerics.source, numerics.input_subnormals)
    if number.kind != "finite" or number.magnitude > 0:
        return number
    return number._replace(negative=ZEROS[numerics.zero](number.negative))


ZEROS: dict[EncodedZero, Callable[[bool], bool]] = {
    EncodedZero.SIGNED: lambda negative: negative,
    EncodedZero.POSITIVE: lambda negative: False,
    EncodedZero.TAKEN_POSITIVE: lambda negative: False,
    EncodedZero.TAKEN_NEGATIVE: lambda negative: True,
}
"""The sign of a zero for encoding, from its own sign."""

ROUNDED_TO_ZERO: dict[EncodedZero, Callable[[bool], bool]] = {
    EncodedZero.SIGNED: lambda negative: negative,
    EncodedZero.POSITIVE: lambda negative: False,
    EncodedZero.TAKEN_POSITIVE: lambda negative: negative,
    EncodedZero.TAKEN_NEGATIVE: lambda negative: negative,
}
"""The sign of an element that is zero, from the sign of its `source_number`."""


@cache
def element_value(code: int, element: NumberFormat) -> Fraction:
    """Value of a finite non-negative code (OCP MX v1.0, section 5.3)."""
    return element.decode(code).magnitude


@cache
def all_values(element: NumberFormat) -> list[Fraction]:
    """Values of the finite non-negative codes, in increasing order."""
    values = [element_value(code, element) for code in range(element.max_code + 1)]
    assert values == sorted(values)
    return values


@lru_cache(maxsize=1 << 18)
def nearest_code(value: Fraction, element: NumberFormat) -> int:
    """The finite code nearest to a value >= 0; the even code in a tie."""
    above = bisect_left(all_values(element), value)
    neighbours = [code for code in (above - 1, above) if 0 <= code <= element.max_code]
    return min(neighbours, key=lambda code: (abs(element_value(code, element) - value), code & 1))


def half_up(value: Fraction) -> int:
    """To an integer, by looking only at the first bit below the point."""
    truncated_to_halves = (2 * value).__floor__()
    return (truncated_to_halves + 1) // 2


def guard_half_up_code(value: Fraction, element: FloatFormat, subnormals: Subnormals) -> int:
    """Code of a value > 0 under the FPGA paper's recipe (section III.C; docs/numerics.md, "guard_half_up").

    The value's own binade gives the exponent field. In it the fraction is rounded half up. The largest code
    has the all-ones fraction of the last but one exponent field. Exponent field 0 keeps the *unshifted* fraction, as
    published, unless element subnormals are exact.
    """
    binade = floor_log2(value)
    field = binade + element.bias
    last = ((2**element.exp_bits - 2) << element.man_bits) + 2**element.man_bits - 1
    if subnormals is Subnormals.EXACT and field < 1:
        return min(half_up(value / TWO**element.lowest_exponent), last)
    if field < 0:
        return 0
    fraction = value / TWO**binade - 1
    return min((field << element.man_bits) + half_up(fraction * 2**element.man_bits), last)


def fixed_guard_half_up_code(value: Fraction, element: FixedFormat, subnormals: Subnormals) -> int:
    """`guard_half_up_code` for a fixed-point element, whose numbers share one grid."""
    return min(half_up(value * 2**element.frac_bits), element.max_code)


GUARD_HALF_UP: dict[Kind, Callable[..., int]] = {Kind.FLOAT: guard_half_up_code, Kind.FIXED: fixed_guard_half_up_code}
"""The code of a value, from the element format and the treatment of subnormals, by kind of the format."""


def neighbours(value: Fraction, element: NumberFormat) -> tuple[int, Fraction]:
    """The largest finite code whose value is not above ``value`` >= 0, and the distance of ``value`` from it as a
    fraction of the step to the next one. Beyond the largest code the grid continues with its last step.
    """
    values = all_values(element)
    below = bisect_right(values, value) - 1
    step = values[below + 1] - values[below] if below < element.max_code else values[below] - values[below - 1]
    return below, (value - values[below]) / step


def rne(value: Fraction, numerics: Encode, random: Fraction) -> int:
    return nearest_code(value, numerics.block.element)


def rna(value: Fraction, numerics: Encode, random: Fraction) -> int:
    below, part = neighbours(value, numerics.block.element)
    return below + (part >= Fraction(1, 2))


def rnz(value: Fraction, numerics: Encode, random: Fraction) -> int:
    below, part = neighbours(value, numerics.block.element)
    return below + (part > Fraction(1, 2))


def rtz(value: Fraction, numerics: Encode, random: Fraction) -> int:
    return neighbours(value, numerics.block.element)[0]


def sr(value: Fraction, numerics: Encode, random: Fraction) -> int:
    below, part = neighbours(value, numerics.block.element)
    return below + (part + random >= 1)


def guard_half_up(value: Fraction, numerics: Encode, random: Fraction) -> int:
    element = numerics.block.element
    return GUARD_HALF_UP[element.kind](value, element, numerics.element_subnormals)


ROUNDINGS: dict[Rounding, Callable[[Fraction, Encode, Fraction], int]] = {
    Rounding.RNE: rne,
    Rounding.RNA: rna,
    Rounding.RTZ: rtz,
    Rounding.SR: sr,
    Rounding.GUARD_HALF_UP: guard_half_up,
    Rounding.RNZ: rnz,
}
"""The code of a value > 0 under each rounding, before saturation. The random bits are a fraction of 1."""


@lru_cache(maxsize=1 << 18)
def rounded_code(value: Fraction, numerics: Encode, random: Fraction) -> int:
    """The magnitude code of a value > 0."""
    element = numerics.block.element
    code = min(ROUNDINGS[numerics.rounding](value, numerics, random), element.max_code)
    flushes = numerics.element_subnormals is Subnormals.FLUSH and numerics.rounding is not Rounding.GUARD_HALF_UP
    return 0 if flushes and element.is_subnormal(code) else code


def round_element(number: Number, exponent: int, numerics: Encode, random: int = 0) -> int:
    """The code of one element of a block.

    Parameters
    ----------
    number : the source number
    exponent : the shared exponent X of the block, unbiased
    numerics : element format, rounding, treatment of element subnormals, and sign of zero
    random : the element's random bits under `Rounding.SR`, as an unsigned integer of ``numerics.random_bits`` bits

    Returns
    -------
    int
        the code, sign included
    """
    value = number.magnitude / TWO**exponent
    code = 0 if value == 0 else rounded_code(value, numerics, Fraction(random, 2**numerics.random_bits))
    return with_sign(code, number, numerics)


def with_sign(magnitude: int, number: Number, numerics: Encode) -> int:
    """The code of a magnitude with the sign of its `source_number`."""
    negative = number.negative if magnitude else ROUNDED_TO_ZERO[numerics.zero](number.negative)
    return numerics.block.element.signed_code(magnitude, negative)


@dataclass(frozen=True)
class Decided:
    """The scale code and the element codes that the specials decide. None leaves the decision to the other rules."""

    byte: int | None
    codes: list[int | None]


def nan_block(numbers: list[Number], numerics: Encode) -> Decided:
    undecided = Decided(None, [None] * len(numbers))
    block = numerics.block
    return (
        undecided
        if _all_finite(numbers)
        else Decided(block.scale.nan_code, [block.element.nan_code or 0] * len(numbers))
    )


def te(numbers: list[Number], numerics: Encode) -> Decided:
    element = numerics.block.element
    codes = {
        "nan": lambda number: element.max_code if element.nan_code is None else element.nan_code,
        "inf": lambda number: element.signed_code(element.max_code, number.negative),
        "finite": lambda number: None,
    }
    has_inf = any(number.kind == "inf" for number in numbers)
    return Decided(
        numerics.block.scale.max_code if has_inf else None, [codes[number.kind](number) for number in numbers]
    )


def inf_scale(numbers: list[Number], numerics: Encode) -> Decided:
    kinds, block = {number.kind for number in numbers}, numerics.block
    if kinds == {"finite"}:
        return Decided(None, [None] * len(numbers))
    inf, nan = signal_codes(block.element)
    byte, code = (block.scale.nan_code, nan) if "nan" in kinds else (block.scale.max_code, inf)
    return Decided(byte, [block.element.signed_code(code, number.negative) for number in numbers])


def drop(numbers: list[Number], numerics: Encode) -> Decided:
    return Decided(None, [None] * len(numbers))  # ignored in the maximum, numbers otherwise


SPECIALS: dict[Specials, Callable[[list[Number], Encode], Decided]] = {
    Specials.NAN_BLOCK: nan_block,
    Specials.TE: te,
    Specials.INF_SCALE: inf_scale,
    Specials.DROP: drop,
}


def _all_finite(numbers: list[Number]) -> bool:
    return all(number.kind == "finite" for number in numbers)


def quantize_block(
    patterns: Sequence[int], numerics: Encode, random: Sequence[int] | None = None
) -> tuple[int, list[int]]:
    """Encode one block of source numbers.

    Parameters
    ----------
    patterns : bit patterns of the source format, as many as there are elements; blocks of any size are encoded
    numerics : formats and rules
    random : the random bits of each element under `Rounding.SR`, 0 unless given

    Returns
    -------
    tuple of int and list of int
        the scale code and the element codes

    Raises
    ------
    ValueError
        for a pattern with more bits than the source format

    >>> from mxcast.spec import numerics
    >>> byte, codes = quantize_block([0x3FC00000, 0xBF800000] + [0] * 30, numerics("e4m3"))
    >>> byte, [hex(c) for c in codes[:3]]
    (119, ['0x7c', '0xf8', '0x0'])
    """
    scale = numerics.block.scale
    numbers = [source_number(p, numerics) for p in patterns]
    decided = SPECIALS[numerics.specials](numbers, numerics)
    amax = max((n.magnitude for n in numbers if n.kind == "finite"), default=Fraction(0))
    byte = shared_exponent(amax, numerics) + scale.bias if decided.byte is None else decided.byte
    codes = [
        round_element(number, byte - scale.bias, numerics, bits) if code is None else code
        for number, bits, code in zip(numbers, random or [0] * len(numbers), decided.codes, strict=True)
    ]
    return byte, codes
