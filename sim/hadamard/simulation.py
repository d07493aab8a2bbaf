"""Hadamard transforms in simulations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...models.fast.hadamard import rotate
from ...spec import BF16, Hadamard, Role
from ..causes import causes_of
from ..simulation import AROUND, ElementSimulation, Stimuli
from ..transactions import Transactions

SIZE = 16
CORNERS = 4000
"""Blocks of `HadamardSimulation.corners` that are drawn at random, about."""
SHOWN = 4
"""Results of a block that are shown."""

INF, NAN = BF16.inf_field, BF16.inf_field | 1
EDGES = (0, 1, 2, 0x7F, 0x80, 0x81, 0x17F, 0x3F80, 0x3FFF, BF16.max_code, INF, NAN)
"""Magnitudes: zero, subnormal numbers, the smallest normal ones, one, the largest, Inf and NaN."""


def _blocks(patterns: np.ndarray) -> Transactions:
    return Transactions({Role.NUMBERS: patterns.astype(np.uint16)})


def _cancelling(blocks: int, rng: np.random.Generator) -> np.ndarray:
    """Blocks whose large numbers cancel in some sums, so that any exponent can be left: pairs of one magnitude, far
    apart, and small numbers that put a sum next to the middle of two results.
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


SMALLEST_NORMAL = 1 << BF16.man_bits
POWERS = np.array([*(1 << place for place in range(BF16.man_bits)), *range(SMALLEST_NORMAL, INF, SMALLEST_NORMAL)])
"""The powers of two, from the smallest number to the largest."""


def _single_bits() -> np.ndarray:
    """Powers of two of either sign, alone, and with the smallest number of either sign in number 1: sums with one bit
    that differs from the sign."""
    blocks = np.zeros((6, len(POWERS), SIZE), np.int64)
    blocks[..., 0] = POWERS | np.repeat([0, BF16.sign_mask], 3)[:, None]
    blocks[..., 1] = np.tile([0, 1, BF16.sign_mask | 1], 2)[:, None]
    return blocks.reshape(-1, SIZE)


def _decided_ties() -> np.ndarray:
    """Sums of two powers of two that are a tie, which a third power of either sign decides: every smaller one for some
    ties, and one in five of the next forty for the others."""
    found = []
    for top in range(BF16.man_bits + 2, len(POWERS)):
        half = top - BF16.man_bits - 1
        below = range(half) if (top + 1) % BF16.bits == 0 or top + 1 == len(POWERS) else range(top % 5, half, 5)[-8:]
        found += [(POWERS[top], POWERS[half], POWERS[low]) for low in below]
    blocks = np.zeros((4, len(found), SIZE), np.int64)
    blocks[..., :3] = found
    blocks[1::2, :, 2] |= BF16.sign_mask
    blocks[2:, :, :3] ^= BF16.sign_mask
    return blocks.reshape(-1, SIZE)


def _specials() -> np.ndarray:
    """Inf in two numbers, of one sign and of both, and NaN with a single fraction bit in each number."""
    pairs = [(first, second) for second in range(SIZE) for first in range(second)]
    blocks = np.zeros((2, len(pairs), SIZE), np.int64)
    for number, (first, second) in enumerate(pairs):
        blocks[:, number, first] = INF
        blocks[:, number, second] = INF, BF16.sign_mask | INF
    nans = INF | 1 << np.arange(BF16.man_bits)
    alone = np.eye(SIZE, dtype=np.int64) * nans[:, None, None]
    return np.concatenate([blocks.reshape(-1, SIZE), alone.reshape(-1, SIZE)])


def _infinite(blocks: int, rng: np.random.Generator) -> np.ndarray:
    """Blocks in which up to three numbers are Inf of either sign, so that a sign alone can change a result."""
    chosen = rng.permuted(np.tile(np.arange(SIZE), (blocks, 1)), axis=1) < rng.integers(1, 4, (blocks, 1))
    signs = rng.integers(0, 2, chosen.shape) * BF16.sign_mask
    return np.where(chosen, INF, rng.integers(0, INF, chosen.shape)) | signs


class HadamardSimulation(ElementSimulation[Hadamard]):
    """The operation `Hadamard` in simulations."""

    kinds = ("standard", "corner", "random")
    causes = causes_of(
        {
            "ordinary": "ordinary results",
            "small": "results that are subnormal or zero",
            "large": "results that are the largest number or Inf",
            "specials": "blocks with NaN or Inf",
        }
    )
    sentences = (
        ({"specials"}, "only blocks with NaN or Inf differ"),
        ({"small"}, "only results that are subnormal or zero differ"),
        ({"large"}, "only results that are the largest number or Inf differ"),
    )
    chunk = 1 << 13

    def golden(self, entering: Transactions) -> Transactions:
        return Transactions({Role.ROTATED: rotate(np.ascontiguousarray(entering[Role.NUMBERS]), self.rules)})

    def directed(self, kind: str, seed: int) -> Stimuli:
        if kind == "corner":
            yield kind, [self.corners(seed)]

    def corners(self, seed: int) -> Transactions:
        """Each of `EDGES` in all numbers and alone, mixtures of them, `_single_bits`, `_decided_ties`,
        `_specials` and `_cancelling` blocks.
        """
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
        parts = [alike, alone, *mixed, one_special, _single_bits(), _decided_ties(), _specials()]
        return _blocks(np.concatenate([*parts, _cancelling(CORNERS // 2, rng)]))

    def random(self, blocks: int, seed: int) -> Transactions:
        """A quarter is `usual`, in a quarter large numbers cancel, a quarter is any patterns, and in a quarter a few
        numbers are Inf.
        """
        share, rng = -(-blocks // 4), np.random.default_rng(seed)
        anything = _blocks(rng.integers(0, 1 << BF16.bits, (share, SIZE)))
        parts = [self.usual(share, seed), _blocks(_cancelling(share, rng)), anything, _blocks(_infinite(share, rng))]
        return Transactions.joined(parts).rows(slice(blocks))

    def usual(self, blocks: int, seed: int) -> Transactions:
        """Blocks of N(0,1), cut off to BF16."""
        numbers = np.random.default_rng(seed).standard_normal((blocks, SIZE), np.float32)
        return _blocks(numbers.view(np.uint32) >> np.uint32(BF16.bits))

    def single_bits(self, seed: int) -> Transactions:
        return self.flipped(self.usual(AROUND, seed))

    def regression(self, blocks: int, seed: int) -> dict[str, Transactions]:
        return {"corner": self.corners(seed), "random": self.random(blocks, seed)}

    def fits(self, given: Transactions, right: np.ndarray) -> Mapping[str, np.ndarray]:
        magnitude = right & BF16.magnitude_mask
        return {
            "small": magnitude >> BF16.man_bits == 0,
            "large": magnitude >= BF16.max_code,
            "specials": ((given[Role.NUMBERS] & BF16.magnitude_mask) >= INF).any(axis=1, keepdims=True),
        }

    def described(self, title: str, given: Transactions, expected: Transactions, actual: Transactions) -> str:
        want, got = expected[Role.ROTATED][0], actual[Role.ROTATED][0]
        wrong = np.flatnonzero(want != got)
        lines = [f"{title}: signs 0x{self.rules.signs:04X}, {len(wrong)} of {SIZE} results differ"]
        lines += [f"    result {j}: expected 0x{int(want[j]):04X}, got 0x{int(got[j]):04X}" for j in wrong[:SHOWN]]
        lines.append(f"    the block: {','.join(f'0x{int(number):04X}' for number in given[Role.NUMBERS][0])}")
        return "\n".join(lines)
