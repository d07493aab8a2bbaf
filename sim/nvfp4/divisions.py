"""Input blocks for NVFP4 encoders of the order `Order.COMPRESSED_TENSORS`, whose divisor of the numbers is a quotient
s / d. They try the comparisons of a long division with remainders at all distances from the divisor.
"""

from __future__ import annotations

import numpy as np

from ...models.arrays.codes import code_values
from ...spec import FP32, Nvfp4Encode
from ..transactions import Transactions
from .factors import under

SIGNIFICAND = FP32.man_bits + 1
LEAST, END = 1 << FP32.man_bits, 2 << FP32.man_bits
"""The smallest significand, and what is beyond all."""
DIGITS = SIGNIFICAND + 2
"""Bits of the quotient, with two for its rounding."""
TRIED, MORE = 1 << 19, 1 << 22
"""Divisions of which some are kept."""
COPIES = 4
NEAREST = 64
"""Divisions next to a rounding."""

Division = tuple[np.ndarray, np.ndarray]
"""Scales s, and significands d of constants."""


def divisions(rules: Nvfp4Encode, rng: np.random.Generator) -> Transactions:
    """Blocks of `COPIES` of all divisions `_of_each_distance` and of those `_next_to_roundings`."""
    scales = code_values(rules.block.scale)[1 : rules.scale_format.max_code + 1].astype(np.float32)
    kept = [part(scales, rng) for part in (_of_each_distance, _next_to_roundings) for _ in range(COPIES)]
    s, d = (np.concatenate(some) for some in zip(*kept))
    return under(rules, s, np.ldexp(d, -FP32.man_bits).astype(np.float32))


def _of_each_distance(scales: np.ndarray, rng: np.random.Generator) -> Division:
    """For each digit of s / d and each length of the distance between the remainder and d, a division whose digit is 0,
    one whose digit is 1, and one with a remainder of one bit more than d. Half of the divisors are next to the largest.
    """
    s, d = rng.choice(scales, TRIED), rng.integers(LEAST, END, TRIED)
    d[::2] = END - 1 - (rng.integers(0, LEAST, TRIED // 2) >> rng.integers(0, SIGNIFICAND, TRIED // 2))
    left, kept = _dividend(s), []
    for _ in range(DIGITS):
        step = 2 * left
        digit, length = step >= d, np.frexp(abs(step - d))[1]
        kept.append(np.unique((length * 3 + digit + (step >= END)).astype(np.uint8), return_index=True)[1])
        left = np.where(digit, step - d, step)
    rows = np.unique(np.concatenate(kept))
    return s[rows], d[rows]


def _next_to_roundings(scales: np.ndarray, rng: np.random.Generator) -> Division:
    """The divisions that are next to halfway between two numbers, on both sides."""
    s, d = rng.choice(scales, MORE), rng.integers(LEAST, END, MORE)
    dividend = _dividend(s) << DIGITS
    quotient, rest = np.divmod(dividend << (dividend < d << SIGNIFICAND), d)  # the last bit is a half
    rows = np.argpartition(np.where(quotient & 1, rest, d - rest), NEAREST - 1)[:NEAREST]
    return s[rows], d[rows]


def _dividend(s: np.ndarray) -> np.ndarray:
    return (np.frexp(s)[0] * LEAST).astype(np.int64)
