"""Simulations for a text that only one reader of Yosys can read, because the proof depends on that reader alone."""

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
"""Blocks of each kind of stimuli, at most."""
AT_ONCE = 1000
"""Blocks in a run of Icarus."""
SECONDS = 300
"""Time for all runs of Icarus, which is slow on large designs."""
NOT_ASKED = "ports of arrays, blocks in beats, and blocks that are held for several edges, are not simulated there"
"""The reason why Icarus is not used."""


@dataclass(frozen=True, kw_only=True)
class SecondLeg:
    """Numbers of blocks that simulators convert like the model."""

    kinds: tuple[str, ...]
    on_verilator: int
    on_icarus: int
    why_not_more: str = ""
    """Why Icarus simulated fewer blocks, if it did."""

    def __str__(self) -> str:
        icarus = f"{self.on_icarus:,} on Icarus"
        if self.why_not_more:
            icarus = f"{icarus}: {self.why_not_more}" if self.on_icarus else f"none on Icarus: {self.why_not_more}"
        return f"simulated too: {self.on_verilator:,} blocks ({', '.join(self.kinds)}) on Verilator, {icarus}"


def stimuli(rules: BlockOperation, seed: int = 0) -> dict[str, Transactions]:
    """Blocks of each kind, evenly spaced, `BLOCKS` at most."""

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
    """The number of blocks that Icarus converts like the model, why there are not more, and a report about the first
    block that differs, or an empty one. The kinds of each mode take turns, with `AT_ONCE` blocks each.

    ``compare`` returns the report for a mode number and blocks, or None if Icarus gives no results. ``why_not`` is the
    reason not to use Icarus at all.
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
