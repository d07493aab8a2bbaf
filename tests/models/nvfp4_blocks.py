"""Blocks for tests of NVFP4: random ones, and the edge cases of every order."""

from __future__ import annotations

import numpy as np

NAN, INF, NEGATIVE, LARGEST = 0x7FC00000, 0x7F800000, 0x80000000, 0x7F7FFFFF


def edges() -> np.ndarray:
    """(n, 16) float32: zeros of both signs, NaN and Inf of both signs, subnormal and largest numbers, wide ranges."""
    ramp = np.arange(1, 17, dtype=np.float32).view(np.uint32)
    rows = [
        [0] * 16,
        [NEGATIVE] * 16,
        [NAN] * 16,
        [NAN, NAN | NEGATIVE, *ramp[2:]],
        [0x7F800001, *ramp[1:]],
        [INF, *ramp[1:]],
        [INF | NEGATIVE, NEGATIVE, *ramp[2:]],
        [INF, NAN, *ramp[2:]],
        [NAN | NEGATIVE, NEGATIVE] + [0] * 14,
        [1] + [0] * 15,
        [1, 0x80000001, 0x007FFFFF, 0x00800000] * 4,
        [LARGEST] * 16,
        [LARGEST | NEGATIVE] + [1] * 15,
        [LARGEST, *ramp[1:]],
        [i << 27 for i in range(16)],
        [NEGATIVE | i << 27 for i in range(16)],
    ]
    return np.array(rows, np.uint32).view(np.float32)


def random_blocks(count: int, seed: int) -> np.ndarray:
    """(n, 16) float32: of N(0,1) at several magnitudes, of BF16 numbers, and any patterns."""
    random = np.random.default_rng(seed)
    scaled = random.normal(size=(count, 16)) * np.exp2(random.integers(-20, 4, (count, 1)))
    x = scaled.astype(np.float32)
    x[1::4] = (x[1::4].view(np.uint32) & 0xFFFF0000).view(np.float32)
    x[3::16] = random.integers(0, 1 << 32, x[3::16].shape, np.uint32).view(np.float32)
    return x


AMAXIMA = tuple(map(float, np.array([0, 1e-44, 1e-38, 2.0**-126, 1e-30, 0.3, 1, 10, 1e30, 3.4e38, np.inf], np.float32)))
"""Largest magnitudes of a tensor: zero, those that clamp or underflow a constant, usual ones, and Inf."""


def ties(numerics_max: int = 448) -> np.ndarray:
    """(n, 16) float32: numbers at and next to every boundary of an element, under a scale of 1 where a is 2688."""
    boundaries = np.array([0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6], np.float32).view(np.uint32)
    rows = [[0x40C00000, *(int(bits) + step & 0xFFFFFFFF for step in (0, 1) for bits in boundaries[1:8]), NEGATIVE]]
    rows.append([0x40C00000, *(int(bits) - 1 | NEGATIVE for bits in boundaries[1:]), *[0] * 7])
    return np.array(rows, np.uint32).view(np.float32)


def pairs() -> tuple[np.ndarray, np.ndarray]:
    """All 270,400 pairs (a, b) of BF16 numbers with 1 <= a < 2, and b not above a by 0 to 16 binades: float32."""
    fraction = np.arange(128, dtype=np.uint32)
    a = np.repeat(127 << 7 | fraction, 128)
    found = []
    for distance in range(17):
        b = np.tile((127 - distance) << 7 | fraction, 128)
        found.append(np.stack([a, b])[:, b <= a])
    a, b = np.concatenate(found, axis=1).astype(np.uint32) << 16
    return a.view(np.float32), b.view(np.float32)
