"""Sweeps over all source patterns and all fractions at every distance below a maximum, or over an even share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...spec import Encode
from .source import Source, depth

STRATUM = 1 << 16
"""Consecutive blocks of a sweep that are made at a time."""


@dataclass(frozen=True)
class _Sweep:
    """``patterns`` consecutive source patterns. A block has block_size neighbours, or one fewer with an ``anchor``, the
    biased exponent of a power of two that is the maximum of every block, in lane 0."""

    anchor: int | None
    patterns: int
    lanes: int

    @property
    def blocks(self) -> int:
        return -(-self.patterns // self.lanes)


def _sweeps(numerics: Encode) -> list[_Sweep]:
    source, element = numerics.source, numerics.block.element
    bottom = max(element.emax, element.bias) + 1  # the first scale that is not clamped: source subnormals still count
    anchors = (bottom, source.bias, (1 << source.exp_bits) - 2)
    exponents = [min(anchor, depth(numerics)) + 1 for anchor in anchors]
    return [
        _Sweep(None, 1 << source.bits, numerics.block_size),
        *(
            _Sweep(anchor, count << (source.man_bits + 1), numerics.block_size - 1)
            for anchor, count in zip(anchors, exponents)
        ),
    ]


def _sweep_blocks(sweep: _Sweep, numerics: Encode, starts: Sequence[int], run: int) -> np.ndarray:
    """Runs of consecutive blocks of a sweep, one from each start."""
    f = Source(numerics)
    first = np.asarray(starts, np.int64)[:, None] * sweep.lanes
    index = first + np.arange(run * sweep.lanes, dtype=np.int64)
    if (max(starts) + run) * sweep.lanes > sweep.patterns:
        index %= sweep.patterns  # the last block is completed from the beginning
    patterns = index.astype(f.dtype).reshape(-1, sweep.lanes)
    if sweep.anchor is None:
        return patterns
    blocks = np.empty((len(patterns), numerics.block_size), f.dtype)
    blocks[:, 0] = f.pattern(sweep.anchor, 0)
    signs, lowest = patterns << f.dtype.type(f.source.bits - 1), f.pattern(max(sweep.anchor - depth(numerics), 0), 0)
    patterns >>= f.dtype.type(1)
    patterns += f.dtype.type(lowest)
    np.bitwise_or(patterns, signs, out=blocks[:, 1:])
    return blocks


def exhaustive_blocks(numerics: Encode, done: int = 0) -> Iterator[np.ndarray]:
    """All source patterns, and every fraction and sign at every distance below a maximum that can change a code.

    First each pattern once, block_size neighbours to a block, also NaN, Inf, subnormals and both zeros. Then sweeps
    with a power of two in lane 0, at the bottom (the first scale that is not clamped), middle and top of the range: all
    patterns of both signs from the end of its binade down to `depth` binades below, where codes are zero, or to zero.
    The power of two is the maximum, except in blocks of its own binade. The last block of a sweep is completed from its
    beginning. The first ``done`` blocks are left out; the others come in the same arrays, except the first.
    """
    for sweep in _sweeps(numerics):
        first, done = min(done, sweep.blocks), max(done - sweep.blocks, 0)
        while first < sweep.blocks:
            after = min((first // STRATUM + 1) * STRATUM, sweep.blocks)
            yield _sweep_blocks(sweep, numerics, [first], after - first)
            first = after


def exhaustive_total(numerics: Encode) -> int:
    """The number of blocks of `exhaustive_blocks`."""
    return sum(sweep.blocks for sweep in _sweeps(numerics))


def stratified_blocks(numerics: Encode, seed: int, share: int = 64) -> Iterator[np.ndarray]:
    """One block in ``share`` of `exhaustive_blocks`: a run at a seeded place in every stratum of 65,536 blocks."""
    rng = np.random.default_rng(seed)
    for sweep in _sweeps(numerics):
        run = min(STRATUM // share, sweep.blocks)
        starts = [first + int(rng.integers(0, STRATUM - run + 1)) for first in range(0, sweep.blocks, STRATUM)]
        starts = [min(start, sweep.blocks - run) for start in starts]
        few = max(STRATUM // run, 1)
        for group in range(0, len(starts), few):
            yield _sweep_blocks(sweep, numerics, starts[group : group + few], run)
