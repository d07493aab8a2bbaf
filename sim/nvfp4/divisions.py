"""Long divisions of a scale by a constant of a tensor, which compare remainder and divisor at all distances. Quotients
are what numbers are divided by in encoders to NVFP4 of the order `Order.COMPRESSED_TENSORS`, and factors in decoders of
the convention `Convention.DIVISOR`.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np

from ...models.arrays.codes import code_values
from ...spec import E4M3, FP32
from ..stimuli.ties import SIGNIFICAND

LEAST, END = 1 << FP32.man_bits, 2 << FP32.man_bits
"""The smallest significand, and what is beyond all."""
DIGITS = SIGNIFICAND + 2
"""Bits of the quotient, with two for its rounding."""
BESIDE = 16
"""Distances below this are all found."""
CHUNK = 1 << 16
"""Divisors at a time."""
TRIED = 1 << 18
"""Divisions of which some are kept."""
COPIES = 2

Division = tuple[np.ndarray, np.ndarray]
"""Codes of scales, and significands of constants."""


def divisions(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n,) of scales, and constants (n,) from 1 to 2."""
    scales, d = _nearest()
    fields = rng.integers(1, (1 << E4M3.exp_bits) - 1, scales.size)
    kept = [(fields << E4M3.man_bits | scales, d)]
    kept += [part(rng) for part in (_by_any, _by_large) for _ in range(COPIES)]
    codes, significands = (np.concatenate(some) for some in zip(*kept))
    return codes, np.ldexp(significands, -FP32.man_bits).astype(np.float32)


@lru_cache
def _nearest() -> Division:
    """All divisions of scales from 1 to 2 whose remainder is nearer than `BESIDE` to zero or the divisor after a digit.
    The scales are given by their fractions.
    """
    kept, dividends = [], _dividends(np.arange(1, 2, 2.0**-E4M3.man_bits))
    for start, (scale, dividend) in product(range(LEAST, END, CHUNK), enumerate(dividends)):
        d = np.arange(start, start + CHUNK, dtype=np.uint32)
        left = np.full(CHUNK, dividend, np.uint32)
        for _ in range(DIGITS):
            step = left << 1
            above = step - d  # more than all numbers, if it is negative
            left = np.minimum(step, above)
            found = np.flatnonzero(above + BESIDE < 2 * BESIDE)
            kept.append(np.stack([np.full(found.size, scale), d[found]]))
    scales, divisors = np.unique(np.concatenate(kept, axis=1), axis=1)
    return scales, divisors


def _by_any(rng: np.random.Generator) -> Division:
    return _of_each_distance(rng, rng.integers(LEAST, END, TRIED))


def _by_large(rng: np.random.Generator) -> Division:
    """By numbers at any distance from the largest, where remainders soon have too many bits."""
    return _of_each_distance(rng, END - 1 - (rng.integers(0, LEAST, TRIED) >> rng.integers(0, SIGNIFICAND, TRIED)))


def _of_each_distance(rng: np.random.Generator, d: np.ndarray) -> Division:
    """For each digit and each length of the distance between remainder and divisor, a division whose digit is 0, one
    whose digit is 1, and one whose remainder would have too many bits after the last digit, if this digit were 0.
    """
    codes = rng.integers(1, E4M3.max_code + 1, TRIED)
    left, kept = _dividends(code_values(E4M3)[codes]), []
    for place in reversed(range(DIGITS)):
        step = 2 * left
        digit, length = step >= d, np.frexp(abs(step - d))[1]
        grows = d + (step - d << place) >= END
        kept.append(np.unique((length * 3 + digit + (digit & grows)).astype(np.uint8), return_index=True)[1])
        left = np.where(digit, step - d, step)
    rows = np.unique(np.concatenate(kept))
    return codes[rows], d[rows]


def _dividends(scales: np.ndarray) -> np.ndarray:
    """The significand of each scale, below all significands of constants."""
    return (np.frexp(scales)[0] * LEAST).astype(np.int64)
