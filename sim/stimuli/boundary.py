"""Neighbours of every boundary at which a rounding or scale decision changes."""

from __future__ import annotations

import numpy as np

from ...spec import FP32, Encode
from .scale_steps import last_fraction
from .source import Source, depth

MANY = 1024
"""The most boundaries of a binade of which all are tried."""


def boundary_blocks(numerics: Encode) -> np.ndarray:
    """Neighbours of every rounding boundary, under maxima at the bottom, middle and top of the range."""
    f, fractions = Source(numerics), boundary_fractions(numerics)
    blocks = []
    for anchor in _anchors(numerics):
        for position, maximum_fraction in enumerate(scale_fractions(numerics)):
            exponents = list(range(max(anchor - depth(numerics), 0), anchor + 1))
            if position:  # the first round tries all elements, which do not depend on the maximum
                exponents = [anchor, max(anchor - 1, 0)]
            payload = np.concatenate([f.pattern(e, fractions) for e in exponents])
            maximum = f.pattern(anchor, maximum_fraction)
            payload = payload[payload <= max(maximum, f.pattern(anchor, 0) - 1)]
            signed = np.concatenate([payload, payload | f.negative]) if payload.size else np.zeros(1, np.int64)
            # neighbours go into different blocks, so that the lanes of a block differ
            stirred = np.random.default_rng(anchor).permutation(signed)
            blocks.append(with_maximum(stirred, maximum | (f.negative if position % 2 else 0), numerics.block_size))
    return np.concatenate(blocks).astype(f.dtype)


def _anchors(numerics: Encode) -> list[int]:
    """Biased exponents of the block's maximum: the bottom, where the scale clamps, the middle and the top."""
    source, element = numerics.source, numerics.block.element
    clamp = max(element.emax, element.bias)
    top = (1 << source.exp_bits) - 2
    chosen = {
        0,
        1,
        2,
        clamp // 2,
        clamp - 1,
        clamp,
        clamp + 1,
        clamp + 2,
        clamp + element.bias,
        source.bias,
        top - 1,
        top,
        element.emax,
        element.bias,
    }
    return sorted(e for e in chosen if 0 <= e <= top)


def boundary_fractions(numerics: Encode) -> np.ndarray:
    """Every fraction at which a rounding or scale decision can change, with both neighbours.

    Decisions depend on the leading bits down to the guard bit, on a sticky bit below it, and on the fraction of the
    largest element, which has no more bits. So they change at multiples of half a last place, or one step from them.
    For elements with more than eight fraction bits the fractions are a choice.
    """
    man_bits, kept = numerics.source.man_bits, numerics.block.element.fraction_bits
    step = 1 << max(man_bits - kept - 1, 0)
    grid = np.arange(0, (1 << man_bits) + 1, step, dtype=np.int64)
    if len(grid) > MANY:  # both ends, where carries run, and some between
        between = np.random.default_rng(len(grid)).choice(grid[MANY // 4 : -MANY // 4], MANY // 2, replace=False)
        grid = np.concatenate([grid[: MANY // 4], between, grid[-MANY // 4 :]])
    around = np.concatenate([grid - 1, grid, grid + 1])
    return np.unique(around[(around >= 0) & (around < 1 << man_bits)])


def scale_fractions(numerics: Encode) -> list[int]:
    """Fractions of a maximum around which the scale goes one up, under the rule or another one: zero, the fraction of
    the largest element (up to two steps more for rules that round on the way), half a last place below the next binade,
    and where the rule itself goes one up, also among the subnormal numbers.
    """
    f, element = Source(numerics), numerics.block.element
    largest = int((element.max_value / 2**element.emax - 1) * (1 << f.source.man_bits))
    even = (1 << f.source.man_bits) - (1 << max(f.source.man_bits - element.fraction_bits - 1, 0))
    subnormal = int(element.max_value / 2 * (1 << f.source.man_bits)) if element.emax == 0 else largest
    chosen = {0, 1, *range(largest, largest + 4), even - 1, even, *range(subnormal, subnormal + 4), f.fraction_mask}
    for last in (last_fraction(numerics), last_fraction(numerics, 0)):
        if last is not None:
            last >>= FP32.man_bits - f.source.man_bits
            chosen |= {last, last + 1}
    return sorted(fraction for fraction in chosen if 0 <= fraction <= f.fraction_mask)


def with_maximum(payload: np.ndarray, maximum: int, block_size: int) -> np.ndarray:
    """Blocks of ``payload`` patterns, each with ``maximum`` in one lane, which differs from block to block."""
    per_block = block_size - 1
    padded = np.resize(payload, -(-payload.size // per_block) * per_block).reshape(-1, per_block)
    blocks = np.empty((len(padded), block_size), np.int64)
    for lane in range(block_size):
        rows = padded[lane::block_size]
        blocks[lane::block_size] = np.insert(rows, lane, maximum, axis=1)
    return blocks
