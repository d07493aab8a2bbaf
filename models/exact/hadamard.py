"""The exact definition of the random Hadamard transform: one block, by rational arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from ...spec import BF16, Decode, Hadamard, Number, block_format
from .decode import quiet_bit, round_magnitude


def rotate_block(patterns: Sequence[int], rules: Hadamard) -> list[int]:
    """Transform ``rules.size`` numbers, as patterns of BF16.

    >>> [hex(pattern) for pattern in rotate_block([0x3F80] + [0] * 15, Hadamard(signs=0))][:2]
    ['0x3e80', '0x3e80']
    """
    numbers = [BF16.decode(pattern) for pattern in patterns]
    terms = ([_with_sign(one, rules.is_negative(i, j)) for i, one in enumerate(numbers)] for j in range(rules.size))
    return [_sum(signed, rules.size) for signed in terms]


def _with_sign(number: Number, is_negated: bool) -> Number:
    return number._replace(negative=number.negative ^ is_negated)


def _sum(terms: Sequence[Number], size: int) -> int:
    """The pattern of a sum divided by the root of ``size``."""
    infinities = {term.negative for term in terms if term.kind == "inf"}
    if any(term.kind == "nan" for term in terms) or len(infinities) == 2:
        return BF16.inf_field | quiet_bit(BF16)
    if infinities:
        return BF16.inf_field | (BF16.sign_mask if infinities.pop() else 0)
    total = sum((term.value for term in terms), Fraction(0))
    if not total:
        return 0
    magnitude = round_magnitude(
        _root(total**2 / size), Decode(block=block_format("e2m1"), destination=BF16), Fraction(0)
    )
    return magnitude | (BF16.sign_mask if total < 0 else 0)


ROOT_BITS = 600
"""Bits after the binary point of an irrational root. The root and the middle between two BF16 numbers
are further apart: their squares are different multiples of 2**-266 / 128, and their sum is below 2**132.
"""


def _root(square: Fraction) -> Fraction:
    """The square root, exact if it is rational, otherwise cut off after `ROOT_BITS` bits."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if root**2 == square:
        return root
    return Fraction(isqrt((square.numerator << 2 * ROOT_BITS) // square.denominator), 1 << ROOT_BITS)
