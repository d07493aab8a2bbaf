"""Any design against the golden model: differences, their counts, and blocks that show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from ...hdl import HardwareConfig
from ...spec import Role
from ..causes import Cause
from ..operations import drawn, element_role, golden, of
from ..run.verilator.driver import Driver
from ..transactions import Transactions

CHUNK = 1 << 15
"""Blocks that are compared at a time."""
NOUNS = {
    Role.SCALE: "scales",
    Role.CODES: "codes",
    Role.NUMBERS: "numbers",
    Role.ROTATED: "numbers",
    Role.ROW_SCALES: "row_scales",
    Role.COLUMN_SCALES: "column_scales",
    Role.COLUMN_CODES: "column_codes",
}
"""Names of results, by the role of their port."""


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """Counts of results that differ on blocks of independent N(0,1) numbers."""

    blocks: int
    elements: int
    differing_blocks: int
    differing: dict[Role, int]
    """Words that differ, by the role of their port."""

    def to_dict(self) -> dict:
        return {
            "blocks": self.blocks,
            "elements": self.elements,
            "differing_blocks": self.differing_blocks,
            **{f"differing_{NOUNS[role]}": count for role, count in self.differing.items()},
            "rate": self.differing_blocks / self.blocks,
        }


class Row(TypedDict):
    """A stimulus, its number of blocks, and how many of them differ."""

    stimulus: str
    blocks: int
    differ: int


@dataclass(frozen=True)
class Example:
    """The number of blocks that differ for one cause, and one of them."""

    count: int
    block: Transactions
    """One transaction."""


@dataclass
class Comparison:
    """A design and the golden model on the same blocks, under the first operation of a configuration.

    A design without a clock converts each block by itself. A design with a clock gets a stream, so a fault may need
    neighbouring blocks.
    """

    config: HardwareConfig
    design: Driver
    seed: int = 0
    nan_codes_free: bool = False
    """Whether codes under a scale byte of NaN may be anything."""
    first: str = ""
    """The first block that differs, in words; empty if no block does."""
    blocks: int = 0
    rows: list[Row] = field(default_factory=list)
    found: dict[Cause, Example] = field(default_factory=dict)
    """For each cause the number of blocks that differ, and the one with the fewest elements that are not zero."""

    def __post_init__(self) -> None:
        self.rules, self.of = self.config.numerics, of(self.config.numerics)
        self.elements = element_role(self.rules)

    def drawn(self, given: Transactions, seed: int = 0) -> Transactions:
        """Blocks with random bits, if the rounding takes them."""
        return drawn(self.rules, given, self.seed + seed)

    def causes(self, given: Transactions, expected: Transactions, actual: Transactions) -> np.ndarray:
        """(n,) numbers of causes, -1 if nothing differs."""
        return self.of.why(given, expected, actual, self.nan_codes_free)

    def why(self, given: Transactions) -> np.ndarray:
        """(n,) numbers of causes for blocks that are converted one by one, -1 if nothing differs."""
        if self.design.has_clock and len(given):
            made = Transactions.joined([self.design(given.rows(slice(row, row + 1))) for row in range(len(given))])
        else:
            made = self.design(given)
        return self.causes(given, golden(self.rules, given), made)

    def run(self, *, exhaustive: bool, blocks: int, progress: Callable[[int], None]) -> None:
        """Compare on directed and ``blocks`` random blocks, and on a sweep over all inputs or a share of it."""
        for name, parts in self.of.swept(blocks, self.seed, exhaustive):
            row: Row = {"stimulus": name, "blocks": 0, "differ": 0}
            self.rows.append(row)
            for given in parts:
                for start in range(0, len(given), CHUNK):
                    part = given.rows(slice(start, start + CHUNK))
                    row["differ"] += self.compare(name, part, row["blocks"])
                    row["blocks"] += len(part)
                progress(self.blocks)

    def compare(self, name: str, given: Transactions, before: int = 0) -> int:
        """Compare on blocks of the stimulus ``name``, after ``before`` others of it; returns how many differ."""
        given = self.drawn(given, self.blocks)
        expected, actual = golden(self.rules, given), self.design(given)
        self.blocks += len(given)
        why = self.causes(given, expected, actual)
        if not (why >= 0).any():
            return 0
        if not self.first:
            row = int(np.flatnonzero(why >= 0)[0])
            self.first = self._in_words(f"{name} block {before + row}", given, expected, actual, row)
        sizes = np.count_nonzero(given[self.elements], axis=1)
        for number in np.unique(why[why >= 0]):
            rows = np.flatnonzero(why == number)
            row = rows[sizes[rows].argmin()]
            known = self.found.get(self.of.causes[number])
            found = Example(len(rows), given.rows(slice(row, row + 1)))
            if known is not None:
                smaller = found if sizes[row] < np.count_nonzero(known.block[self.elements]) else known
                found = Example(known.count + len(rows), smaller.block)
            self.found[self.of.causes[number]] = found
        return int((why >= 0).sum())

    def described(self, title: str, block: Transactions) -> str:
        """Differences of one block, in words, with the command that explains it; empty if nothing differs."""
        expected, actual = golden(self.rules, block), self.design(block)
        if self.causes(block, expected, actual)[0] < 0:
            return ""
        return self._in_words(title, block, expected, actual, 0)

    def _in_words(self, title: str, given: Transactions, expected: Transactions, actual: Transactions, row: int) -> str:
        sides = (side.rows(slice(row, row + 1)) for side in (given, expected, actual))
        return self.of.described(title, *sides)


def divergence(comparison: Comparison, given: Transactions) -> Divergence:
    """Count the differences of a design on blocks of N(0,1)."""
    given = comparison.drawn(given)
    expected, actual = golden(comparison.rules, given), comparison.design(given)
    return Divergence(
        blocks=len(given),
        elements=given[comparison.elements].size,
        differing_blocks=int((comparison.causes(given, expected, actual) >= 0).sum()),
        differing={role: int((array != actual[role]).sum()) for role, array in expected.arrays.items()},
    )
