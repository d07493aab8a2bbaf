"""Binary32 arithmetic on magnitudes, by rational numbers: an exact operation, then one rounding.

A value is a `Fraction` >= 0, or a `Special`. IEEE 754-2019, section 4.3.1 (to nearest, ties to even), section 6.2 (an
operand that is NaN is the result) and section 7.2 (invalid operations).
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction

from ...spec import FP32, Number
from .encode import fp32


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
