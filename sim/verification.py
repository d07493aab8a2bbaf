"""The emitted Verilog, Verilated, against the golden model, at millions of blocks a second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ..models import quantize
from ..spec import ConverterConfig
from . import stimuli as make
from .scoreboard import Scoreboard
from .verilated import Verilated, verilate

__all__ = ["STIMULI", "Verification", "command_line", "verify"]

CHUNK = 1 << 15
"""Blocks that are compared at a time."""

STIMULI = ("standard", "corner", "boundary", "random", "stratified", "exhaustive")
Stimulus = tuple[str, Iterable[np.ndarray]]


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The outcome of `verify`."""

    config: ConverterConfig
    passed: bool
    counts: dict[str, int]
    """Blocks compared, by stimulus or tensor."""
    mismatched_blocks: int
    report: str
    """The first mismatches in words; empty if there are none."""
    seed: int

    @property
    def blocks(self) -> int:
        return sum(self.counts.values())

    def to_dict(self) -> dict:
        return {**self.config.to_dict(), "config_id": self.config.config_id, "passed": self.passed, "blocks": self.blocks,
                "counts": self.counts, "mismatched_blocks": self.mismatched_blocks, "report": self.report, "seed": self.seed}


def verify(config: ConverterConfig, *, stimuli: str = "standard", blocks: int = 1_000_000, seed: int = 0,
           tensors: Iterable[tuple[str, np.ndarray]] | None = None, design: Verilated | None = None,
           progress: Callable[[int, int], None] | None = None) -> Verification:
    """Compare the Verilated design with `models.quantize`, bit for bit.

    ``stimuli`` is one of `STIMULI`: ``standard`` is corner, boundary and ``blocks`` random blocks; ``exhaustive`` is
    every source pattern and every relevant distance below the maximum, ``stratified`` a 64th of that. ``tensors``, pairs of a name and
    (n, block_size) float32 blocks, replaces them. ``design`` is what is verified instead of the emitted file.
    ``progress`` is called with the blocks done and the blocks in all (0 where that is not known).
    """
    if stimuli not in STIMULI:
        raise ValueError(f"stimuli must be one of {', '.join(STIMULI)}, not {stimuli!r}")
    numerics = config.numerics
    design = design or verilate(config)
    board = Scoreboard(config, repeat=f"mxcast verify {command_line(config)} --stimuli {stimuli} --blocks {blocks} --seed {seed}"
                       if tensors is None else "")
    total = 0
    if tensors is not None:
        chosen: Iterator[Stimulus] = ((name, [array]) for name, array in tensors)
    else:
        total = make.exhaustive_total(numerics) if stimuli == "exhaustive" else 0
        chosen = iter(_stimuli(config, stimuli, blocks, seed))
    for name, arrays in chosen:
        board.counts.setdefault(name, 0)
        for array in arrays:
            if array.dtype not in (np.float32, np.uint32) or array.shape[1:] != (numerics.block_size,):
                raise ValueError(f"{name} must be float32 blocks of shape (n, {numerics.block_size}), not {array.dtype} of "
                                 f"shape {array.shape}")
            patterns = np.ascontiguousarray(array).view(np.uint32)
            for start in range(0, len(patterns), CHUNK):
                part = patterns[start:start + CHUNK]
                x = part.view(np.float32)
                board.compare(name, part, quantize(x, numerics), design(x))
                if progress:
                    progress(board.blocks, total)
    return Verification(config=config, passed=board.passed, counts=board.counts,
                        mismatched_blocks=board.mismatched_blocks, report=board.report, seed=seed)


def _stimuli(config: ConverterConfig, kind: str, blocks: int, seed: int) -> Iterator[Stimulus]:
    numerics = config.numerics
    if kind in ("standard", "corner"):
        yield "corner", [make.corner_blocks(numerics)]
    if kind in ("standard", "boundary"):
        yield "boundary", [make.boundary_blocks(numerics)]
    if kind in ("standard", "random"):
        if blocks < 1:
            raise ValueError(f"blocks must be at least 1, not {blocks}")
        yield "random", (make.random_blocks(numerics, min(CHUNK, blocks - start), seed * 1_000_003 + start)
                         for start in range(0, blocks, CHUNK))
    if kind == "stratified":
        yield "stratified", make.stratified_blocks(numerics, seed)
    if kind == "exhaustive":
        yield "exhaustive", make.exhaustive_blocks(numerics)


def command_line(config: ConverterConfig) -> str:
    """The arguments by which the command line means this configuration."""
    fields = {key: value for part in config.to_dict().values() for key, value in part.items() if key != "block"}
    return " ".join([config.numerics.block.name, *(f"--set {key}={value}" for key, value in fields.items())])
