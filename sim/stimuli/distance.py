"""Every distance between a number and its maximum, and every few bits that may be left below a tie.

Tables of a few bits decide how far a number is below the maximum and whether anything is left of it: one wrong entry
shows only where a certain digit of both exponents, or a certain group of bits, meets zeros everywhere else.
"""

from __future__ import annotations

import numpy as np

from ...spec import Encode
from .source import Source, depth

__all__ = ["distance_blocks"]

GROUP = 4
"""Neighbouring bits below a tie of which every combination occurs."""
TIES = 1 << 17


def distance_blocks(numerics: Encode) -> np.ndarray:
    """Numbers of every exponent under maxima of every exponent, and ties of every distance with groups of bits below,
    with seeded fractions and signs: (n, block_size) patterns.
    """
    return np.concatenate([_exponents(numerics), _ties(numerics)])


def _blocks(numerics: Encode, largest: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Blocks of numbers under maxima, (n,) patterns each: a maximum of every group of equal ones in lane 0."""
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
    upper, lower = np.tril_indices(f.special)
    fractions = rng.integers(0, f.fraction_mask + 1, len(lower)) & np.where(upper == lower, 0, f.fraction_mask)
    numbers = f.pattern(lower, fractions) | rng.integers(0, 2, len(lower)) * f.negative
    largest = f.pattern(np.arange(f.special), rng.integers(0, f.fraction_mask + 1, f.special))
    return _blocks(numerics, largest[upper], numbers)


def _ties(numerics: Encode) -> np.ndarray:
    """Numbers halfway between two codes, the lower one even, with a group of bits below."""
    f, rng, element = Source(numerics), np.random.default_rng(3), numerics.block.element
    man_bits, lowest = f.source.man_bits, element.emax - element.emin
    bottom = np.arange(min(2 * max(element.emax, element.bias) + 3, f.special))  # where numbers may be subnormal
    anchors = np.concatenate([bottom, rng.integers(0, f.special, len(bottom))])
    maxima = f.pattern(anchors, rng.integers(0, f.fraction_mask + 1, len(anchors)))
    of = rng.integers(0, len(anchors), TIES)
    distance = rng.integers(1, depth(numerics) + 1, TIES)
    exponent = np.maximum(anchors[of] - distance, 0)
    leading = np.where(exponent > 0, man_bits, rng.integers(0, man_bits, TIES))  # place of the leading one
    lost = np.where(exponent > 0, np.maximum(distance - lowest, 0), 0) + rng.choice([-1, 0, 0, 1], TIES)
    guard = np.clip(leading - element.fraction_bits - 1 + lost, 0, man_bits - 1)
    group = rng.integers(0, 1 << GROUP, TIES) << rng.integers(0, guard + 1)
    high = rng.integers(0, 1 << man_bits, TIES) >> guard + 2 << guard + 2
    fraction = (high | 1 << guard | group & (1 << guard) - 1) & f.fraction_mask
    fraction = np.where(exponent > 0, fraction, fraction & (1 << leading) - 1 | 1 << leading)
    numbers = f.pattern(exponent, fraction) | rng.integers(0, 2, TIES) * f.negative
    return _blocks(numerics, maxima[of], numbers)
