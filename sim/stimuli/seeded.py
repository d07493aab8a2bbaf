"""Seeded random blocks, biased to hard cases, and random bits for stochastic rounding."""

from __future__ import annotations

import numpy as np

from ...models.arrays.source import narrow
from ...spec import Encode, Operation
from .boundary import boundary_fractions
from .source import Source, depth


def random_blocks(numerics: Encode, blocks: int, seed: int) -> np.ndarray:
    """Seeded blocks, biased to hard cases.

    A third is normally distributed, as in real tensors. A third has exponents around a random maximum, and fractions
    at the boundaries. A third is any bit pattern, half of these with neither NaN nor Inf.
    """
    rng, f, size = np.random.default_rng(seed), Source(numerics), numerics.block_size
    kind = rng.integers(0, 6, blocks)
    patterns = rng.integers(0, 1 << f.source.bits, (blocks, size), dtype=np.uint64).astype(f.dtype)
    plain = kind <= 1
    exponents = rng.integers(1, f.special - 1, (blocks, 1))
    gaussian = rng.standard_normal((int(plain.sum()), size), dtype=np.float32)
    patterns[plain] = narrow(gaussian.view(np.uint32), f.source).view(f.dtype)
    hard = (kind == 2) | (kind == 3)
    maxima = np.where(rng.random((blocks, 1)) < 0.25, rng.integers(0, min(40, f.special), (blocks, 1)), exponents)[hard]
    exponent = np.maximum(maxima - rng.integers(0, depth(numerics), (len(maxima), size)), 0)
    fraction = rng.choice(boundary_fractions(numerics), (len(maxima), size))
    patterns[hard] = f.pattern(exponent, fraction) | (patterns[hard].astype(np.int64) & f.negative)
    finite = kind == 4
    numbers = patterns[finite]
    lower = numbers & f.dtype.type(~(1 << f.source.man_bits) & (1 << f.source.bits) - 1)
    patterns[finite] = np.where(numbers & f.infinity == f.infinity, lower, numbers)
    return patterns


def random_bits(numerics: Operation, shape: tuple[int, ...], seed: int) -> np.ndarray | None:
    """Seeded random bits for the elements of blocks, with all zeros and all ones more often; None if the rounding takes
    no random bits.
    """
    if not numerics.random_bits:
        return None
    rng, largest = np.random.default_rng(seed), (1 << numerics.random_bits) - 1
    drawn, kind = rng.integers(0, largest + 1, shape, np.uint16), rng.integers(0, 16, shape)
    return np.where(kind == 0, 0, np.where(kind == 1, largest, drawn)).astype(np.uint16)
