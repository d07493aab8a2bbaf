"""Counterexamples: blocks that the golden model and the design convert differently, kept for the regression."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...hdl import HardwareConfig
from ...host.errors import DesignError, ToolError
from ...host.files import write_whole
from ...sim.check.scoreboard import Scoreboard
from ...sim.operations import drawn, golden, of, supplied
from ...sim.run.driver import Driver
from ...sim.run.handshake import HandshakeError
from ...sim.run.icarus import on_icarus
from ...sim.run.stream import clocked_ports, streamed
from ...sim.run.verilated import driver_of
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


def replayed(
    config: HardwareConfig,
    mode: int,
    blocks: Transactions,
    text: str,
    top: str,
    folder: Path,
    latency: int = 0,
    icarus: bool = True,
) -> Counterexample | None:
    """The first block that the module ``top`` converts differently from the model, on Verilator or, with ``icarus``, on
    Icarus if it is installed; None if there is no such block. ``latency`` is the number of registers of the design."""
    found = _on_verilator(config, mode, blocks, text, top, folder, latency)
    if found is None and icarus:
        found = _on_icarus(config, mode, blocks, text, top, folder, latency)[1]
    return found


def simulated(
    config: HardwareConfig,
    text: str,
    top: str,
    folder: Path,
    latency: int = 0,
    icarus: bool = True,
    more: Transactions | None = None,
) -> Counterexample | None:
    """The first block that a simulator converts differently from the model, or None. The blocks are directed, random,
    differ in one bit, or are ``more``; the simulators as in `replayed`."""
    for mode, rules in enumerate(config.modes):
        know = of(rules)
        given = [] if more is None else [more]
        every = Transactions.joined([know.hard(SIMULATED, 0), know.single_bits(0), *given])
        found = _on_verilator(config, mode, drawn(rules, every, 0), text, top, folder, latency)
        if found is None and icarus:
            few = Transactions.joined([know.few(FEW, FEW), *(part.rows(slice(SOME)) for part in given)])
            found = _on_icarus(config, mode, drawn(rules, few, 0), text, top, folder, latency)[1]
        if found:
            return found
    return None


def stood_by(
    config: HardwareConfig, text: str, top: str, folder: Path, latency: int, icarus: bool
) -> SecondLeg | Counterexample:
    """Simulate many blocks of each kind of stimuli on both simulators; returns their numbers, or the first that
    differs."""
    kinds = [stimuli(rules) for rules in config.modes]
    for mode, every in enumerate(kinds):
        for blocks in every.values():
            if found := _on_verilator(config, mode, blocks, text, top, folder, latency):
                return found
    wrong: list[Counterexample] = []

    def compare(mode: int, blocks: Transactions) -> str | None:
        has_results, found = _on_icarus(config, mode, blocks, text, top, folder, latency)
        wrong.extend(filter(None, [found]))
        return (found.report if found else "") if has_results else None

    done, why, _ = on_icarus_in_turn(kinds, compare, "" if icarus else NOT_ASKED)
    if wrong:
        return wrong[0]
    given = sum(len(blocks) for every in kinds for blocks in every.values())
    return SecondLeg(kinds=tuple(kinds[0]), on_verilator=given, on_icarus=done, why_not_more=why)


def _on_verilator(
    config: HardwareConfig, mode: int, blocks: Transactions, text: str, top: str, folder: Path, latency: int
) -> Counterexample | None:
    """The first block that the Verilated design converts differently from the model, or None."""
    # a design that has time to settle needs no delays
    rules, text = config.modes[mode], f"/*verilator timing_off*/\n{text}"
    try:
        if latency and not config.latency:
            design: Driver = streamed(text, top, rules, latency)
        else:
            design = driver_of(text, top, config, lint=False)
    except ToolError as error:
        if str(error).startswith("verilator_bin failed: "):
            raise DesignError(
                f"Verilator cannot read it: {str(error).removeprefix('verilator_bin failed: ')}"
            ) from None
        raise
    is_last = mode == len(config.modes) - 1  # mode numbers beyond the last mean the last
    numbers = range(mode, 1 << config.mode_bits if is_last else mode + 1)
    expected = golden(rules, blocks)
    try:
        for number in numbers:
            actual = design(blocks.in_mode(number))
            if actual.differ(expected).any():
                break
    except HandshakeError as fault:
        vectors, first = folder / "counterexample.npz", blocks.rows(slice(1))
        save_blocks(vectors, rules, mode, blocks)
        return Counterexample(block=first, mode=mode, report=f"from this block on: {fault}", vectors=vectors)
    return _first(config, mode, blocks, expected, actual, folder)


def _on_icarus(
    config: HardwareConfig, mode: int, blocks: Transactions, text: str, top: str, folder: Path, latency: int
) -> tuple[bool, Counterexample | None]:
    """Whether Icarus is installed and reads the design; and the first block that differs, or None."""
    rules = config.modes[mode]
    expected = golden(rules, blocks)
    ports = clocked_ports(rules) if latency and not config.latency else config.ports
    text, top = behind_ports(config, text, top)
    actual = on_icarus(text, top, ports, supplied(config, blocks).in_mode(mode), expected, latency)
    if actual is None:
        return False, None
    found = _first(config, mode, blocks, expected, actual, folder)
    if found is None:
        return True, None
    report = f"on Icarus, where unknown bits (x) are counted as wrong\n{found.report}"
    return True, replace(found, simulator="Icarus", report=report)


def _first(
    config: HardwareConfig, mode: int, blocks: Transactions, expected: Transactions, actual: Transactions, folder: Path
) -> Counterexample | None:
    """The first block on which two results differ, written to a file for the regression; None if they are equal."""
    differs = expected.differ(actual)
    if not differs.any():
        return None
    row, board = int(differs.argmax()), Scoreboard(config)
    block, *results = (side.rows(slice(row, row + 1)) for side in (blocks, expected, actual))
    board.compare("counterexample", config.modes[mode], block, *results)
    vectors = folder / "counterexample.npz"
    save_blocks(vectors, config.modes[mode], mode, block)
    return Counterexample(block=block, mode=mode, report=board.report, vectors=vectors)


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
