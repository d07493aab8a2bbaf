"""The exact definition of decoding: one block, by rational arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from ...spec import (
    E8M0,
    FP32,
    BlockFormat,
    Convention,
    Decode,
    DecodedNan,
    DecodedOverflow,
    DecodedRounding,
    DecodedZero,
    FloatFormat,
    Kind,
    Number,
    NumberFormat,
    ScaleReading,
    Subnormals,
)
from .binary32 import TWO, floor_log2

SCALE_READINGS: dict[ScaleReading, Callable[[int], Number]] = {
    ScaleReading.E8M0: E8M0.decode,
    ScaleReading.POWER: lambda byte: Number(False, TWO ** (byte - 127)),
    ScaleReading.FIELD: lambda byte: FP32.decode(byte << FP32.man_bits),
    ScaleReading.SIGNED: lambda byte: Number(False, TWO ** (byte - 256 if byte >= 128 else byte)),
}
"""The factor of a scale byte."""

ROUNDINGS: dict[DecodedRounding, Callable[[int, Fraction, Fraction], int]] = {
    DecodedRounding.RNE: lambda below, part, random: below + (2 * part > 1 or (2 * part == 1 and below % 2 == 1)),
    DecodedRounding.RNA: lambda below, part, random: below + (2 * part >= 1),
    DecodedRounding.RTZ: lambda below, part, random: below,
    DecodedRounding.SR: lambda below, part, random: below + (part + random >= 1),
}
"""Functions of (below, part, random) that round below + part steps, with 0 <= part < 1, to a whole number of steps."""

OVERFLOWS: dict[DecodedOverflow, Callable[[FloatFormat], int]] = {
    DecodedOverflow.INF: lambda to: to.inf_field,
    DecodedOverflow.SATURATE: lambda to: to.max_code,
}
"""The magnitude pattern beyond the largest number."""


def quiet_bit(to: FloatFormat) -> int:
    """The top bit of the fraction, which makes a NaN quiet (IEEE 754-2019, section 6.2.1)."""
    return 1 << (to.man_bits - 1)


def canonical(code: int, source: NumberFormat, to: FloatFormat) -> int:
    return to.inf_field | quiet_bit(to)


def all_ones(code: int, source: NumberFormat, to: FloatFormat) -> int:
    return to.magnitude_mask


def payload(code: int, source: NumberFormat, to: FloatFormat) -> int:
    number = source.decode(code)
    if source.kind is Kind.FIXED or number.kind != "nan":
        return canonical(code, source, to)
    fraction = Fraction(code % 2**source.man_bits, 2**source.man_bits)
    sign = to.sign_mask if number.negative else 0
    return sign | to.inf_field | int(fraction * 2**to.man_bits) | quiet_bit(to)


NANS: dict[DecodedNan, Callable[[int, NumberFormat, FloatFormat], int]] = {
    DecodedNan.CANONICAL: canonical,
    DecodedNan.ALL_ONES: all_ones,
    DecodedNan.PAYLOAD: payload,
}
"""The pattern of a NaN result in a destination, from a code of a source format that can be NaN."""

ZEROS: dict[DecodedZero, Callable[[bool], bool]] = {
    DecodedZero.SIGNED: lambda negative: negative,
    DecodedZero.POSITIVE: lambda negative: False,
}
"""Is the result for an element of zero negative?"""


def round_magnitude(value: Fraction, rules: Decode, random: Fraction) -> int:
    """The magnitude pattern of a value > 0. The steps continue to grow beyond the largest number."""
    to = rules.destination
    if rules.subnormals is Subnormals.FLUSH and value < TWO**to.emin:
        return 0
    step = TWO ** (max(floor_log2(value), to.emin) - to.man_bits)
    below = (value / step).__floor__()
    rounded = ROUNDINGS[rules.rounding](below, value / step - below, random) * step
    if rounded > to.max_value:
        return OVERFLOWS[rules.overflow](to)
    if rounded < TWO**to.emin:
        return int(rounded / TWO**to.lowest_exponent)
    exponent = floor_log2(rounded)
    fraction = rounded / TWO**exponent - 1
    return ((exponent + to.bias) << to.man_bits) + int(fraction * 2**to.man_bits)


def decode_block(scale: int, codes: Sequence[int], rules: Decode, random: Sequence[int] | None = None) -> list[int]:
    """Decode one block.

    Parameters
    ----------
    scale : the scale byte
    codes : the element codes; blocks of any size are decoded
    rules : formats and rules
    random : the random bits of each element under `DecodedRounding.SR`, 0 unless given

    Returns
    -------
    list of int
        patterns of the destination

    Raises
    ------
    ValueError
        for a byte or a code outside its format

    >>> from mxcast.spec import decoding
    >>> [hex(pattern) for pattern in decode_block(128, [0x38, 0xB8, 0x7F], decoding("e4m3"))]
    ['0x40000000', '0xc0000000', '0x7fc00000']
    """
    if not 0 <= scale < 256:
        raise ValueError(f"a scale byte is 0 to 255, not {scale}")
    factor, drawn = SCALE_READINGS[rules.scale_reading](scale), random or [0] * len(codes)
    return [
        _pattern(code, factor, rules, Fraction(bits, 2**rules.random_bits))
        for code, bits in zip(codes, drawn, strict=True)
    ]


def _pattern(code: int, factor: Number, rules: Decode, random: Fraction) -> int:
    element, to = rules.block.element.decode(code), rules.destination
    number = product(element, factor, Fraction(1))
    if number.kind == "nan":
        return NANS[rules.nan](code, rules.block.element, rules.destination)
    is_zero = element.kind == "finite" and element.magnitude == 0
    negative = ZEROS[rules.zero](number.negative) if is_zero else number.negative
    if number.kind == "inf":
        magnitude = to.inf_field
    else:
        magnitude = round_magnitude(number.magnitude, rules, random) if number.magnitude else 0
    return magnitude | (to.sign_mask if negative else 0)


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
