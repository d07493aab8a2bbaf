"""Long divisions of a scale by a constant of a tensor, which compare remainder and divisor at all distances. Quotients
are what numbers are divided by in encoders to NVFP4 of the order `Order.COMPRESSED_TENSORS`, and factors in decoders of
the convention `Convention.DIVISOR`.
"""

from __future__ import annotations

import numpy as np

from ...models.arrays.codes import code_values
from ...spec import FP32, FloatFormat

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
"""Codes of scales, and significands of constants."""


def divisions(scale: FloatFormat, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n,) of scales, and constants (n,) from 1 to 2: `COPIES` of the divisions of each kind."""
    every = (_of_each_distance, _by_large_divisors, _next_to_roundings)
    kept = [part(scale, rng) for part in every for _ in range(COPIES)]
    codes, significands = (np.concatenate(some) for some in zip(*kept))
    return codes, np.ldexp(significands, -FP32.man_bits).astype(np.float32)


def _of_each_distance(scale: FloatFormat, rng: np.random.Generator) -> Division:
    """Divisions by any number."""
    return _chosen(scale, rng.integers(1, scale.max_code + 1, TRIED), rng.integers(LEAST, END, TRIED))


def _by_large_divisors(scale: FloatFormat, rng: np.random.Generator) -> Division:
    """Divisions by numbers at any distance from the largest, where remainders soon have too many bits."""
    below = rng.integers(0, LEAST, TRIED) >> rng.integers(0, SIGNIFICAND, TRIED)
    return _chosen(scale, rng.integers(1, scale.max_code + 1, TRIED), END - 1 - below)


def _chosen(scale: FloatFormat, codes: np.ndarray, d: np.ndarray) -> Division:
    """For each digit and each length of the distance between remainder and divisor, a division whose digit is 0, one
    whose digit is 1, and one whose remainder would have too many bits after the last digit, if this digit were 0.
    """
    left, kept = _dividends(scale)[codes], []
    for place in reversed(range(DIGITS)):
        step = 2 * left
        digit, length = step >= d, np.frexp(abs(step - d))[1]
        grows = d + (step - d << place) >= END
        kept.append(np.unique((length * 3 + digit + (digit & grows)).astype(np.uint8), return_index=True)[1])
        left = np.where(digit, step - d, step)
    rows = np.unique(np.concatenate(kept))
    return codes[rows], d[rows]


def _next_to_roundings(scale: FloatFormat, rng: np.random.Generator) -> Division:
    """Divisions whose quotients are next to halfway between two numbers, on both sides."""
    codes, d = rng.integers(1, scale.max_code + 1, MORE), rng.integers(LEAST, END, MORE)
    dividend = _dividends(scale)[codes] << DIGITS
    quotient, rest = np.divmod(dividend << (dividend < d << SIGNIFICAND), d)  # the last bit is a half
    rows = np.argpartition(np.where(quotient & 1, rest, d - rest), NEAREST - 1)[:NEAREST]
    return codes[rows], d[rows]


def _dividends(scale: FloatFormat) -> np.ndarray:
    """The significand of each scale, below all significands of constants."""
    return (np.frexp(code_values(scale)[: scale.max_code + 1])[0] * LEAST).astype(np.int64)
