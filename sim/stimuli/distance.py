"""Blocks for every distance between a number and its maximum, and for every few bits below a tie.

LUTs of a few bits decide how far a number is below the maximum and whether anything is left of it. One wrong entry
shows only if a certain digit of both exponents, or a certain group of bits, meets zeros everywhere else.
"""

from __future__ import annotations

import numpy as np

from ...models import quantize
from ...models.arrays.source import DTYPES
from ...spec import E8M0, Encode
from .source import Source

ROUNDS = 4
"""Numbers for each pair of exponents."""
GROUP = 6
"""Neighbouring bits below a tie of which every combination occurs; a LUT has no more inputs."""


def distance_blocks(numerics: Encode) -> np.ndarray:
    """Numbers of every exponent under maxima of every exponent, and ties of every distance with groups of bits below,
    with seeded fractions and signs: (n, block_size) patterns.
    """
    return np.concatenate([_exponents(numerics), _ties(numerics)])


def _blocks(numerics: Encode, largest: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Blocks of numbers under maxima, (n,) patterns each; numbers with equal maxima share blocks with the maximum in
    lane 0.
    """
    f, others = Source(numerics), numerics.block_size - 1
    order = np.argsort(largest, kind="stable")
    starts = np.flatnonzero(np.diff(largest[order], prepend=-1))
    parts = np.split(numbers[order], starts[1:])
    rows = [np.resize(part, (-(-len(part) // others), others)) for part in parts]
    maxima = np.repeat(largest[order][starts], [len(row) for row in rows])
    return np.column_stack([maxima, np.concatenate(rows)]).astype(f.dtype)


def _exponents(numerics: Encode) -> np.ndarray:
    """All pairs of exponents."""
    f, rng = Source(numerics), np.random.default_rng(2)
    upper, lower = np.tile(np.tril_indices(f.special), ROUNDS)
    fractions = rng.integers(0, f.fraction_mask + 1, len(lower)) & np.where(upper == lower, 0, f.fraction_mask)
    numbers = f.pattern(lower, fractions) | rng.integers(0, 2, len(lower)) * f.negative
    largest = f.pattern(np.arange(f.special), rng.integers(0, f.fraction_mask + 1, f.special))
    return _blocks(numerics, largest[upper], numbers)


def _ties(numerics: Encode) -> np.ndarray:
    """Numbers halfway between two codes, the lower one even, with every group of bits below. Their maxima are small, so
    that numbers may be subnormal, and of a usual size.
    """
    f, rng, element, size = Source(numerics), np.random.default_rng(3), numerics.block.element, numerics.block_size
    man_bits, bias = f.source.man_bits, f.source.bias
    bottom = range(1, min(2 * max(element.emax, element.bias) + 3, f.special))
    anchors = np.array([*bottom, bias])
    alone = np.zeros((len(anchors), size), f.dtype)
    alone[:, 0] = maxima = f.pattern(anchors, np.zeros_like(anchors))
    rules = numerics.replace(rounding="rne")  # scales do not depend on it
    scales = quantize(alone.view(DTYPES[f.source.name]), rules).scales.reshape(-1) - np.int64(E8M0.bias)
    largest, numbers = [], []
    for anchor, maximum, scale in zip(anchors, maxima, scales):
        for leading in range(scale + element.emin - element.fraction_bits - 1, anchor - bias):
            exponent = max(leading + bias, 0)
            lowest = max(exponent, 1) - bias - man_bits  # places are powers of two, like ``leading``
            guard = max(leading, scale + element.emin) - element.fraction_bits - 1 - lowest
            if guard < 1 or leading < lowest:
                continue
            groups = np.unique((np.arange(1 << GROUP) << np.arange(guard)[:, None]) & (1 << guard) - 1)
            one = 1 << leading - lowest
            high = rng.integers(0, one, len(groups)) >> guard + 2 << guard + 2
            patterns = (one | high | 1 << guard | groups) - (exponent > 0) * (1 << man_bits)
            numbers.append(f.pattern(exponent, patterns) | rng.integers(0, 2, len(groups)) * f.negative)
            largest.append(np.full(len(groups), maximum))
    if not numbers:  # numbers are no longer than codes
        return np.empty((0, size), f.dtype)
    return _blocks(numerics, np.concatenate(largest), np.concatenate(numbers))
