"""Directed blocks: a family for each thing that a converter can get wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...spec import FP32, Encode
from .boundary import scale_fractions, with_maximum
from .scale_steps import last_fraction
from .source import Source, depth

ROUNDS = 6
"""Blocks for each exponent of a contested maximum."""
SINGLE_BITS = 1024
"""Blocks with ties and single bits below them."""


def _contested(numerics: Encode) -> np.ndarray:
    """A maximum of every exponent, in every lane in turn. The other exponents are smaller by one of its bits, or equal
    with smaller fractions, so each bit of each comparison between two elements decides.
    """
    f, rng, size = Source(numerics), np.random.default_rng(0), numerics.block_size
    exponents = np.tile(np.arange(1, f.special), ROUNDS)[:, None]
    bit = 1 << rng.integers(0, f.source.exp_bits, (len(exponents), size))
    others = np.where(exponents & bit, exponents ^ bit, 0)
    equal = np.arange(len(exponents))[:, None] >= 4 * (f.special - 1)
    wins = np.arange(size) == (np.arange(len(exponents)) % size)[:, None]
    chosen = np.where(wins | equal, exponents, others)
    fractions = np.where(equal, np.where(wins, f.fraction_mask, 0), rng.choice(scale_fractions(numerics), chosen.shape))
    signs = rng.integers(0, 2, chosen.shape) * f.negative
    return (chosen << f.source.man_bits | fractions | signs).astype(f.dtype)


def _single_bits(numerics: Encode) -> np.ndarray:
    """Ties, and ties with one more bit set below, in every lane. So each bit below the guard bit decides alone,
    wherever the guard bit is.
    """
    f, rng, element = Source(numerics), np.random.default_rng(1), numerics.block.element
    blocks, man_bits, kept = SINGLE_BITS, f.source.man_bits, element.fraction_bits
    shape = blocks, numerics.block_size
    bottom = rng.integers(0, 2, (blocks, 1)) == 0  # small, often subnormal, numbers under the smallest scales
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


def _scale_bits(numerics: Encode) -> np.ndarray:
    """Maxima whose fraction differs by one bit from the limit at which the scale goes one up: for each bit, in every
    lane.
    """
    f, element = Source(numerics), numerics.block.element
    last = last_fraction(numerics)
    # of the fractions on both sides the one with few bits, in the source format
    limit = 0 if last is None else min(last, last + 1, key=int.bit_count) >> FP32.man_bits - f.source.man_bits

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
    if looks_at_fraction:  # also around it in every binade, as the lowest may have another limit
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


def corner_cases(numerics: Encode) -> dict[str, np.ndarray]:
    """Directed blocks by name: (n, block_size) uint32 each."""
    f, size, element = Source(numerics), numerics.block_size, numerics.block.element
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
        "ties": with_maximum(np.array(ties), one, size).astype(f.dtype),
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


def corner_blocks(numerics: Encode, most: int | None = None) -> np.ndarray:
    """All directed blocks in one array, or an even choice of at most ``most`` of each family."""
    cases = corner_cases(numerics).values()
    return np.concatenate([blocks if most is None else blocks[:: -(-len(blocks) // most)] for blocks in cases])
