"""The emitted Verilog, Verilated, against the golden model, at millions of blocks a second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import numpy as np

from ...hdl import ConverterConfig, ConverterFields, Format, HardwareConfig, converter_config, verilog
from ...hdl.config.command import command_line
from ...host.cache import refreshed
from ...models.arrays.parallel import in_order, processors
from ...models.arrays.source import DTYPES, narrow, require_whole, widen
from ...spec import Encode, Nvfp4Encode, Operation
from .. import stimuli as make
from ..encode.simulation import blocks_of
from ..operations import drawn, golden, of
from ..run.verilator.driver import Driver
from ..run.verilator.handshake import HandshakeError, StalledDriver
from ..run.verilator.verilated import driver_of
from ..simulation import EncoderSimulation, Stimuli
from ..transactions import Transactions
from .record import Record
from .scoreboard import Scoreboard
from .window import Window

CHUNK = 1 << 15
"""Blocks that are compared at a time."""


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The outcome of `verify`."""

    config: HardwareConfig
    passed: bool
    counts: dict[str, int]
    """Blocks compared, by stimulus or tensor."""
    mismatched_blocks: int
    report: str
    """The first mismatches in words; empty if nothing differs."""
    seed: int
    record: Path | None = None
    """The file of an exhaustive verification."""
    kept_blocks: int = 0
    """Blocks that this run took from the record of earlier runs; all blocks if that was finished."""
    seconds: float | None = None
    """Duration of the comparison on record, over all runs."""

    @property
    def blocks(self) -> int:
        return sum(self.counts.values())

    def to_dict(self) -> dict:
        return {
            **self.config.to_dict(),
            "config_id": self.config.config_id,
            "passed": self.passed,
            "blocks": self.blocks,
            "counts": self.counts,
            "mismatched_blocks": self.mismatched_blocks,
            "report": self.report,
            "seed": self.seed,
            **(
                {"record": str(self.record), "kept_blocks": self.kept_blocks, "seconds": self.seconds}
                if self.record
                else {}
            ),
        }


