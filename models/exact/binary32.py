"""Binary32 arithmetic on magnitudes, by rational numbers: an exact operation, then one rounding.

A value is a `Fraction` >= 0, or a `Special`. IEEE 754-2019, section 4.3.1 (to nearest, ties to even), section 6.2 (an
operand that is NaN is the result) and section 7.2 (invalid operations).
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction

from ...spec import FP32, Number

TWO = Fraction(2)


def floor_log2(value: Fraction) -> int:
    """The largest integer E with 2**E <= value, for value > 0."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if TWO**exponent <= value else exponent - 1


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


class Special(Enum):
    """A magnitude that is not finite."""

    INF = "inf"
    NAN = "nan"
    INVALID = "invalid"
    """The NaN of an invalid operation. Its sign bit is set on x86."""


Value = Fraction | Special

LARGEST = FP32.max_value


def is_nan(value: Value) -> bool:
    return value in (Special.NAN, Special.INVALID)


def value_of(number: Number) -> Value:
    """The magnitude of a decoded number."""
    return number.magnitude if number.kind == "finite" else Special(number.kind)


def rounded(value: Fraction) -> Value:
    nearest = fp32(value)
    return Special.INF if nearest > LARGEST else nearest


def multiply(a: Value, b: Value) -> Value:
    for operand in (a, b):
        if is_nan(operand):
            return operand
    if a is Special.INF or b is Special.INF:
        return Special.INVALID if a == 0 or b == 0 else Special.INF
    assert isinstance(a, Fraction) and isinstance(b, Fraction)
    return rounded(a * b)


def divide(a: Value, b: Value) -> Value:
    for operand in (a, b):
        if is_nan(operand):
            return operand
    if (a is Special.INF and b is Special.INF) or (a == 0 and b == 0):
        return Special.INVALID
    if a is Special.INF or b == 0:
        return Special.INF
    if b is Special.INF:
        return Fraction(0)
    assert isinstance(a, Fraction) and isinstance(b, Fraction)
    return rounded(a / b)


def add(a: Value, b: Value) -> Value:
    for operand in (a, b):
        if is_nan(operand):
            return operand
    if a is Special.INF or b is Special.INF:
        return Special.INF
    assert isinstance(a, Fraction) and isinstance(b, Fraction)
    return rounded(a + b)


def distance(a: Value, a_negative: bool, b: Value, b_negative: bool) -> Value:
    """The magnitude of a - b."""
    for operand in (a, b):
        if is_nan(operand):
            return operand
    if a is Special.INF and b is Special.INF and a_negative == b_negative:
        return Special.INVALID
    if a is Special.INF or b is Special.INF:
        return Special.INF
    assert isinstance(a, Fraction) and isinstance(b, Fraction)
    return rounded(abs(a - b) if a_negative == b_negative else a + b)


def minimum(value: Value, most: Fraction) -> Value:
    """The minimum or the clamped value; NaN stays NaN."""
    return most if value is Special.INF or (isinstance(value, Fraction) and value > most) else value


def clamp(value: Value, least: Fraction, most: Fraction) -> Value:
    """The minimum or the clamped value; NaN stays NaN."""
    value = minimum(value, most)
    return max(value, least) if isinstance(value, Fraction) else value
