"""Comparison of results with the right ones, and a report that an engineer can act on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...hdl import HardwareConfig
from ...hdl.config.command import command_line
from ...spec import Operation
from ..operations import of
from ..transactions import Transactions

SHOWN = 5
"""Mismatched blocks that a report shows in full."""


@dataclass
class Scoreboard:
    """Counts of compared blocks, and the first mismatches. There is no tolerance: bits are equal or not.

    ``repeat`` is the command that runs the same stimuli again.
    """

    config: HardwareConfig
    repeat: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    """Blocks compared, by stimulus."""
    mismatched_blocks: int = 0
    mismatches: list[str] = field(default_factory=list)

    def compare(
        self, stimulus: str, operation: Operation, entering: Transactions, expected: Transactions, actual: Transactions
    ) -> None:
        """Compare results of a design with the expected ones."""
        first = self.counts.get(stimulus, 0)
        self.counts[stimulus] = first + len(entering)
        wrong = np.flatnonzero(expected.differ(actual))
        self.mismatched_blocks += len(wrong)
        for row in wrong[: SHOWN - len(self.mismatches)]:
            sides = (side.rows(slice(row, row + 1)) for side in (entering, expected, actual))
            self.mismatches.append(of(operation).described(f"{stimulus} block {first + row}", *sides))

    def refuse(self, stimulus: str, blocks: int, fault: str) -> None:
        """Count blocks without results as mismatches, with the reason."""
        self.counts[stimulus] = self.counts.get(stimulus, 0) + blocks
        self.mismatched_blocks += blocks
        if len(self.mismatches) < SHOWN:
            self.mismatches.append(f"{stimulus}: {fault}")

    @property
    def blocks(self) -> int:
        return sum(self.counts.values())

    @property
    def passed(self) -> bool:
        """True only if something was compared, for every stimulus, and nothing differed."""
        return bool(self.counts) and all(self.counts.values()) and not self.mismatched_blocks

    @property
    def report(self) -> str:
        """The differences, in words; empty if all is well."""
        if self.passed:
            return ""
        if not self.counts or not all(self.counts.values()):
            return "nothing was compared, which is a failure" + "".join(
                f" ({s})" for s, n in self.counts.items() if not n
            )
        return "\n".join(
            [
                f"{self.mismatched_blocks} of {self.blocks} blocks differ ({command_line(self.config)})",
                *self.mismatches,
                *([f"to repeat: {self.repeat}"] if self.repeat else []),
            ]
        )
