"""Blocks by simulators for a text that one of Yosys' readers alone can read: a mistake of that reader would else carry
the whole proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ...host.errors import ToolError
from ...sim.operations import drawn, of
from ...sim.run import tools
from ...sim.transactions import Transactions
from ...spec import BlockOperation

BLOCKS = 10_000
"""Blocks of each kind of stimuli at most."""
AT_ONCE = 1000
"""Blocks that Icarus is given in a run."""
SECONDS = 300
"""For all runs of Icarus, which is slow on large designs."""
NOT_ASKED = "ports of arrays, and blocks that are held for several edges, are not simulated there"
"""Why it is not asked."""


@dataclass(frozen=True, kw_only=True)
class SecondLeg:
    """Blocks that simulators convert as the model does."""

    kinds: tuple[str, ...]
    on_verilator: int
    on_icarus: int
    why_not_more: str = ""
    """Why Icarus was given fewer, if it was."""

    def __str__(self) -> str:
        icarus = f"{self.on_icarus:,} on Icarus"
        if self.why_not_more:
            icarus = f"{icarus}: {self.why_not_more}" if self.on_icarus else f"none on Icarus: {self.why_not_more}"
        return f"simulated too: {self.on_verilator:,} blocks ({', '.join(self.kinds)}) on Verilator, {icarus}"


def stimuli(rules: BlockOperation, seed: int = 0) -> dict[str, Transactions]:
    """Blocks of each kind, `BLOCKS` at most, evenly chosen from all of it."""

    def few(blocks: Transactions) -> Transactions:
        return blocks.rows(np.linspace(0, len(blocks) - 1, min(BLOCKS, len(blocks))).astype(int))

    every = of(rules).swept(BLOCKS, seed, False)
    return {
        "sweep" if name[0].isdigit() else name: drawn(rules, few(Transactions.joined(map(few, parts))), seed)
        for name, parts in every
    }


def on_icarus_in_turn(
    blocks: Iterable[Mapping[str, Transactions]], compare: Callable[[int, Transactions], str | None], why_not: str = ""
) -> tuple[int, str, str]:
    """How many blocks Icarus converts as the model does, why not more, and what is wrong with the first that it
    converts otherwise, empty if none is. The kinds of each mode take turns, `AT_ONCE` blocks each.

    ``compare`` takes the number of a mode and blocks, and returns that report; None if Icarus gives no results.
    ``why_not`` says why it is not asked at all.
    """
    if why_not:
        return 0, why_not, ""
    try:
        tools.icarus()
    except ToolError:
        return 0, "it is not installed", ""
    turns = [
        (start, mode, some.rows(slice(start, start + AT_ONCE)))
        for mode, kinds in enumerate(blocks)
        for some in kinds.values()
        for start in range(0, len(some), AT_ONCE)
    ]
    done, end = 0, time.monotonic() + SECONDS
    for _, mode, some in sorted(turns, key=lambda turn: turn[0]):
        if time.monotonic() > end:
            return done, f"{SECONDS} seconds are over", ""
        report = compare(mode, some)
        if report is None:
            return done, "it cannot read the text, or takes too long", ""
        if report:
            return done, "", report
        done += len(some)
    return done, "", ""
