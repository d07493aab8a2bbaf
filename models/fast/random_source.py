"""The numbers of the emitted source of random bits, so that a run of the hardware can be repeated."""

from __future__ import annotations

import numpy as np

from ...spec import Encode
from ...spec.operations.random_source import SHIFTS, initial_states


def source_numbers(numerics: Encode, blocks: int, seed: int = 0) -> np.ndarray:
    """Random bits for each element of consecutive blocks: (blocks, block_size) uint16, as `quantize` takes them.

    Block i is the one that is converted i enabled clock cycles after reset.

    >>> from mxcast.spec import numerics
    >>> source_numbers(numerics("e4m3", rounding="sr", random_bits=4), 1000).shape
    (1000, 32)
    """
    count = numerics.random_bits
    if not count:
        raise ValueError(f"random bits are for the rounding sr, not for {numerics.rounding}")
    state = np.array(initial_states(numerics.block_size * count, seed), np.uint32)
    states = np.empty((blocks, state.size), "<u4")
    for block in range(blocks):
        states[block] = state
        for shift in SHIFTS:
            state = state ^ (state << np.uint32(shift) if shift > 0 else state >> np.uint32(-shift))
    bits = np.unpackbits(states.view(np.uint8), axis=1, bitorder="little")[:, : numerics.block_size * count]
    weights = np.left_shift(1, np.arange(count)).astype(np.uint16)
    return (bits.reshape(blocks, numerics.block_size, count) * weights).sum(axis=2, dtype=np.uint16)
