"""Operands of a binary32 operation whose exact result is a tie, or as near to one as possible. Whole numbers solve
them.

A limit is a number at which a later rounding decides. Its odd part M is short, because it is halfway between two
numbers of a short format. The numbers halfway between the limit and its neighbours in binary32 are called halves. Their
odd parts are (M << n) + 1 and (M << n) - 1. A product is a half if its factors are divisors of it. A quotient u / v
never is. It comes nearest if u * 2**n and the half times v differ by a small odd number, which a modular inverse
solves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice, product

import numpy as np

from ...spec import FP32

SIGNIFICAND = FP32.man_bits + 1
RESTS = 1024
"""Limit of the rests of near quotients."""
AROUND = np.arange(-8, 9)
"""Last places from the first guess that `inverted` tries."""
SMALLEST = 2.0 ** (FP32.emin - FP32.man_bits)
"""The smallest binary32 number."""


def halves(limit: float) -> tuple[float, float]:
    """The numbers halfway between a limit and the binary32 numbers below and above.

    >>> [number - 29 for number in halves(29)]
    [-9.5367431640625e-07, 9.5367431640625e-07]
    """
    one = np.float32(limit)
    below, above = (float(one) + float(np.nextafter(one, np.float32(side))) for side in (0, np.inf))
    return below / 2, above / 2


def odd_part(number: float) -> int:
    """The odd number that is this number times a power of two.

    >>> odd_part(0.75)
    3
    """
    numerator, _ = float(number).as_integer_ratio()
    return numerator // (numerator & -numerator)


@lru_cache
def products(half: float, bits: tuple[int, int]) -> np.ndarray:
    """(n, 2) odd significands u and v, of at most so many bits, whose product is a half times a power of 2.

    >>> products(halves(5)[1], (24, 8)).tolist()
    [[203607, 103], [776723, 27], [2330169, 9], [6990507, 3]]
    """
    odd = odd_part(half)
    small = np.arange(1, int(odd**0.5) + 1, 2)
    small = small[odd % small == 0]
    pairs = np.stack([small, odd // small], axis=1)
    every = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    return every[(every < 1 << np.array(bits)).all(axis=1)]


@lru_cache
def quotients(half: float, count: int) -> np.ndarray:
    """(n, 2) significands u and v of at most 24 bits. u / v is nearest to a half times a power of two:
    at most ``count`` pairs for each side and each length of v.

    >>> quotients(halves(29)[1], 1).tolist()[:2]
    [[13303803, 7340029], [5701634, 3145729]]
    """
    ways = product((SIGNIFICAND, SIGNIFICAND + 1), (-1, 1))
    return np.array([pair for way in ways for pair in islice(_pairs(odd_part(half), *way), count)])


def _pairs(half: int, shift: int, sign: int) -> Iterator[tuple[int, int]]:
    """u and v with half * v = (u << shift) + rest, for small odd rests of a sign."""
    inverse = pow(half, -1, 1 << shift)
    for rest in range(sign, sign * RESTS, 2 * sign):
        v = rest * inverse % (1 << shift)
        u = half * v - rest >> shift
        if 0 < u < 1 << SIGNIFICAND and v < 1 << SIGNIFICAND:
            yield u, v


def divided_by(constant: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """``count`` binary32 numbers whose quotient by an even constant is halfway between two subnormal numbers."""
    bits = rng.integers(2, SIGNIFICAND - (constant // 2).bit_length(), count)
    odd = rng.integers(1, 1 << bits - 1) * 2 + 1
    return (odd * (constant // 2) * SMALLEST).astype(np.float32)


def inverted(function: Callable[[np.ndarray], np.ndarray], wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normal binary32 arguments (n,) at which a function is near to wanted results, and (n,) whether it gives them.
    Except for roundings the function must be proportional to its argument, or to the reciprocal of it.
    """
    with np.errstate(all="ignore"):
        one, two = function(np.array([1, 2], np.float32)).astype(np.float64)
        significands, exponents = np.frexp(wanted / one if two > one else one / wanted)
        patterns = significands.astype(np.float32).view(np.uint32)[:, None] + AROUND.astype(np.uint32)
        arguments = patterns.view(np.float32)
        has_it = np.frexp(function(arguments))[0] == np.frexp(wanted)[0][:, None]
        rows = np.arange(len(wanted)), has_it.argmax(axis=1)
        return np.ldexp(arguments[rows].astype(np.float64), exponents), has_it[rows]


def shifted(numbers: np.ndarray, about: np.ndarray) -> np.ndarray:
    """Binary32 numbers times powers of two that bring them near to others."""
    with np.errstate(all="ignore"):
        return np.ldexp(numbers, np.rint(np.log2(about / numbers)).astype(int)).astype(np.float32)
