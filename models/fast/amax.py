"""Largest magnitude of each block, as float32 bit patterns.

Patterns of non-negative floats are ordered like their values, so the maximum is taken on integers.
"""

from __future__ import annotations

import numpy as np


def block_amax(magnitudes: np.ndarray, block_size: int) -> np.ndarray:
    """Maximum of each run of ``block_size`` patterns: (n,) uint32 -> (n / block_size,) uint32.

    Short runs are halved pair by pair, because NumPy's reduction has an overhead for every run.
    """
    if block_size >= 32:
        return np.maximum.reduceat(magnitudes, np.arange(0, magnitudes.size, block_size))
    while block_size > 1:
        magnitudes = np.maximum(magnitudes[0::2], magnitudes[1::2])
        block_size //= 2
    return magnitudes
