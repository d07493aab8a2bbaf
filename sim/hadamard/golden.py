"""Hadamard transforms in simulations: what the golden model makes of their transactions, stimuli, and differences in
words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ...models.fast.hadamard import rotate
from ...spec import BF16, Hadamard, Role
from ..transactions import Transactions

SIZE = 16
CHUNK = 1 << 13
"""Blocks of a stimulus that are made at a time."""
CORNERS = 4000
"""Blocks of `corners`."""
AROUND = 8
"""Blocks around which single bits change."""
RANDOM = 32
"""Random blocks in `sample`, which has `SAMPLED` corners."""
SAMPLED = 500

INF, NAN = BF16.inf_field, BF16.inf_field | 1
EDGES = (0, 1, 2, 0x7F, 0x80, 0x81, 0x17F, 0x3F80, 0x3FFF, BF16.max_code, INF, NAN)
"""Magnitudes: zero, subnormal numbers, the smallest normal ones, one, and the largest."""


def golden(rules: Hadamard, entering: Transactions) -> Transactions:
    """What leaves a transform, by `models.fast.hadamard.rotate`."""
    return Transactions({Role.ROTATED: rotate(np.ascontiguousarray(entering[Role.NUMBERS]), rules)})


def _blocks(patterns: np.ndarray) -> Transactions:
    return Transactions({Role.NUMBERS: patterns.astype(np.uint16)})


def stimuli(rules: Hadamard, kind: str, blocks: int, seed: int) -> Iterator[tuple[str, Iterable[Transactions]]]:
    """``corner`` are directed blocks, ``random`` so many random ones; ``standard`` is both."""
    if kind in ("standard", "corner"):
        yield "corner", [corners(rules, seed)]
    if kind in ("standard", "random"):
        yield (
            "random",
            (random(rules, min(CHUNK, blocks - start), seed * 1_000_003 + start) for start in range(0, blocks, CHUNK)),
        )


def corners(rules: Hadamard, seed: int = 0) -> Transactions:
    """`EDGES` in all numbers and each alone, mixtures of them, and `_cancelling` blocks."""
    rng = np.random.default_rng(seed)
    edges = np.array([*EDGES, *(edge | BF16.sign_mask for edge in EDGES)])
    alike = np.repeat(edges[:, None], SIZE, axis=1)
    alone = (np.eye(SIZE, dtype=np.int64) * edges[:, None, None]).reshape(-1, SIZE)
    finite = np.array([edge for edge in edges if edge & BF16.magnitude_mask < INF])
    mixed = [rng.choice(edges, (CORNERS // 8, SIZE)), rng.choice(finite, (CORNERS // 8, SIZE))]
    one_special = rng.choice(finite, (CORNERS // 8, SIZE))
    one_special[np.arange(len(one_special)), rng.integers(0, SIZE, len(one_special))] = rng.choice(
        edges, len(one_special)
    )
    return _blocks(np.concatenate([alike, alone, *mixed, one_special, _cancelling(rules, CORNERS // 2, rng)]))


def _cancelling(rules: Hadamard, blocks: int, rng: np.random.Generator) -> np.ndarray:
    """Blocks whose large numbers cancel in some sums and leave others of any exponent: pairs of one magnitude, far
    apart, and small numbers that put a sum beside the middle of two results.
    """
    fields = rng.integers(0, 255, (blocks, SIZE // 2))
    near = fields[:, :1] - rng.integers(0, 26, (blocks, SIZE // 2)).cumsum(axis=1)
    fields = np.where(rng.integers(0, 2, (blocks, 1)), np.clip(near, 0, 254), fields)
    fractions = rng.choice([0, 1, 0x40, 0x7F, *rng.integers(0, 128, 4)], fields.shape)
    pairs = np.repeat(fields << BF16.man_bits | fractions, 2, axis=1)
    changed = rng.integers(0, 8, pairs.shape) == 0
    pairs = np.where(changed, rng.integers(0, INF, pairs.shape), pairs)
    signs = rng.integers(0, 2, pairs.shape) * BF16.sign_mask
    return rng.permuted(pairs | signs, axis=1)


def random(rules: Hadamard, blocks: int, seed: int) -> Transactions:
    """A third is `usual`, a third cancels, a third are any patterns."""
    share, rng = -(-blocks // 3), np.random.default_rng(seed)
    anything = _blocks(rng.integers(0, 1 << BF16.bits, (share, SIZE)))
    parts = [usual(rules, seed, share), _blocks(_cancelling(rules, share, rng)), anything]
    return Transactions.joined(parts).rows(slice(blocks))


def usual(rules: Hadamard, seed: int, blocks: int) -> Transactions:
    """Blocks of N(0,1), cut off to BF16."""
    numbers = np.random.default_rng(seed).standard_normal((blocks, SIZE), np.float32)
    return _blocks(numbers.view(np.uint32) >> np.uint32(BF16.bits))


def single_bits(rules: Hadamard, seed: int) -> Transactions:
    """Around each of `AROUND` blocks of N(0,1) every bit in turn, there and back."""
    width = SIZE * BF16.bits
    whole = usual(rules, seed, AROUND).rows(np.repeat(np.arange(AROUND), 2 * width))
    lane, bit = np.divmod(np.tile(np.arange(width), AROUND), BF16.bits)
    patterns = whole[Role.NUMBERS]
    patterns[np.arange(1, len(patterns), 2), lane] ^= (1 << bit).astype(np.uint16)
    return whole


def hard(rules: Hadamard, seed: int, blocks: int) -> Transactions:
    """Directed blocks and so many random ones."""
    return Transactions.joined([corners(rules, seed), random(rules, blocks, seed)])


def swept(rules: Hadamard, blocks: int, seed: int, exhaustive: bool) -> Iterator[tuple[str, Iterable[Transactions]]]:
    """What ``standard`` is, and single bits; there is no sweep over all inputs."""
    yield from stimuli(rules, "standard", blocks, seed)
    yield "single bits", [single_bits(rules, seed)]


def _spread(blocks: Transactions, chosen: int) -> Transactions:
    """An even choice of so many at most."""
    return blocks.rows(np.linspace(0, len(blocks) - 1, min(chosen, len(blocks))).astype(int))


def regression(rules: Hadamard, blocks: int, seed: int) -> dict[str, Transactions]:
    """Directed blocks and random ones."""
    return {"corner": corners(rules, seed), "random": random(rules, blocks, seed)}


def sample(rules: Hadamard, seed: int) -> Transactions:
    """Some directed blocks, and some random ones."""
    return Transactions.joined([_spread(corners(rules, seed), SAMPLED), random(rules, RANDOM, seed)])


def few(rules: Hadamard, corner_blocks: int, singles: int) -> Transactions:
    """Directed blocks and blocks that differ in one bit, so many of each at most."""
    return Transactions.joined([_spread(corners(rules), corner_blocks), single_bits(rules, 0).rows(slice(singles))])


def described(rules: Hadamard, title: str, given: Transactions, expected: Transactions, actual: Transactions) -> str:
    """What differs in the first of some transactions, in words."""
    want, got = expected[Role.ROTATED][0], actual[Role.ROTATED][0]
    wrong = np.flatnonzero(want != got)
    lines = [f"{title}: signs 0x{rules.signs:04X}, {len(wrong)} of {SIZE} results differ"]
    lines += [f"    result {j}: expected 0x{int(want[j]):04X}, got 0x{int(got[j]):04X}" for j in wrong[:4]]
    lines.append(f"    the block: {','.join(f'0x{int(number):04X}' for number in given[Role.NUMBERS][0])}")
    return "\n".join(lines)
