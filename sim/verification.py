"""The emitted Verilog, Verilated, against the golden model, at millions of blocks a second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import numpy as np

from ..hdl import ConverterConfig, ConverterFields, DecoderConfig, Format, HardwareConfig, converter_config
from ..host.cache import refreshed
from ..models import quantize
from ..models.source import DTYPES, narrow, widen
from ..spec import Encode
from . import stimuli as make
from .command import command_line
from .decoder import VerilatedDecoder, compared, decoder_rows, pairs, verilate_decoder
from .handshake import HandshakeError, Stalled
from .record import Record
from .scoreboard import Scoreboard
from .verilated import Verilated, verilate

__all__ = ["DECODER_STIMULI", "STIMULI", "Verification", "verify", "verify_decoder"]

CHUNK = 1 << 15
"""Blocks that are compared at a time."""

STIMULI = ("standard", "corner", "boundary", "random", "stratified", "exhaustive")
Stimulus = tuple[str, Iterable[np.ndarray]]


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The outcome of `verify`."""

    config: HardwareConfig
    passed: bool
    counts: dict[str, int]
    """Blocks compared, by stimulus or tensor."""
    mismatched_blocks: int
    report: str
    """The first mismatches in words; empty if there are none."""
    seed: int
    record: Path | None = None
    """The file of an exhaustive verification."""
    kept_blocks: int = 0
    """Blocks that earlier runs compared and this one took from the record: all, if it was finished."""
    seconds: float | None = None
    """What the comparison on record took, over all runs."""

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
    config: Format,
    profile: str | None = None,
    *,
    stimuli: str = "standard",
    blocks: int = 1_000_000,
    seed: int = 0,
    tensors: Iterable[tuple[str, np.ndarray]] | None = None,
    design: Verilated | None = None,
    progress: Callable[[int, int], None] | None = None,
    force: bool = False,
    **fields: Unpack[ConverterFields],
) -> Verification:
    """Compare the Verilated design of a configuration with `models.quantize`, bit for bit.

    The configuration is given as to `hdl.converter_config`: complete, or as a format with a profile and fields.
    ``stimuli`` is one of `STIMULI`: ``standard`` is corner, boundary and ``blocks`` random blocks; ``exhaustive`` is
    every source pattern and every relevant distance below the maximum, ``stratified`` a 64th of that. ``tensors``,
    pairs of a name and (n, block_size) float32 blocks, replaces them. Every mode of the configuration is compared, on a
    share of the random blocks. ``design`` is what is verified instead of the emitted file. One with registers is given
    gaps on both sides, which depend on ``seed``. ``progress`` is called with the blocks done and the blocks in all (0
    where that is not known).

    An exhaustive verification is kept in a `Record`: interrupted, it goes on where it was when it is called again;
    finished, its outcome is given at once. ``force`` starts anew.
    """
    if stimuli not in STIMULI:
        raise ValueError(f"stimuli must be one of {', '.join(STIMULI)}, not {stimuli!r}")
    if blocks < 1:
        raise ValueError(f"blocks must be at least 1, not {blocks}")
    config = converter_config(config, profile, **fields)
    with refreshed(force):
        design = design or verilate(config)
    if tensors is None and stimuli == "exhaustive":
        return _verify_all(config, seed, design, progress, force)
    board = Scoreboard(
        config,
        repeat=f"mxcast verify {command_line(config)} --stimuli {stimuli} --blocks {blocks} --seed {seed}"
        if tensors is None
        else "",
    )
    if tensors is not None and config.alternatives:  # they are read once for each mode
        tensors = list(tensors)
    for number, numerics in enumerate(config.modes):
        chosen = (
            _stimuli(numerics, stimuli, -(-blocks // len(config.modes)), seed)
            if tensors is None
            else ((name, [array]) for name, array in tensors)
        )
        for name, arrays in chosen:
            name = _name(config, number, name)
            for _ in _comparisons(board, name, arrays, numerics, design.mode(number), seed):
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


DECODER_STIMULI = ("standard", "pairs", "random")


def verify_decoder(
    config: DecoderConfig,
    *,
    stimuli: str = "standard",
    blocks: int = 1_000_000,
    seed: int = 0,
    design: VerilatedDecoder | None = None,
    progress: Callable[[int, int], None] | None = None,
    force: bool = False,
) -> Verification:
    """Compare the Verilated design of a decoder with `models.dequantize`, bit for bit.

    ``stimuli`` is one of `DECODER_STIMULI`: ``pairs`` is every scale byte with every code, in every lane; ``random``
    are ``blocks`` random ones; ``standard`` is both. ``design`` is what is verified instead of the emitted file.
    Raises ValueError for other stimuli.
    """
    if stimuli not in DECODER_STIMULI:
        raise ValueError(f"stimuli of a decoder must be one of {', '.join(DECODER_STIMULI)}, not {stimuli!r}")
    if blocks < 1:
        raise ValueError(f"blocks must be at least 1, not {blocks}")
    with refreshed(force):
        design = design or verilate_decoder(config, seed=seed)
    chosen = {"pairs": pairs(config.numerics, seed), "random": decoder_rows(config.numerics, blocks, seed)}
    counts, wrong, report = compared(
        design,
        [(name, rows) for name, rows in chosen.items() if stimuli in ("standard", name)],
        lambda done: progress(done, 0) if progress else None,
    )
    return Verification(
        config=config, passed=not report, counts=counts, mismatched_blocks=wrong, report=report, seed=seed
    )


def _verify_all(
    config: ConverterConfig, seed: int, design: Verilated, progress: Callable[[int, int], None] | None, force: bool
) -> Verification:
    """All of `exhaustive_blocks` in every mode, as far as the record does not have them already."""
    total = sum(map(make.exhaustive_total, config.modes))
    record = Record(config, design.verilog, seed=seed, total=total, force=force)
    board = Scoreboard(config, repeat=f"mxcast verify {command_line(config)} --exhaustive --seed {seed} --force")
    record.restore(board)
    try:
        for number, numerics in enumerate(config.modes):
            name = _name(config, number, "exhaustive")
            rest = make.exhaustive_blocks(numerics, board.counts.get(name, 0))
            for _ in _comparisons(board, name, rest, numerics, design.mode(number), seed):
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


def _name(config: ConverterConfig, mode: int, stimulus: str) -> str:
    return f"mode {mode} {stimulus}" if config.alternatives else stimulus


def _comparisons(
    board: Scoreboard, name: str, arrays: Iterable[np.ndarray], numerics: Encode, design: Verilated, seed: int
) -> Iterator[None]:
    """Compare arrays of blocks, a chunk at each step. Random bits depend on the seed and on the blocks before the
    chunk.
    """
    board.counts.setdefault(name, 0)
    for array in arrays:
        patterns = _as_patterns(name, array, numerics)
        for start in range(0, len(patterns), CHUNK):
            _compare(board, name, patterns[start : start + CHUNK], numerics, design, seed + board.blocks)
            yield


def _compare(
    board: Scoreboard, name: str, patterns: np.ndarray, numerics: Encode, design: Verilated, seed: int
) -> None:
    x, random = patterns.view(DTYPES[numerics.source.name]), make.random_bits(numerics, patterns.shape, seed)
    if isinstance(design, Stalled):
        design = design.seeded(seed)
    try:
        board.compare(name, patterns, quantize(x, numerics, random=random), design(x, random=random), random)
    except HandshakeError as fault:
        board.refuse(name, len(patterns), str(fault))


def _as_patterns(name: str, array: np.ndarray, numerics: Encode) -> np.ndarray:
    """Source patterns of blocks: patterns themselves, or float32 numbers, which the source must hold exactly."""
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


def _stimuli(numerics: Encode, kind: str, blocks: int, seed: int) -> Iterator[Stimulus]:
    if kind in ("standard", "corner"):
        yield "corner", [make.corner_blocks(numerics)]
    if kind in ("standard", "boundary"):
        yield "boundary", [make.boundary_blocks(numerics)]
    if kind in ("standard", "random"):
        yield (
            "random",
            (
                make.random_blocks(numerics, min(CHUNK, blocks - start), seed * 1_000_003 + start)
                for start in range(0, blocks, CHUNK)
            ),
        )
    if kind == "stratified":
        yield "stratified", make.stratified_blocks(numerics, seed)
