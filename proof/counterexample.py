"""A counterexample as a block: converted by the golden model and by the design, and kept for the regression."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..hdl import ConverterConfig
from ..host.errors import DesignError, ToolError
from ..host.files import write_whole
from ..models import Quantized, quantize
from ..models.source import DTYPES
from ..sim import stimuli
from ..sim.comparison import AROUND, single_bits
from ..sim.handshake import HandshakeError
from ..sim.icarus import on_icarus
from ..sim.scoreboard import Scoreboard
from ..sim.stream import stream_text
from ..sim.verilated import Verilated, design_text
from ..spec import Encode

__all__ = ["Counterexample", "disagreement", "replayed", "save_block", "simulated"]

SIMULATED = 5000
"""Random blocks of a proved file that are simulated too."""
FEW = 600
"""Corner blocks, and blocks that differ in one bit, that Icarus is given."""
SOME = 2400
"""Blocks that take the branches of a design, that Icarus is given."""


@dataclass(frozen=True, kw_only=True)
class Counterexample:
    """A block of source patterns that the design converts otherwise than the golden model."""

    block: list[int]
    random: list[int] | None
    mode: int
    report: str
    """What differs, in words, with the command that explains the block."""
    vectors: Path
    """The block as a file for the cocotb regression (`mxcast test --vectors`)."""
    simulator: str = "Verilator"
    """On which it differs."""

    def to_dict(self) -> dict:
        return {
            "block": [f"{pattern:#x}" for pattern in self.block],
            "random": self.random,
            "mode": self.mode,
            "report": self.report,
            "vectors": self.vectors.name,
        }


def replayed(
    config: ConverterConfig,
    mode: int,
    values: dict[str, int],
    text: str,
    top: str,
    folder: Path,
    latency: int = 0,
    icarus: bool = True,
) -> Counterexample | None:
    """What a solver's values mean for a block, if a simulator converts it in the module ``top`` otherwise than
    the model: Verilator, and for a design without registers ``icarus`` too, where it is installed.

    The values are those of a whole block, or of one element and of the largest of its block; ``latency`` is that of a
    design with registers.
    """
    blocks, random = _candidates(config.modes[mode], values)
    patterns = np.array(blocks, f"uint{config.modes[mode].source.bits}")
    found = _on_verilator(config, mode, patterns, random, text, top, folder, latency)
    if found is None and not latency and icarus:
        found = _on_icarus(config, mode, patterns, random, text, top, folder)
    return found


def simulated(
    config: ConverterConfig,
    text: str,
    top: str,
    folder: Path,
    latency: int = 0,
    icarus: bool = True,
    more: np.ndarray | None = None,
) -> Counterexample | None:
    """The first of some corner and random blocks, of blocks that differ in one bit, and of ``more`` (n, block_size)
    patterns, that a simulator converts otherwise than the model, if there is one: Verilator, and for a design without
    registers ``icarus`` too, where it is installed.
    """
    for mode, numerics in enumerate(config.modes):
        of_mode = ConverterConfig(numerics=numerics)
        corners, pairs = stimuli.corner_blocks(numerics), single_bits(of_mode, 0, AROUND)
        given = corners[:0] if more is None else more
        patterns = np.concatenate([corners, stimuli.random_blocks(numerics, SIMULATED, 0), pairs, given])
        random = stimuli.random_bits(numerics, patterns.shape, 0)
        found = _on_verilator(config, mode, patterns, random, text, top, folder, latency)
        if found is None and not latency and icarus:
            few = np.concatenate([corners[:FEW], pairs[:FEW], given[:SOME]])
            random = stimuli.random_bits(numerics, few.shape, 0)
            found = _on_icarus(config, mode, few, random, text, top, folder)
        if found:
            return found
    return None


def _on_verilator(
    config: ConverterConfig,
    mode: int,
    patterns: np.ndarray,
    random: np.ndarray | None,
    text: str,
    top: str,
    folder: Path,
    latency: int,
) -> Counterexample | None:
    """The first block that a design, Verilated, converts otherwise than the model, if there is one."""
    # delays mean nothing to a design that is given time to settle
    numerics, text = config.modes[mode], f"/*verilator timing_off*/\n{text}"
    try:
        if latency and not config.latency:
            designs: list[Verilated] = [stream_text(text, top, numerics, latency)]
        else:
            dut = design_text(text, top, config, lint=False)
            is_last = mode == len(config.modes) - 1  # mode numbers beyond the last are the last too
            dut.modes += (numerics,) * ((1 << config.mode_bits) - len(config.modes)) * is_last
            designs = [dut.mode(number) for number in range(mode, len(dut.modes) if is_last else mode + 1)]
    except ToolError as error:
        if str(error).startswith("verilator_bin failed: "):
            raise DesignError(
                f"Verilator cannot read it: {str(error).removeprefix('verilator_bin failed: ')}"
            ) from None
        raise
    x, vectors = patterns.view(DTYPES[numerics.source.name]), folder / "counterexample.npz"
    try:
        expected = quantize(x, numerics, random=random)
        for dut in designs:
            actual = dut(x, random=random)
            if actual != expected:
                break
    except HandshakeError as fault:
        save_block(vectors, mode, patterns, random)
        return Counterexample(
            block=patterns[0].tolist(),
            random=None if random is None else random[0].tolist(),
            mode=mode,
            report=f"from this block on: {fault}",
            vectors=vectors,
        )
    return _first(config, mode, patterns, random, expected, actual, folder)


def _on_icarus(
    config: ConverterConfig,
    mode: int,
    patterns: np.ndarray,
    random: np.ndarray | None,
    text: str,
    top: str,
    folder: Path,
) -> Counterexample | None:
    """The same on Icarus; None also where Icarus is missing or cannot read the design."""
    expected = quantize(patterns.view(DTYPES[config.modes[mode].source.name]), config.modes[mode], random=random)
    actual = on_icarus(text, top, config.ports, expected, patterns, random, mode)
    if actual is None:
        return None
    found = _first(config, mode, patterns, random, expected, actual, folder)
    if found is None:
        return None
    return replace(
        found, simulator="Icarus", report="on Icarus, where unknown bits (x) are counted as wrong\n" + found.report
    )


def _first(
    config: ConverterConfig,
    mode: int,
    patterns: np.ndarray,
    random: np.ndarray | None,
    expected: Quantized,
    actual: Quantized,
    folder: Path,
) -> Counterexample | None:
    """The first block on which two results differ, if there is one, written to a file for the regression."""
    differs = (expected.scales != actual.scales).any(axis=1) | (expected.codes != actual.codes).any(axis=1)
    if not differs.any():
        return None
    row = int(differs.argmax())
    part, board = slice(row, row + 1), Scoreboard(config)
    drawn, vectors = None if random is None else random[part], folder / "counterexample.npz"
    right, found = (
        Quantized(scales=q.scales[part], codes=q.codes[part], numerics=q.numerics) for q in (expected, actual)
    )
    board.compare("counterexample", patterns[part], right, found, drawn)
    save_block(vectors, mode, patterns[part], drawn)
    return Counterexample(
        block=patterns[row].tolist(),
        random=None if random is None else random[row].tolist(),
        mode=mode,
        report=board.report,
        vectors=vectors,
    )


def _candidates(numerics: Encode, values: dict[str, int]) -> tuple[list[list[int]], np.ndarray | None]:
    """Blocks that hold what a solver found, and their random bits: one lane beside the largest element, beside Inf, or
    beside NaN, whichever gives it its byte and flags; or a whole block."""
    size, source = numerics.block_size, numerics.source
    if "x0" in values:
        blocks = [[values[f"x{lane}"] for lane in range(size)]]
        drawn = [[values.get(f"r{lane}", 0) for lane in range(size)]]
    else:
        infinity = ((1 << source.exp_bits) - 1) << source.man_bits
        companions = [values["largest"], infinity, infinity | 1]
        rest = [0] * (size - 2)
        blocks = [[values["x"], companion, *rest] for companion in companions]
        blocks += [[companion, values["x"], *rest] for companion in companions]
        drawn = [[values.get("r", 0)] * size for _ in blocks]
    return blocks, np.array(drawn, np.uint16) if numerics.random_bits else None


def disagreement(readers: Sequence[str], simulator: str, report: str) -> str:
    """What there is to say where a proof holds as these readers have it, and a simulator shows something else."""
    subject = "both readers of Yosys read" if len(readers) > 1 else f"{readers[0]} reads"
    return (
        f"{subject} a converter that is right for every block, and {simulator} converts a block "
        f"otherwise: one of the tools is wrong\n{report}"
    )


def save_block(path: Path, mode: int, patterns: np.ndarray, random: np.ndarray | None) -> None:
    """Blocks (n, block_size) of patterns, their mode and their random bits, as a file for `mxcast test --vectors`."""
    buffer = io.BytesIO()
    drawn: dict[str, Any] = {} if random is None else {"random": random}
    np.savez(buffer, x=patterns, mode=mode, **drawn)
    write_whole(path, buffer.getvalue())