def verify(
    config: Format | HardwareConfig,
    profile: str | None = None,
    *,
    stimuli: str = "standard",
    blocks: int = 1_000_000,
    seed: int = 0,
    tensors: Iterable[tuple[str, np.ndarray]] | None = None,
    design: Driver | None = None,
    window: Window | None = None,
    progress: Callable[[int, int], None] | None = None,
    force: bool = False,
    **fields: Unpack[ConverterFields],
) -> Verification:
    """Compare the Verilated design of a configuration with the golden model of its operation, bit for bit.

    The configuration is complete, or for an encoder a format with a profile and fields, as in `hdl.converter_config`.
    ``stimuli`` is one of the kinds of the operation (`Simulation.kinds`). ``standard`` is directed blocks and
    ``blocks`` random ones. For encoders ``exhaustive`` is every source pattern and every relevant distance below the
    maximum, and ``stratified`` a 64th of that. ``tensors``, pairs of a name and (n, block_size) float32 blocks,
    replaces the stimuli of an encoder. Every mode of the configuration is compared, on a share of the random blocks.
    ``design`` is verified in place of the emitted file. A ``window`` keeps the blocks around the one that it names.
    A design with registers gets gaps on both sides, which depend
    on ``seed``. ``progress`` is called with the blocks done and the blocks in all (0 if unknown). Raises ValueError for
    stimuli that the operation does not support.

    An exhaustive verification has a `Record`: after an interruption the next call goes on, and the outcome of a
    finished one is returned at once. ``force`` starts over.
    """
    if not isinstance(config, HardwareConfig):
        config = converter_config(config, profile, **fields)
    elif fields or profile is not None:
        raise TypeError(f"a {type(config).__name__} is complete: leave out profile and fields")
    simulations = [of(rules) for rules in config.modes]
    kinds = simulations[0].kinds
    if stimuli not in kinds:
        raise ValueError(f"stimuli must be one of {', '.join(kinds)}, not {stimuli!r}")
    require_whole("blocks", blocks)
    require_whole("seed", seed)
    if blocks < 1:
        raise ValueError(f"blocks must be at least 1, not {blocks}")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, not {seed}")
    encoders = [one for one in simulations if isinstance(one, EncoderSimulation)]
    if tensors is not None and not encoders:
        raise ValueError("tensors are numbers, which an encoder takes")
    with refreshed(force):
        design = design or driver_of(verilog(config, "dut"), "dut", config)
    if tensors is None and stimuli == "exhaustive" and isinstance(config, ConverterConfig):
        return _verify_all(config, seed, design, progress, force)
    board = Scoreboard(
        config,
        repeat=f"mxcast verify {command_line(config)} --stimuli {stimuli} --blocks {blocks} --seed {seed}"
        if tensors is None
        else "",
    )
    given = None if tensors is None else list(tensors)  # they are read once for each mode
    for number, simulation in enumerate(simulations):
        chosen: Stimuli
        if given is None:
            chosen = simulation.stimuli(stimuli, -(-blocks // len(config.modes)), seed)
        else:
            encoder = encoders[number]
            chosen = ((name, [encoder.of_tensor(_as_patterns(name, array, encoder.rules))]) for name, array in given)
        for name, parts in chosen:
            for _ in _comparisons(board, number, name, parts, design, seed, window):
                if progress:
                    progress(board.blocks, 0)
    return Verification(
        config=config,
        passed=board.passed,
        counts=board.counts,
        mismatched_blocks=board.mismatched_blocks,
        report=board.report,
        seed=seed,
    )


def _verify_all(
    config: ConverterConfig, seed: int, design: Driver, progress: Callable[[int, int], None] | None, force: bool
) -> Verification:
    """Compare all of `exhaustive_blocks` in every mode, except those in the record."""
    total = sum(map(make.exhaustive_total, config.modes))
    record = Record(config, design.verilog, seed=seed, total=total, force=force)
    design.prepare(total - record.blocks)
    board = Scoreboard(config, repeat=f"mxcast verify {command_line(config)} --exhaustive --seed {seed} --force")
    record.restore(board)
    try:
        for number, rules in enumerate(config.modes):
            rest = make.exhaustive_blocks(rules, board.counts.get(_name(config, number, "exhaustive"), 0))
            parts = map(blocks_of, rest)
            for _ in _comparisons(board, number, "exhaustive", parts, design, seed, jobs=processors()):
                record.keep(board)
                if progress:
                    progress(board.blocks, total)
    except BaseException as error:
        record.save()
        if isinstance(error, KeyboardInterrupt):
            command = "the same command without --force" if force else "the same command"
            raise KeyboardInterrupt(
                f"interrupted after {record.blocks} of {total} blocks: {command} goes on from there"
            ) from None
        raise
    return Verification(
        config=config,
        passed=board.passed,
        counts=board.counts,
        mismatched_blocks=board.mismatched_blocks,
        report=board.report,
        seed=seed,
        record=record.path,
        kept_blocks=record.kept_blocks,
        seconds=record.seconds,
    )


def _name(config: HardwareConfig, mode: int, stimulus: str) -> str:
    return f"mode {mode} {stimulus}" if config.alternatives else stimulus


def _comparisons(
    board: Scoreboard,
    mode: int,
    stimulus: str,
    parts: Iterable[Transactions],
    design: Driver,
    seed: int,
    window: Window | None = None,
    jobs: int = 1,
) -> Iterator[None]:
    """Compare blocks in a mode, a chunk at each step. Random bits depend on the seed and the earlier blocks.

    ``jobs`` threads compute the results; the chunks are compared in their order.
    """
    rules, name = board.config.modes[mode], _name(board.config, mode, stimulus)
    board.counts.setdefault(name, 0)

    def chunks() -> Iterator[tuple[Transactions, int]]:
        first, before = board.counts[name], board.blocks - board.counts[name]
        for part in parts:
            for start in range(0, len(part), CHUNK):
                blocks = first + before
                chunk = drawn(rules, part.rows(slice(start, start + CHUNK)), seed + blocks).in_mode(mode)
                if window is not None:
                    window.offer(name, first, blocks, mode, chunk)
                yield chunk, seed + blocks
                first += len(chunk)

    def computed(given: tuple[Transactions, int]) -> tuple[Transactions, Transactions, Transactions | HandshakeError]:
        entering, seed = given
        seeded = design.seeded(seed) if isinstance(design, StalledDriver) else design
        try:
            found: Transactions | HandshakeError = seeded(entering)
        except HandshakeError as fault:
            found = fault
        return entering, golden(rules, entering), found

    for entering, expected, found in in_order(computed, chunks(), jobs):
        _compare(board, name, rules, entering, expected, found)
        yield


def _compare(
    board: Scoreboard,
    name: str,
    rules: Operation,
    entering: Transactions,
    expected: Transactions,
    found: Transactions | HandshakeError,
) -> None:
    if isinstance(found, HandshakeError):
        board.refuse(name, len(entering), str(found))
    else:
        board.compare(name, rules, entering, expected, found)


def _as_patterns(name: str, array: np.ndarray, numerics: Encode | Nvfp4Encode) -> np.ndarray:
    """Source patterns of blocks, given as patterns or as float32 numbers that the source format represents exactly."""
    source = DTYPES[numerics.source.name]
    pattern = np.dtype(f"u{source.itemsize}")
    if array.dtype not in (np.float32, pattern) or array.shape[1:] != (numerics.block_size,):
        raise ValueError(
            f"{name} must be float32 blocks of shape (n, {numerics.block_size}), not {array.dtype} of "
            f"shape {array.shape}"
        )
    if array.dtype == np.float32 and pattern != np.uint32:
        wide = np.ascontiguousarray(array).view(np.uint32)
        short = narrow(wide, numerics.source)
        if not np.array_equal(widen(short, np.empty(short.shape, np.uint32)), wide):
            raise ValueError(f"{name} has numbers that are not {numerics.source.name}")
        return short.view(pattern)
    return np.ascontiguousarray(array).view(pattern)
