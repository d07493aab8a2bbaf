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
    E8M0,
    FP32,
    BlockFormat,
    Convention,
    Encode,
    EncodedZero,
    FixedFormat,
    FloatFormat,
    Kind,
    Number,
    NumberFormat,
    Rounding,
    ScaleRule,
    Specials,
    Subnormals,
    signal_codes,
)

TWO = Fraction(2)
POWERS = [TWO**exponent for exponent in range(-E8M0.bias, 512)]
"""Values of scales in increasing order, and larger powers of two, which are clamped."""


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


def floor_log2(value: Fraction) -> int:
    """The largest integer E with 2**E <= value, for value > 0."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if TWO**exponent <= value else exponent - 1


@cache
def element_value(code: int, element: NumberFormat) -> Fraction:
    """Value of a finite non-negative code (OCP MX v1.0, section 5.3)."""
    return element.decode(code).magnitude


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


def dequantize_block(
    scale: int,
    codes: Sequence[int],
    block: BlockFormat,
    *,
    sub_scales: Sequence[int] = (),
    tensor_scale: Fraction = Fraction(1),
) -> list[Number]:
    """Decode one block of any block format. If the scale is NaN, every number is NaN.

    Parameters
    ----------
    scale : the scale code
    codes : the element codes, as many as a block has elements
    block : the block format
    sub_scales : the right shift of each sub-block in bits, if the format has sub-blocks
    tensor_scale : the value of the tensor scale, if the format has one

    Returns
    -------
    list of Number
        the exact numbers, before any destination format rounds them

    Raises
    ------
    ValueError
        for a wrong number of codes or shifts, and for codes outside their format

    >>> from mxcast.spec import block_format
    >>> pair = block_format("nvfp4").resized(2)
    >>> [str(number.value) for number in dequantize_block(0x38, [1, 15], pair, tensor_scale=Fraction(1, 2))]
    ['1/4', '-3']
    """
    if len(codes) != block.block_size:
        raise ValueError(f"a block of {block.name} has {block.block_size} elements, not {len(codes)}")
    if block.sub_scale is None:
        shifts = [0] * len(codes)
    else:
        shifts = [shift for shift in sub_scales for _ in range(block.sub_scale.size)]
        if len(shifts) != len(codes) or not all(0 <= shift < 1 << block.sub_scale.bits for shift in shifts):
            raise ValueError(
                f"a block of {block.name} has {len(codes) // block.sub_scale.size} shifts of {block.sub_scale.bits} "
                "bits"
            )
    factor = block.scale.decode(scale)
    common = CONVENTIONS[block.convention](tensor_scale, block)
    return [product(block.element.decode(code), factor, common / TWO**shift) for code, shift in zip(codes, shifts)]


def product(number: Number, factor: Number, common: Fraction) -> Number:
    """The product of an element, its scale and a finite factor > 0. It is NaN if an operand is, and for zero times Inf
    (IEEE 754-2019, sections 6.2 and 7.2).
    """
    negative, operands = number.negative ^ factor.negative, (number, factor)
    has_inf = any(one.kind == "inf" for one in operands)
    has_zero = any(one.kind == "finite" and one.magnitude == 0 for one in operands)
    if any(one.kind == "nan" for one in operands) or (has_inf and has_zero):
        return Number(negative, Fraction(0), "nan")
    if has_inf:
        return Number(negative, Fraction(0), "inf")
    return Number(negative, number.magnitude * factor.magnitude * common)


CONVENTIONS: dict[Convention, Callable[[Fraction, BlockFormat], Fraction]] = {
    Convention.MULTIPLIER: lambda scale, block: scale,
    Convention.DIVISOR: lambda scale, block: 1 / scale,
    Convention.AMAX: lambda scale, block: scale / (block.scale.max_value * block.element.max_value),
    Convention.NONE: lambda scale, block: scale,
}
"""The factor of elements and block scales, from the tensor scale."""
