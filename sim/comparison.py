"""A design of anybody's against the golden model: what differs, how often, and on which blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..hdl import ConverterConfig
from ..models import Quantized, quantize
from ..models.source import DTYPES, narrow
from . import stimuli as make
from .causes import CAUSES, Cause, causes
from .scoreboard import described
from .stream import Streamed
from .verilated import Verilated

__all__ = ["Comparison", "Divergence", "Example", "divergence", "normal_blocks", "single_bits"]

CHUNK = 1 << 15
"""Blocks that are compared at a time."""
SWEPT = 1 << 20
"""Blocks of a sweep over all inputs, unless it is exhaustive: about so many."""
NORMAL = 100_000
"""Blocks of N(0,1)."""
AROUND = 8
"""Blocks around which single bits change."""


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """How many results differ on blocks of independent N(0,1) numbers."""

    blocks: int
    elements: int
    differing_blocks: int
    differing_scales: int
    differing_codes: int

    def to_dict(self) -> dict:
        return vars(self) | {"rate": self.differing_blocks / self.blocks}


def normal_blocks(config: ConverterConfig, seed: int, blocks: int = NORMAL) -> np.ndarray:
    """Seeded blocks of N(0,1) numbers as source patterns (blocks, block_size)."""
    source, rng = config.numerics.source, np.random.default_rng(seed)
    numbers = rng.standard_normal((blocks, config.numerics.block_size), dtype=np.float32)
    dtype = DTYPES[source.name]
    return narrow(numbers.view(np.uint32), source).view(f"u{dtype.itemsize}")


def single_bits(config: ConverterConfig, seed: int, blocks: int) -> np.ndarray:
    """Around each of ``blocks`` blocks of N(0,1) every bit in turn, there and back: a design that misses the change of
    a signal, because its sensitivity list does, shows an old result.
    """
    around = normal_blocks(config, seed, blocks)
    bits = config.numerics.source.bits
    pairs = np.repeat(around[:, None, None], around.shape[1] * bits, axis=1).repeat(2, axis=2)
    lane, bit = np.divmod(np.arange(around.shape[1] * bits), bits)
    pairs[:, np.arange(len(lane)), 1, lane] ^= (np.uint64(1) << bit.astype(np.uint64)).astype(around.dtype)
    return pairs.reshape(-1, around.shape[1])


@dataclass(frozen=True)
class Example:
    """How many blocks differ for one cause, and one of them: (block_size,) patterns, and its random bits."""

    count: int
    block: np.ndarray
    random: np.ndarray | None


@dataclass
class Comparison:
    """A design and the golden model on the same blocks.

    A design without a clock is alone with each block. One with a clock sees a stream, so a fault may need its
    neighbours.
    """

    config: ConverterConfig
    design: Verilated
    seed: int = 0
    nan_codes_free: bool = False
    """Whether codes under a scale byte of NaN may be anything."""
    first: str = ""
    """The first block that differs, in words; empty if there is none."""
    blocks: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    """For each stimulus: its name, the blocks and how many of them differ."""
    found: dict[Cause, Example] = field(default_factory=dict)
    """For each cause how many blocks differ, and the one with the fewest elements that are not zero."""

    def drawn(self, patterns: np.ndarray, seed: int) -> np.ndarray | None:
        """Random bits for blocks (n, block_size), where the rounding takes some."""
        return make.random_bits(self.config.numerics, patterns.shape, self.seed + seed)

    def convert(self, patterns: np.ndarray, random: np.ndarray | None) -> Quantized:
        """What the design makes of blocks (n, block_size)."""
        return self.design(patterns.view(DTYPES[self.config.numerics.source.name]), random=random)

    def expect(self, patterns: np.ndarray, random: np.ndarray | None) -> Quantized:
        """What the golden model makes of them."""
        return quantize(patterns.view(DTYPES[self.config.numerics.source.name]), self.config.numerics, random=random)

    def why(self, patterns: np.ndarray, random: np.ndarray | None) -> np.ndarray:
        """(n,) why blocks differ, each for itself and with the same random bits (block_size,); -1 where they do not."""
        drawn = None if random is None else np.repeat(random[None], len(patterns), axis=0)
        if isinstance(self.design, Streamed):
            each = [
                (patterns[row : row + 1], None if drawn is None else drawn[row : row + 1])
                for row in range(len(patterns))
            ]
            return np.array([self.causes(one[0], self.expect(*one), self.convert(*one))[0] for one in each], np.int8)
        return self.causes(patterns, self.expect(patterns, drawn), self.convert(patterns, drawn))

    def causes(self, patterns: np.ndarray, expected: Quantized, actual: Quantized) -> np.ndarray:
        """`causes.causes` of results."""
        return causes(self.config.numerics, patterns, expected, actual, self.nan_codes_free)

    def run(self, *, exhaustive: bool, blocks: int, progress: Callable[[int, int], None] | None = None) -> None:
        """Compare on corner, boundary and ``blocks`` random blocks, and on a sweep over all inputs or a share of it."""
        n = self.config.numerics
        swept = make.exhaustive_total(n)
        for name, chunks in self._stimuli(exhaustive, blocks, swept):
            row: dict[str, Any] = {"stimulus": name, "blocks": 0, "differ": 0}
            self.rows.append(row)
            for patterns in chunks:
                for start in range(0, len(patterns), CHUNK):
                    part = patterns[start : start + CHUNK]
                    row["differ"] += self.compare(name, part, row["blocks"])
                    row["blocks"] += len(part)
                if progress:
                    progress(self.blocks, swept if exhaustive else 0)

    def _stimuli(self, exhaustive: bool, blocks: int, swept: int) -> Iterator[tuple[str, Iterable[np.ndarray]]]:
        n = self.config.numerics
        yield "corner", [make.corner_blocks(n)]
        yield "boundary", [make.boundary_blocks(n)]
        yield (
            "random",
            (
                make.random_blocks(n, min(CHUNK, blocks - start), self.seed * 1_000_003 + start)
                for start in range(0, blocks, CHUNK)
            ),
        )
        yield "single bits", [single_bits(self.config, self.seed, AROUND)]
        if exhaustive or swept <= SWEPT:
            yield "exhaustive", make.exhaustive_blocks(n)
        else:
            share = 1 << (swept // SWEPT).bit_length()
            yield f"1/{share} of all", make.stratified_blocks(n, self.seed, share)

    def compare(self, name: str, patterns: np.ndarray, before: int = 0) -> int:
        """Compare on blocks (n, block_size) of the stimulus ``name``, of which so many came before; returns how many
        differ.
        """
        random = self.drawn(patterns, self.blocks)
        expected, actual = self.expect(patterns, random), self.convert(patterns, random)
        self.blocks += len(patterns)
        why = self.causes(patterns, expected, actual)
        if not (why >= 0).any():
            return 0
        if not self.first:
            row = int(np.flatnonzero(why >= 0)[0])
            self.first = self._in_words(f"{name} block {before + row}", patterns[row], expected, actual, row, random)
        sizes = np.count_nonzero(patterns, axis=1)
        for number in np.unique(why[why >= 0]):
            rows = np.flatnonzero(why == number)
            row = rows[sizes[rows].argmin()]
            known = self.found.get(CAUSES[number])
            block = Example(len(rows), patterns[row], None if random is None else random[row])
            if known is not None:
                smaller = block if np.count_nonzero(block.block) < np.count_nonzero(known.block) else known
                block = Example(known.count + len(rows), smaller.block, smaller.random)
            self.found[CAUSES[number]] = block
        return int((why >= 0).sum())

    def described(self, title: str, block: np.ndarray, random: np.ndarray | None) -> str:
        """What differs on one block (block_size,), in words, with the command that explains it; empty if nothing."""
        patterns, drawn = block[None], None if random is None else random[None]
        expected, actual = self.expect(patterns, drawn), self.convert(patterns, drawn)
        if self.causes(patterns, expected, actual)[0] < 0:
            return ""
        return self._in_words(title, block, expected, actual, 0, drawn)

    def _in_words(
        self, title: str, block: np.ndarray, expected: Quantized, actual: Quantized, row: int, random: np.ndarray | None
    ) -> str:
        return described(
            title,
            expected.numerics,
            block,
            (int(expected.scales[row, 0]), expected.codes[row]),
            (int(actual.scales[row, 0]), actual.codes[row]),
            None if random is None else random[row],
        )


def divergence(comparison: Comparison, patterns: np.ndarray) -> Divergence:
    """How a design diverges on `normal_blocks`."""
    random = comparison.drawn(patterns, 0)
    expected, actual = comparison.expect(patterns, random), comparison.convert(patterns, random)
    return Divergence(
        blocks=len(patterns),
        elements=patterns.size,
        differing_blocks=int((comparison.causes(patterns, expected, actual) >= 0).sum()),
        differing_scales=int((expected.scales != actual.scales).sum()),
        differing_codes=int((expected.codes != actual.codes).sum()),
    )
