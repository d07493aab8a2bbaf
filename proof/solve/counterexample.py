"""Counterexamples: blocks that the golden model and the design convert differently, kept for the regression."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...hdl import HardwareConfig
from ...host.errors import DesignError, ToolError
from ...host.files import write_whole
from ...sim.check.scoreboard import Scoreboard
from ...sim.operations import drawn, golden, of, supplied
from ...sim.run.icarus import on_icarus
from ...sim.run.verilator.driver import Driver
from ...sim.run.verilator.handshake import HandshakeError
from ...sim.run.verilator.stream import clocked_ports, streamed
from ...sim.run.verilator.verilated import driver_of
from ...sim.stored import behind_ports
from ...sim.transactions import Transactions
from ...spec import BlockOperation, Role
from .second_leg import NOT_ASKED, SecondLeg, on_icarus_in_turn, stimuli

SIMULATED = 5000
"""Random blocks for the simulation of a proved file."""
FEW = 600
"""Corner blocks, and blocks that differ in one bit, for Icarus."""
SOME = 2400
"""Blocks that take the branches of a design, for Icarus."""
FAILED = "verilator_bin failed: "
"""Start of the message of a `ToolError` from Verilator."""
VECTORS = "counterexample.npz"
"""The file with a counterexample."""


@dataclass(frozen=True, kw_only=True)
class Counterexample:
    """A block that the design and the golden model convert differently."""

    block: Transactions
    """One transaction."""
    mode: int
    report: str
    """The differences in words, with the command that explains the block."""
    vectors: Path
    """The block as a file for the cocotb regression (`mxcast test --vectors`)."""
    simulator: str = "Verilator"
    """The simulator that shows the difference."""

    def to_dict(self) -> dict:
        arrays = dict(self.block.arrays)
        random = arrays.pop(Role.RANDOM, None)
        (elements, *others) = arrays.items()
        return {
            "block": [f"{word:#x}" for word in elements[1][0].tolist()],
            **{str(role): [f"{word:#x}" for word in array[0].tolist()] for role, array in others},
            "random": None if random is None else random[0].tolist(),
            "mode": self.mode,
            "report": self.report,
            "vectors": self.vectors.name,
        }


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """Simulations of the module ``top`` of a text against the model; counterexamples are written to ``folder``."""

    config: HardwareConfig
    text: str
    top: str
    folder: Path
    latency: int
    """The number of registers on the way."""
    icarus: bool
    """Whether the text is simulated on Icarus too, if it is installed."""

    def replayed(self, mode: int, blocks: Transactions) -> Counterexample | None:
        """The first of some blocks that differs, or None."""
        return self.on_verilator(mode, blocks) or (self.on_icarus(mode, blocks)[1] if self.icarus else None)

    def first(self, more: Transactions | None = None) -> Counterexample | None:
        """The first block that differs, or None: of directed and random blocks, blocks that differ in one bit, and
        ``more``.
        """
        given = [] if more is None else [more]
        for mode, rules in enumerate(self.config.modes):
            know = of(rules)
            every = Transactions.joined([know.hard(SIMULATED, 0), know.single_bits(0), *given])
            found = self.on_verilator(mode, drawn(rules, every, 0))
            if found is None and self.icarus:
                few = Transactions.joined([know.few(FEW, FEW), *(part.rows(slice(SOME)) for part in given)])
                found = self.on_icarus(mode, drawn(rules, few, 0))[1]
            if found:
                return found
        return None

    def second_leg(self) -> SecondLeg | Counterexample:
        """The first block that differs, of many of each kind of stimuli, or the numbers of blocks."""
        kinds = [stimuli(rules) for rules in self.config.modes]
        for mode, every in enumerate(kinds):
            for blocks in every.values():
                if found := self.on_verilator(mode, blocks):
                    return found
        wrong: list[Counterexample] = []

        def compare(mode: int, blocks: Transactions) -> str | None:
            has_results, found = self.on_icarus(mode, blocks)
            wrong.extend(filter(None, [found]))
            return (found.report if found else "") if has_results else None

        done, why, _ = on_icarus_in_turn(kinds, compare, "" if self.icarus else NOT_ASKED)
        if wrong:
            return wrong[0]
        given = sum(len(blocks) for every in kinds for blocks in every.values())
        return SecondLeg(kinds=tuple(kinds[0]), on_verilator=given, on_icarus=done, why_not_more=why)

    def on_verilator(self, mode: int, blocks: Transactions) -> Counterexample | None:
        """The first block that differs on Verilator, or None."""
        config, rules, expected = self.config, self.config.modes[mode], golden(self.config.modes[mode], blocks)
        with verilator_reads():
            design: Driver = (
                streamed(settling(self.text), self.top, rules, self.latency)
                if self.latency and not config.latency
                else driver_of(settling(self.text), self.top, config, lint=False)
            )
        is_last = mode == len(config.modes) - 1  # mode numbers beyond the last mean the last
        try:
            for number in range(mode, 1 << config.mode_bits if is_last else mode + 1):
                actual = design(blocks.in_mode(number))
                if actual.differ(expected).any():
                    break
        except HandshakeError as fault:
            return self._counterexample(mode, blocks, f"from this block on: {fault}")
        return self._first(mode, blocks, expected, actual)

    def on_icarus(self, mode: int, blocks: Transactions) -> tuple[bool, Counterexample | None]:
        """Whether Icarus is installed and reads the text; and the first block that differs there, or None."""
        config, rules, expected = self.config, self.config.modes[mode], golden(self.config.modes[mode], blocks)
        ports = clocked_ports(rules) if self.latency and not config.latency else config.ports
        text, top = behind_ports(config, self.text, self.top)
        actual = on_icarus(text, top, ports, supplied(config, blocks).in_mode(mode), expected, self.latency)
        if actual is None:
            return False, None
        found = self._first(mode, blocks, expected, actual)
        if found is None:
            return True, None
        report = f"on Icarus, where unknown bits (x) are counted as wrong\n{found.report}"
        return True, replace(found, simulator="Icarus", report=report)

    def _first(
        self, mode: int, blocks: Transactions, expected: Transactions, actual: Transactions
    ) -> Counterexample | None:
        differs = expected.differ(actual)
        if not differs.any():
            return None
        row, board = int(differs.argmax()), Scoreboard(self.config)
        block, *results = (side.rows(slice(row, row + 1)) for side in (blocks, expected, actual))
        board.compare("counterexample", self.config.modes[mode], block, *results)
        return self._counterexample(mode, block, board.report)

    def _counterexample(self, mode: int, blocks: Transactions, report: str) -> Counterexample:
        vectors = self.folder / VECTORS
        save_blocks(vectors, self.config.modes[mode], mode, blocks)
        return Counterexample(block=blocks.rows(slice(1)), mode=mode, report=report, vectors=vectors)


def settling(text: str) -> str:
    """A text without delays for Verilator: the design has time to settle."""
    return f"/*verilator timing_off*/\n{text}"


@contextmanager
def verilator_reads() -> Iterator[None]:
    """Raise `DesignError` if Verilator cannot read a text."""
    try:
        yield
    except ToolError as error:
        if not str(error).startswith(FAILED):
            raise
        raise DesignError(f"Verilator cannot read it: {str(error).removeprefix(FAILED)}") from None


def disagreement(readers: Sequence[str], simulator: str, report: str) -> str:
    """The message for a proof that holds for these readers, although a simulator shows a difference."""
    subject = "both readers of Yosys read" if len(readers) > 1 else f"{readers[0]} reads"
    return (
        f"{subject} a converter that is right for every block, and {simulator} converts a block "
        f"otherwise: one of the tools is wrong\n{report}"
    )


def save_blocks(path: Path, rules: BlockOperation, mode: int, blocks: Transactions) -> None:
    """Write blocks, as arrays by the names of their ports, and their mode to a file for `mxcast test --vectors`."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {port.name: blocks[port.role] for port in rules.ports if port.direction == "input"}
    np.savez(buffer, **arrays, mode=mode)
    write_whole(path, buffer.getvalue())
