"""The exact definition of encoding to NVFP4: one block, every binary32 operation by rational numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...spec import E2M1, FloatFormat, FourOverSix, Number, Nvfp4Encode, Order, Rounding
from .binary32 import LARGEST, Special, Value, add, clamp, distance, divide, is_nan, minimum, multiply, value_of
from .encode import decode, nearest_code, neighbours

ONE, SIX = Fraction(1), Fraction(6)


@dataclass(frozen=True)
class Constants:
    """The constants of a tensor (`spec.Nvfp4Encode.ports`)."""

    k: Value
    d: Value
    a: Value


@dataclass(frozen=True)
class Arithmetic:
    """One order, in the letters of `spec.Order`."""

    constants: Callable[[Value, Fraction], tuple[Value, Value]]
    """(a, C) -> k, d"""
    ratio: Callable[[Value, Value, FloatFormat], Value]
    """(b, k, scale format) -> t"""
    factor: Callable[[Value, Value], Value]
    """(s, d) -> factor of the numbers"""
    scaled: Callable[[Value, Value], Value] = multiply
    """(x, factor) -> y"""
    zero_scale: Fraction = Fraction(0)
    """Replacement for a scale that is rounded to 0."""
    ignores_nan: bool = False
    """Does the largest magnitude ignore NaN?"""
    nan_codes: tuple[int, int, int] = (0, 0, 0)
    """Codes for NaN y: under a NaN scale, under a negative NaN scale, and under any other scale."""
    signed_zero: bool = True
    """Does y of zero give its sign to the element?"""


def global_scale(a: Value, c: Fraction) -> Value:
    """S of Transformer Engine."""
    s = minimum(divide(c, a), LARGEST)
    return ONE if a == 0 or s == 0 else s


def te_constants(a: Value, c: Fraction) -> tuple[Value, Value]:
    s = global_scale(a, c)
    return multiply(s, divide(ONE, SIX)), divide(ONE, s)


def paper_constants(a: Value, c: Fraction) -> tuple[Value, Value]:
    s = global_scale(a, c)
    return s, divide(ONE, s)


def te_factor(s: Value, d: Value) -> Value:
    return minimum(divide(ONE, multiply(s, d)), LARGEST)


def ao_constants(a: Value, c: Fraction) -> tuple[Value, Value]:
    g = divide(a, c)
    return g, divide(ONE, g)


def ao_ratio(b: Value, k: Value, scale: FloatFormat) -> Value:
    return clamp(divide(divide(b, SIX), k), Fraction(2) ** scale.emin, scale.max_value)


def modelopt_ratio(b: Value, k: Value, scale: FloatFormat) -> Value:
    t = divide(b, multiply(SIX, k))
    return clamp(ONE if t == 0 else t, scale.decode(1).magnitude, scale.max_value)


def compressed_tensors_constants(a: Value, c: Fraction) -> tuple[Value, Value]:
    g = multiply(c, divide(ONE, max(a, Fraction(2) ** -126) if isinstance(a, Fraction) else a))
    if isinstance(g, Special):
        g = ONE
    return g, g


AO = Arithmetic(constants=ao_constants, ratio=ao_ratio, factor=lambda s, d: divide(d, s), nan_codes=(4, 12, 11))

ORDERS: dict[Order, Arithmetic] = {
    Order.TE: Arithmetic(
        constants=te_constants,
        ratio=lambda b, k, scale: minimum(multiply(b, k), LARGEST),
        factor=te_factor,
        ignores_nan=True,
        nan_codes=(7, 7, 7),
    ),
    Order.PAPER: Arithmetic(
        constants=paper_constants,
        ratio=lambda b, k, scale: multiply(divide(b, SIX), k),
        factor=te_factor,
        ignores_nan=True,
        nan_codes=(7, 7, 7),
    ),
    Order.AO: AO,
    Order.AO_SINGLE: AO,
    Order.MODELOPT: Arithmetic(
        constants=lambda a, c: (divide(a, c), divide(a, c)),
        ratio=modelopt_ratio,
        factor=multiply,
        scaled=divide,
        nan_codes=(7, 7, 7),
        signed_zero=False,
    ),
    Order.COMPRESSED_TENSORS: Arithmetic(
        constants=compressed_tensors_constants,
        ratio=lambda b, k, scale: multiply(k, divide(b, SIX)),
        factor=divide,
        scaled=divide,
        zero_scale=Fraction(1, 8),
        signed_zero=False,
    ),
}


def rne(y: Fraction, random: Fraction) -> int:
    return nearest_code(y, E2M1)


def sr(y: Fraction, random: Fraction) -> int:
    below, part = neighbours(y, E2M1)
    return below + (part + random >= 1)


ROUNDINGS: dict[Rounding, Callable[[Fraction, Fraction], int]] = {Rounding.RNE: rne, Rounding.SR: sr}
"""The code of y > 0, before it saturates. The random bits are a fraction of 1."""


def tensor_constants(a: Value, numerics: Nvfp4Encode) -> Constants:
    """The constants of a tensor whose largest magnitude is ``a``."""
    if numerics.block.tensor_scale is None:
        return Constants(ONE, ONE, a)
    return Constants(*ORDERS[numerics.order].constants(a, numerics.scale_max * E2M1.max_value), a)


def largest(numbers: Sequence[Number], order: Order) -> Value:
    """b. NaN in the block makes it NaN, unless the order ignores NaN."""
    values = [value_of(number) for number in numbers]
    if Special.NAN in values and not ORDERS[order].ignores_nan:
        return Special.NAN
    if Special.INF in values:
        return Special.INF
    return max((one for one in values if isinstance(one, Fraction)), default=Fraction(0))


def block_scale(t: Value, numerics: Nvfp4Encode) -> int:
    """The scale code of t: to nearest, ties to even, saturating. NaN has the sign of x86."""
    scale = numerics.scale_format
    if is_nan(t):
        assert scale.nan_code is not None
        return scale.nan_code | (scale.sign_mask if t is Special.INVALID else 0)
    code = scale.max_code if t is Special.INF else nearest_code(t, scale)
    return code if code else nearest_code(ORDERS[numerics.order].zero_scale, scale)


def encode_block(
    patterns: Sequence[int], numerics: Nvfp4Encode, a: Value, random: Sequence[int] | None = None
) -> tuple[int, list[int]]:
    """Encode one block of source numbers.

    Parameters
    ----------
    patterns : bit patterns of the source format; of a block of two axes row by row
    numerics : formats and rules
    a : the largest magnitude of the tensor; without a meaning under ``ao_single``
    random : the random bits of each element under `Rounding.SR`, 0 unless given

    Returns
    -------
    tuple of int and list of int
        the scale code and the element codes

    Raises
    ------
    ValueError
        for a pattern with more bits than the source format

    >>> from mxcast.spec import nvfp4_encoding
    >>> scale, codes = encode_block([0x40C00000, 0xBF800000] + [0] * 14, nvfp4_encoding("nvfp4"), Fraction(6))
    >>> hex(scale), codes[:3]
    ('0x7e', [7, 10, 0])
    """
    return encode_under(patterns, numerics, tensor_constants(a, numerics), random)


def encode_under(
    patterns: Sequence[int], numerics: Nvfp4Encode, constants: Constants, random: Sequence[int] | None = None
) -> tuple[int, list[int]]:
    """Encode one block with given constants of its tensor."""
    numbers, order = [decode(pattern, numerics.source) for pattern in patterns], ORDERS[numerics.order]
    t = order.ratio(largest(numbers, numerics.order), constants.k, numerics.scale_format)
    drawn = [Fraction(bits, 2**numerics.random_bits) for bits in random or [0] * len(numbers)]
    six = encoded(numbers, block_scale(t, numerics), constants, numerics, drawn)
    if numerics.four_over_six is FourOverSix.OFF:
        return six
    four = encoded(numbers, block_scale(multiply(t, Fraction(3, 2)), numerics), constants, numerics, drawn)
    errors = [error(numbers, *one, constants, numerics) for one in (four, six)]
    return four if less(*errors) else six


def encoded(
    numbers: Sequence[Number], scale: int, constants: Constants, numerics: Nvfp4Encode, random: Sequence[Fraction]
) -> tuple[int, list[int]]:
    """The scale, and the codes of a block with this scale."""
    order = ORDERS[numerics.order]
    factor = order.factor(value_of(numerics.scale_format.decode(scale)), constants.d)
    return scale, [
        element_code(number, order.scaled(value_of(number), factor), scale, numerics, bits)
        for number, bits in zip(numbers, random, strict=True)
    ]


def element_code(number: Number, y: Value, scale: int, numerics: Nvfp4Encode, random: Fraction) -> int:
    order, factor = ORDERS[numerics.order], numerics.scale_format.decode(scale)
    if is_nan(y):
        return order.nan_codes[2 if factor.kind != "nan" else int(factor.negative)]
    if y == 0 and not order.signed_zero:
        return 0
    code = E2M1.max_code if isinstance(y, Special) else min(ROUNDINGS[numerics.rounding](y, random), E2M1.max_code)
    return E2M1.signed_code(code, number.negative)


POWERS: dict[FourOverSix, Callable[[Value], Value]] = {
    FourOverSix.MAE: lambda difference: difference,
    FourOverSix.MSE: lambda difference: multiply(difference, difference),
}
"""Terms of the error, from |v - x|."""

ROW = 16
"""Elements whose errors are summed one after another. The sums of rows are then added pairwise."""


def error(
    numbers: Sequence[Number], scale: int, codes: Sequence[int], constants: Constants, numerics: Nvfp4Encode
) -> Value:
    """The error of a candidate of `FourOverSix`."""
    s, c = value_of(numerics.scale_format.decode(scale)), numerics.scale_max * E2M1.max_value
    rows: list[Value] = []
    for start in range(0, len(numbers), ROW):
        total: Value = Fraction(0)
        for number, code in zip(numbers[start : start + ROW], codes[start : start + ROW]):
            element = E2M1.decode(code)
            v = divide(multiply(multiply(element.magnitude, s), constants.a), c)
            difference = distance(v, element.negative, value_of(number), number.negative)
            total = add(total, POWERS[numerics.four_over_six](difference))
        rows.append(total)
    while len(rows) > 1:  # first half plus second half, like a reduction over 16 threads
        half = len(rows) // 2
        rows = [add(rows[i], rows[i + half]) for i in range(half)]
    return rows[0]


def less(a: Value, b: Value) -> bool:
    """a < b, which is false for NaN."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a < b
    return isinstance(a, Fraction) and b is Special.INF
