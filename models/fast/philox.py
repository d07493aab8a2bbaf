"""Random bits of Transformer Engine for stochastic rounding to NVFP4, from the counter-based generator Philox4x32-10
(Salmon and others, Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011).

A stream has a seed and a subsequence. In the kernels each thread has its own subsequence. A block of 16 elements takes
four words of 32 bits, and each element takes one byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ...spec.catalogue import excerpt
from ..arrays.source import require_whole

ROUNDS = 10
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
INCREMENTS = 0x9E3779B9, 0xBB67AE85
"""Increments of the key after every round: the golden ratio and the square root of 3, less one."""
WORD = np.uint64(0xFFFFFFFF)

SOFTWARE_BYTES = (0, 1, 2, 3)
"""The byte of a word for each of four elements in Transformer Engine's software; 0 is the lowest."""
HARDWARE_BYTES = (0, 2, 1, 3)
"""The same for the operands of PTX cvt.rs.satfinite.e2m1x4.f32."""


def philox4x32(counters: np.ndarray, key: int) -> np.ndarray:
    """Four words (n, 4) uint32 of each counter (n, 4) uint32, the lowest word first, and a key of 64 bits.

    >>> [hex(int(word)) for word in philox4x32(np.zeros((1, 4), np.uint32), 0)[0]]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    a, b, c, d = (counters[:, i].astype(np.uint64) for i in range(4))
    low, high = key & 0xFFFFFFFF, key >> 32
    for _ in range(ROUNDS):
        first, second = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a, c = second >> np.uint64(32) ^ b ^ np.uint64(low), first >> np.uint64(32) ^ d ^ np.uint64(high)
        b, d = second & WORD, first & WORD
        low, high = (low + INCREMENTS[0]) & 0xFFFFFFFF, (high + INCREMENTS[1]) & 0xFFFFFFFF
    return np.stack([a, b, c, d], axis=1).astype(np.uint32)


def philox_random(
    shape: Sequence[int],
    seed: int,
    *,
    subsequence: int = 0,
    offset: int = 0,
    byte_order: tuple[int, ...] = SOFTWARE_BYTES,
) -> np.ndarray:
    """Random bytes (uint8) for an array whose last axis is cut into blocks of 16, for `quantize` under the rounding
    ``sr``.

    Parameters
    ----------
    shape : shape of the array; the last axis is a multiple of 16
    seed, subsequence : the stream, numbers of 64 bits
    offset : the block of the stream for the first block of the array; the others follow in order
    byte_order : the byte of a word for each of four elements

    Raises
    ------
    TypeError
        for numbers that are not integers
    ValueError
        for an incomplete block, numbers of more bits, and an invalid byte order

    >>> philox_random((1, 16), seed=7)[0, :4], philox_random((1, 16), seed=7, byte_order=HARDWARE_BYTES)[0, :4]
    (array([ 45, 122,  96, 244], dtype=uint8), array([ 45,  96, 122, 244], dtype=uint8))
    """
    if not isinstance(shape, Sequence):
        raise TypeError(f"shape must be a sequence of whole numbers, not {excerpt(shape)}")
    for name, value in (("seed", seed), ("subsequence", subsequence), ("offset", offset)):
        require_whole(name, value)
        if not 0 <= value < 1 << 64:
            raise ValueError(f"{name} must be a number of 64 bits, not {excerpt(value)}")
    if sorted(byte_order) != [0, 1, 2, 3]:
        raise ValueError(f"byte_order must have the bytes 0 to 3 in some order, not {excerpt(byte_order)}")
    if not shape or shape[-1] % 16:
        raise ValueError(f"the last axis must be a multiple of 16 long, not the shape {tuple(shape)}")
    blocks = prod(shape) // 16
    places = np.uint64(offset) + np.arange(blocks, dtype=np.uint64)
    low = np.full(blocks, subsequence & 0xFFFFFFFF, np.uint64), np.full(blocks, subsequence >> 32, np.uint64)
    counters = np.stack([places & WORD, places >> np.uint64(32), *low], axis=1).astype(np.uint32)
    words = philox4x32(counters, int(seed))
    bytes_ = words.astype("<u4").view(np.uint8).reshape(-1, 4)[:, list(byte_order)]
    return np.ascontiguousarray(bytes_).reshape(tuple(shape))
