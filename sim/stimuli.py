"""Input blocks worth trying, as bit patterns: directed corners, neighbours of every boundary, and seeded random ones.

Everything is derived from the numerics, so that a new format or rule brings its own stimuli. Blocks are
(n, block_size) source patterns: uint32, or uint16 for sources of 16 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from ..models.source import narrow
from ..spec import NumberFormat, Numerics, ScaleRule

__all__ = [
    "boundary_blocks",
    "corner_blocks",
    "corner_cases",
    "depth",
    "exhaustive_blocks",
    "exhaustive_total",
    "random_bits",
    "random_blocks",
    "stratified_blocks",
]

MANY = 1024
"""Boundaries in a binade of which all are tried."""

STRATUM = 1 << 16
"""Consecutive blocks of a sweep that are made at a time."""


def depth(numerics: Numerics) -> int:
    """Distance in binades below a block's maximum from which on every element is zero.

    From the top of the element format to half its smallest number, one for a scale that is rounded up, and one for
    a value that is rounded up to the next binade; random bits reach as many binades further.
    """
    element = numerics.block.element
    return max(element.emax, element.bias) - element.lowest_exponent + 3 + numerics.random_bits


class _Source:
    """Field arithmetic of the source format."""

    def __init__(self, numerics: Numerics) -> None:
        self.source = numerics.source
        self.dtype = np.dtype(np.uint32 if self.source.bits > 16 else np.uint16)
        self.special = (1 << self.source.exp_bits) - 1
        self.fraction_mask = (1 << self.source.man_bits) - 1
        self.quiet_nan = self.pattern(self.special, 1 << (self.source.man_bits - 1))
        self.smallest_nan = self.pattern(self.special, 1)
        self.infinity = self.pattern(self.special, 0)
        self.largest = self.infinity - 1
        self.one = self.pattern(self.source.bias, 0)
        self.negative = self.source.sign_mask

    @overload
    def pattern(self, exponent: int, fraction: int) -> int: ...

    @overload
    def pattern(self, exponent: int | np.ndarray, fraction: np.ndarray) -> np.ndarray: ...

    def pattern(self, exponent: int | np.ndarray, fraction: int | np.ndarray) -> int | np.ndarray:
        return (exponent << self.source.man_bits) | fraction


def _boundary_fractions(numerics: Numerics) -> np.ndarray:
    """Every fraction at which a rounding or scale decision can change, with both neighbours.

    Decisions look at the leading bits down to the guard bit, at a sticky bit below it, and at the largest element's
    own fraction, which has no more bits: so at multiples of half a last place and one step to either side. Of the
    fractions of elements with more than eight bits of it these are a choice.
    """
    man_bits, kept = numerics.source.man_bits, numerics.block.element.fraction_bits
    step = 1 << max(man_bits - kept - 1, 0)
    grid = np.arange(0, (1 << man_bits) + 1, step, dtype=np.int64)
    if len(grid) > MANY:  # of a long fraction: both ends, where carries run, and some between
        between = np.random.default_rng(len(grid)).choice(grid[MANY // 4 : -MANY // 4], MANY // 2, replace=False)
        grid = np.concatenate([grid[: MANY // 4], between, grid[-MANY // 4 :]])
    around = np.concatenate([grid - 1, grid, grid + 1])
    return np.unique(around[(around >= 0) & (around < 1 << man_bits)])


def _with_maximum(payload: np.ndarray, maximum: int, block_size: int) -> np.ndarray:
    """Blocks of ``payload`` patterns, each with ``maximum`` in one lane, a different one from block to block."""
    per_block = block_size - 1
    padded = np.resize(payload, -(-payload.size // per_block) * per_block).reshape(-1, per_block)
    blocks = np.empty((len(padded), block_size), np.int64)
    for lane in range(block_size):
        rows = padded[lane::block_size]
        blocks[lane::block_size] = np.insert(rows, lane, maximum, axis=1)
    return blocks


def _anchors(numerics: Numerics) -> list[int]:
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


def boundary_blocks(numerics: Numerics, anchors: list[int] | None = None) -> np.ndarray:
    """Neighbours of every rounding boundary, under maxima at the bottom, middle and top of the range."""
    f, fractions = _Source(numerics), _boundary_fractions(numerics)
    blocks = []
    for anchor in _anchors(numerics) if anchors is None else anchors:
        for position, maximum_fraction in enumerate(_scale_fractions(numerics)):
            exponents = list(range(max(anchor - depth(numerics), 0), anchor + 1))
            if position:  # the element decisions do not depend on the maximum: the first round has them all
                exponents = [anchor, max(anchor - 1, 0)]
            payload = np.concatenate([f.pattern(e, fractions) for e in exponents])
            maximum = f.pattern(anchor, maximum_fraction)
            payload = payload[payload <= max(maximum, f.pattern(anchor, 0) - 1)]
            signed = np.concatenate([payload, payload | f.negative]) if payload.size else np.zeros(1, np.int64)
            # neighbours in the list fall into different blocks, so that no block's lanes are all alike
            stirred = np.random.default_rng(anchor).permutation(signed)
            blocks.append(_with_maximum(stirred, maximum | (f.negative if position % 2 else 0), numerics.block_size))
    return np.concatenate(blocks).astype(f.dtype)


def _scale_fractions(numerics: Numerics) -> list[int]:
    """Fractions of a maximum around which some scale rule goes one up: zero, the largest element's own (and, for a
    rule that rounds on the way, up to two steps more), half a last place below the next binade."""
    f, element = _Source(numerics), numerics.block.element
    largest = int((element.max_value / 2**element.emax - 1) * (1 << f.source.man_bits))
    even = (1 << f.source.man_bits) - (1 << max(f.source.man_bits - element.fraction_bits - 1, 0))
    subnormal = int(element.max_value / 2 * (1 << f.source.man_bits)) if element.emax == 0 else largest
    chosen = {0, 1, *range(largest, largest + 4), even - 1, even, *range(subnormal, subnormal + 4), f.fraction_mask}
    return sorted(fraction for fraction in chosen if 0 <= fraction <= f.fraction_mask)


def _contested(numerics: Numerics, rounds: int = 6) -> np.ndarray:
    """A maximum of every exponent, in every lane in turn, among exponents that are one of its bits smaller, or among
    equal ones with smaller fractions: so that each bit of each comparison between two elements decides.
    """
    f, rng, size = _Source(numerics), np.random.default_rng(0), numerics.block_size
    exponents = np.tile(np.arange(1, f.special), rounds)[:, None]
    bit = 1 << rng.integers(0, f.source.exp_bits, (len(exponents), size))
    others = np.where(exponents & bit, exponents ^ bit, 0)
    equal = np.arange(len(exponents))[:, None] >= 4 * (f.special - 1)
    wins = np.arange(size) == (np.arange(len(exponents)) % size)[:, None]
    chosen = np.where(wins | equal, exponents, others)
    fractions = np.where(
        equal, np.where(wins, f.fraction_mask, 0), rng.choice(_scale_fractions(numerics), chosen.shape)
    )
    signs = rng.integers(0, 2, chosen.shape) * f.negative
    return (chosen << f.source.man_bits | fractions | signs).astype(f.dtype)


def _single_bits(numerics: Numerics, blocks: int = 1024) -> np.ndarray:
    """Ties, and ties with one more bit set somewhere below, in every lane: so that each bit below the guard bit decides
    alone, wherever the guard bit is.
    """
    f, rng, element = _Source(numerics), np.random.default_rng(1), numerics.block.element
    shape, man_bits, kept = (blocks, numerics.block_size), f.source.man_bits, element.fraction_bits
    bottom = (
        rng.integers(0, 2, (blocks, 1)) == 0
    )  # small numbers, of which many are subnormal, under all the smallest scales
    anchor = np.where(
        bottom,
        rng.integers(0, min(2 * max(element.emax, element.bias) + 3, f.special), (blocks, 1)),
        rng.integers(f.source.bias - 8, f.special, (blocks, 1)),
    )
    distance = rng.integers(0, depth(numerics), shape)
    distance[np.arange(blocks), np.arange(blocks) % shape[1]] = 0
    exponent = np.maximum(anchor - distance, 0)
    leading = np.where(exponent > 0, man_bits, rng.integers(0, man_bits, shape))  # place of the leading one
    lowest = element.emax - element.emin
    lost = np.maximum(np.where(exponent > 0, distance - lowest, 0), 0) + rng.choice([-1, 0, 0, 0, 1], shape)
    guard = np.clip(leading - kept - 1 + lost, 0, man_bits - 1)
    below = np.where(rng.integers(0, 2, shape) == 0, guard, rng.integers(0, guard + 1))  # the guard bit itself: a tie
    even = guard + 1 + (below != guard)  # a tie goes down, and only with one bit more up
    high = rng.integers(0, 1 << man_bits, shape) >> even << even
    fraction = (high | 1 << guard | 1 << below) & f.fraction_mask
    subnormal = exponent == 0
    fraction[subnormal] = (fraction & (1 << leading) - 1 | 1 << leading)[subnormal]
    return (exponent << man_bits | fraction | rng.integers(0, 2, shape) * f.negative).astype(f.dtype)


def _of_largest(element: NumberFormat, man_bits: int) -> int:
    return int((element.max_value / 2**element.emax - 1) * (1 << man_bits))


def _below_half(element: NumberFormat, man_bits: int) -> int:
    return (1 << man_bits) - (1 << max(man_bits - element.fraction_bits - 1, 0))


LAST_FRACTIONS: dict[ScaleRule, Callable[[NumberFormat, int], int] | None] = {
    ScaleRule.FLOOR: None,
    ScaleRule.BIAS_FLOOR: None,
    ScaleRule.CEIL: _of_largest,
    ScaleRule.RCEIL: _of_largest,
    ScaleRule.POW2_CEIL: lambda element, man_bits: 0,
    ScaleRule.EVEN: _below_half,
}
"""About where the fraction of a largest magnitude puts the scale one up, given the fraction bits of the source; None
where it never does."""


def _scale_bits(numerics: Numerics) -> np.ndarray:
    """Maxima whose fraction is on either side of where the scale goes one up by one bit, for each bit, in every
    lane.
    """
    f, element = _Source(numerics), numerics.block.element
    last = LAST_FRACTIONS[numerics.scale_rule]
    limit = 0 if last is None else last(element, f.source.man_bits)

    def one_bit_off(limit: int) -> list[int]:
        return [
            limit | 1 << bit if not limit >> bit & 1 else (limit ^ 1 << bit) | (1 << bit) - 1
            for bit in range(f.source.man_bits)
        ]

    fractions = one_bit_off(limit)
    size, looks_at_fraction = numerics.block_size, last is not None
    maxima = [
        f.pattern(f.source.bias, fraction) for fraction in fractions for _ in range(size if looks_at_fraction else 1)
    ]
    if looks_at_fraction:  # and around it in every binade: the lowest may have a limit of its own
        maxima += [
            f.pattern(exponent, min(limit + step, f.fraction_mask))
            for exponent in range(1, f.special)
            for step in range(3)
        ]
        bottom = sorted({0, 1, element.emax - 1, element.emax, element.emax + 1} - {-1})
        maxima += [
            f.pattern(exponent, fraction)
            for exponent in bottom
            for step in range(2)
            for fraction in one_bit_off(min(limit + step, f.fraction_mask))
        ]
    blocks = np.zeros((len(maxima), size), f.dtype)
    blocks[np.arange(len(maxima)), np.arange(len(maxima)) % size] = maxima
    return blocks


def corner_cases(numerics: Numerics) -> dict[str, np.ndarray]:
    """Directed blocks by name: (n, block_size) uint32 each."""
    f, size, element = _Source(numerics), numerics.block_size, numerics.block.element
    negative, one = f.negative, f.one
    smallest_normal, smallest = f.pattern(1, 0), 1
    ramp = np.array([f.pattern(max(f.source.bias - i, 0), (i * 0x2AAAA5) & f.fraction_mask) for i in range(size)])
    ramp[1::2] |= negative

    def rows(*blocks: Sequence[int] | np.ndarray) -> np.ndarray:
        return np.array([np.resize(np.asarray(b, np.int64), size) for b in blocks]).astype(f.dtype)

    def everywhere(value: int, background: np.ndarray) -> np.ndarray:
        """``value`` in each lane in turn."""
        blocks = np.tile(background, (size, 1))
        np.fill_diagonal(blocks, value)
        return blocks.astype(f.dtype)

    half = f.pattern(f.source.bias - 1, 0)
    half_place = 1 << max(f.source.man_bits - element.fraction_bits - 1, 0)
    top = [
        f.pattern(e, fraction)
        for e in (f.special - 2, f.special - 1)
        for fraction in (0, 1, f.fraction_mask // 2, f.fraction_mask - 1, f.fraction_mask)
    ]
    bottom = [
        *range(4),
        smallest_normal // 2,
        smallest_normal - 1,
        smallest_normal,
        smallest_normal + 1,
        *(1 << i for i in range(f.source.man_bits)),
        *((2 << i) - 1 for i in range(f.source.man_bits)),
        *(f.pattern(e, 0) for e in range(1, min(2 + 2 * max(element.emax, element.bias), f.special))),
    ]
    largest = element.max_value / 2**element.emax - 1
    mmax = int(largest * (1 << f.source.man_bits))
    saturating = [
        f.pattern(f.source.bias, min(max(fraction, 0), f.fraction_mask))
        for centre in (mmax - half_place, mmax, mmax + half_place)
        for fraction in (centre - 1, centre, centre + 1)
    ]
    ties = [
        f.pattern(f.source.bias - d, (2 * i + 1) * half_place & f.fraction_mask)
        for d in range(1, 5)
        for i in range(1 << min(element.fraction_bits, 8))
    ]
    return {
        "zeros": rows([0], [negative], [0, negative], [negative] + [0] * (size - 1)),
        "one_element": np.concatenate(
            [everywhere(v, np.zeros(size, np.int64)) for v in (one, one | negative, smallest)]
        ),
        "all_equal": rows(
            *(
                [v]
                for v in (
                    one,
                    one | negative,
                    one + 1,
                    f.largest,
                    smallest,
                    smallest_normal,
                    smallest_normal | negative,
                    f.largest | negative,
                )
            )
        ),
        "every_lane_is_maximum": np.concatenate(
            [everywhere(f.pattern(f.source.bias + d, f.fraction_mask), ramp) for d in (0, 1, 8)]
        ),
        "contested_maximum": _contested(numerics),
        "single_bits": _single_bits(numerics),
        "scale_bits": _scale_bits(numerics),
        "source_subnormals": rows(
            *([v, v | negative] for v in bottom[:48]),
            *(np.array(bottom)[i : i + size] for i in range(0, len(bottom), size)),
        ),
        "clamped_scale": rows(
            *([v, 1, smallest_normal - 1, smallest_normal // 3, negative, smallest_normal | negative] for v in bottom)
        ),
        "largest_scale": rows(*([v, one, v - 1] for v in top), *([v] for v in top)),
        "saturation": rows(
            *([f.pattern(f.source.bias, 0), v, v | negative] for v in saturating), *([v] for v in saturating)
        ),
        "ties": _with_maximum(np.array(ties), one, size).astype(f.dtype),
        "nan": np.concatenate(
            [everywhere(f.infinity | 1 << bit, ramp) for bit in range(f.source.man_bits)]
            + [everywhere(v, ramp) for v in (f.quiet_nan, f.smallest_nan | negative)]
            + [rows(*([f.infinity | negative | 1 << bit, one] for bit in range(f.source.man_bits)))]
            + [rows([f.quiet_nan], [f.smallest_nan, f.quiet_nan | negative], [f.infinity | f.fraction_mask])]
        ),
        "inf": np.concatenate(
            [everywhere(v, ramp) for v in (f.infinity, f.infinity | negative)]
            + [rows([f.infinity], [f.infinity | negative], [f.infinity, f.infinity | negative])]
        ),
        "nan_and_inf": rows(
            [f.infinity, f.quiet_nan],
            [f.quiet_nan, f.infinity | negative, one],
            [0, f.infinity, 0, f.smallest_nan],
            [f.largest, f.infinity],
            [f.largest, f.quiet_nan],
            [smallest, f.infinity],
            [negative, f.smallest_nan | negative],
            [f.pattern(f.special - 1, mmax + 1 & f.fraction_mask), f.infinity | 1, half],
        ),
    }


def corner_blocks(numerics: Numerics, most: int | None = None) -> np.ndarray:
    """All directed blocks in one array, or of each family ``most`` at most, an even choice."""
    cases = corner_cases(numerics).values()
    return np.concatenate([blocks if most is None else blocks[:: -(-len(blocks) // most)] for blocks in cases])


def random_blocks(numerics: Numerics, blocks: int, seed: int) -> np.ndarray:
    """Seeded blocks, biased to where it is hard.

    A third is normal data as in real tensors; a third are exponents around a random maximum with fractions at the
    boundaries; a third is any bit pattern, half of these with neither NaN nor Inf.
    """
    rng, f, size = np.random.default_rng(seed), _Source(numerics), numerics.block_size
    kind = rng.integers(0, 6, blocks)
    patterns = rng.integers(0, 1 << f.source.bits, (blocks, size), dtype=np.uint64).astype(f.dtype)
    plain = kind <= 1
    exponents = rng.integers(1, f.special - 1, (blocks, 1))
    gaussian = rng.standard_normal((int(plain.sum()), size), dtype=np.float32)
    patterns[plain] = narrow(gaussian.view(np.uint32), f.source).view(f.dtype)
    hard = (kind == 2) | (kind == 3)
    maxima = np.where(rng.random((blocks, 1)) < 0.25, rng.integers(0, min(40, f.special), (blocks, 1)), exponents)[hard]
    exponent = np.maximum(maxima - rng.integers(0, depth(numerics), (len(maxima), size)), 0)
    fraction = rng.choice(_boundary_fractions(numerics), (len(maxima), size))
    patterns[hard] = f.pattern(exponent, fraction) | (patterns[hard].astype(np.int64) & f.negative)
    finite = kind == 4
    numbers = patterns[finite]
    lower = numbers & f.dtype.type(~(1 << f.source.man_bits) & (1 << f.source.bits) - 1)
    patterns[finite] = np.where(numbers & f.infinity == f.infinity, lower, numbers)
    return patterns


def random_bits(numerics: Numerics, shape: tuple[int, ...], seed: int) -> np.ndarray | None:
    """Seeded random bits for the elements of blocks, with all zeros and all ones more often; None where the rounding
    takes none."""
    if not numerics.random_bits:
        return None
    rng, largest = np.random.default_rng(seed), (1 << numerics.random_bits) - 1
    drawn, kind = rng.integers(0, largest + 1, shape, np.uint16), rng.integers(0, 16, shape)
    return np.where(kind == 0, 0, np.where(kind == 1, largest, drawn)).astype(np.uint16)


@dataclass(frozen=True)
class _Sweep:
    """``patterns`` consecutive source patterns: block_size neighbours to a block, or, with an ``anchor`` (the biased
    exponent of a power of two that is the maximum of every block, in lane 0), one fewer."""

    anchor: int | None
    patterns: int
    lanes: int

    @property
    def blocks(self) -> int:
        return -(-self.patterns // self.lanes)


def _sweeps(numerics: Numerics) -> list[_Sweep]:
    source, element = numerics.source, numerics.block.element
    bottom = max(element.emax, element.bias) + 1  # the first unclamped scale: source subnormals still count
    anchors = (bottom, source.bias, (1 << source.exp_bits) - 2)
    exponents = [min(anchor, depth(numerics)) + 1 for anchor in anchors]
    return [
        _Sweep(None, 1 << source.bits, numerics.block_size),
        *(
            _Sweep(anchor, count << (source.man_bits + 1), numerics.block_size - 1)
            for anchor, count in zip(anchors, exponents)
        ),
    ]


def _sweep_blocks(sweep: _Sweep, numerics: Numerics, first: int, count: int) -> np.ndarray:
    f, after = _Source(numerics), (first + count) * sweep.lanes
    index = np.arange(first * sweep.lanes, after, dtype=np.int64)
    if after > sweep.patterns:
        index %= sweep.patterns  # the last block is completed from the beginning
    patterns = index.astype(f.dtype).reshape(count, sweep.lanes)
    if sweep.anchor is None:
        return patterns
    blocks = np.empty((count, numerics.block_size), f.dtype)
    blocks[:, 0] = f.pattern(sweep.anchor, 0)
    signs, lowest = patterns << f.dtype.type(f.source.bits - 1), f.pattern(max(sweep.anchor - depth(numerics), 0), 0)
    patterns >>= f.dtype.type(1)
    patterns += f.dtype.type(lowest)
    np.bitwise_or(patterns, signs, out=blocks[:, 1:])
    return blocks


def exhaustive_blocks(numerics: Numerics, done: int = 0) -> Iterator[np.ndarray]:
    """All source patterns, and every fraction and sign at every distance below a maximum that can change a code.

    First each pattern once, block_size neighbours to a block: NaN, Inf, subnormals and both zeros are among them. Then,
    with a power of two in lane 0 at the bottom (the first unclamped scale), middle and top of the range, all patterns
    of both signs from the end of its binade down to `depth` binades below, where codes are zero, or to zero. It is the
    maximum of all blocks but those of its own binade, whose maximum is the largest of their neighbours. The last block
    of a sweep is completed from its beginning. ``done`` blocks are left out; the others are cut into the same arrays,
    but for the first.
    """
    for sweep in _sweeps(numerics):
        first, done = min(done, sweep.blocks), max(done - sweep.blocks, 0)
        while first < sweep.blocks:
            after = min((first // STRATUM + 1) * STRATUM, sweep.blocks)
            yield _sweep_blocks(sweep, numerics, first, after - first)
            first = after


def exhaustive_total(numerics: Numerics) -> int:
    """How many blocks `exhaustive_blocks` gives."""
    return sum(sweep.blocks for sweep in _sweeps(numerics))


def stratified_blocks(numerics: Numerics, seed: int, share: int = 64) -> Iterator[np.ndarray]:
    """One block in ``share`` of `exhaustive_blocks`: a run at a seeded place in every stratum of 65,536 blocks."""
    rng = np.random.default_rng(seed)
    for sweep in _sweeps(numerics):
        run = min(STRATUM // share, sweep.blocks)
        starts = [first + int(rng.integers(0, STRATUM - run + 1)) for first in range(0, sweep.blocks, STRATUM)]
        starts = [min(start, sweep.blocks - run) for start in starts]
        for group in range(0, len(starts), 32):
            yield np.concatenate([_sweep_blocks(sweep, numerics, start, run) for start in starts[group : group + 32]])
