"""The cocotb bench of a block converter. It runs inside a simulator, started by `regression.test`.

Each test drives a family of stimuli and compares scale and codes with the golden model through one scoreboard. No
output bit may be unknown when the inputs are not. On a simulator of four states there are unknown inputs too;
`unknowns` says what then must be known. Blocks flow through a converter with registers (`flow`), with gaps on both
sides.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import Timer
from cocotb.types import LogicArray

from mxcast.hdl import ConverterConfig
from mxcast.models import quantize
from mxcast.models.block import Quantized
from mxcast.models.source import DTYPES
from mxcast.sim import stimuli, unknowns
from mxcast.sim.flow import Flow, FlowError, Inputs
from mxcast.sim.scoreboard import SHOWN, Scoreboard
from mxcast.sim.unknowns import packed
from mxcast.spec import Numerics

BENCH = Path(os.environ["MXCAST_BENCH"])
JOB = json.loads(BENCH.read_text())
COMPARISONS = BENCH.with_name(JOB["comparisons"])
CONFIG = ConverterConfig.from_dict(JOB)
MODES = list(range(len(CONFIG.modes)))
KNOWN = str.maketrans("01XZUWLH-", "110000000")
ONES = str.maketrans("XZUWLH-", "0000000")


class Driver:
    """Pin-level access to the converter in one mode: one block in, its scale and codes out."""

    def __init__(self, dut, mode: int) -> None:
        self.dut, self.number, self.numerics = dut, mode, CONFIG.modes[mode]
        if CONFIG.alternatives:
            dut.mode.value = mode

    async def convert(self, block: np.ndarray, random: np.ndarray | None) -> tuple[int, list[int]]:
        self.dut.x.value = packed(block, self.numerics.source.bits)
        if random is not None:
            self.dut.random.value = packed(random, self.numerics.random_bits)
        await Timer(1, "ns")
        if not (self.dut.scale.value.is_resolvable and self.dut.p.value.is_resolvable):
            inputs = ",".join(f"0x{number:0{self.numerics.source.bits // 4}X}" for number in block)
            raise AssertionError(
                f"unknown bits in the outputs: scale {self.dut.scale.value}, p {self.dut.p.value} for {inputs}"
            )
        return self.dut.scale.value.to_unsigned(), unpacked(self.dut.p.value.to_unsigned(), self.numerics)

    async def arrive(
        self, block: np.ndarray, random: np.ndarray | None, first: int, mode_first: bool
    ) -> tuple[int, list[int]]:
        """`convert` after everything was unknown: one lane after the other gets its number, from lane ``first`` on, and
        the mode comes before them or after.
        """
        size, bits, count = self.numerics.block_size, self.numerics.source.bits, self.numerics.random_bits
        everything, known = (1 << size) - 1, 0
        for step in range(size):  # the last lane is left to `convert`
            missing = [(everything & ~known) >> lane & 1 for lane in range(size)]
            self.dut.x.value = LogicArray(
                unknowns.four_state(
                    packed(block, bits), packed(np.array(missing, object) * ((1 << bits) - 1), bits), size * bits
                )
            )
            if random is not None:
                self.dut.random.value = LogicArray(
                    unknowns.four_state(
                        packed(random, count),
                        packed(np.array(missing, object) * ((1 << count) - 1), count),
                        size * count,
                    )
                )
            if CONFIG.alternatives:
                self.dut.mode.value = self.number if step and mode_first else LogicArray("X" * CONFIG.mode_bits)
            await Timer(1, "ns")
            if not step and self.dut.scale.value.is_resolvable:
                raise AssertionError(f"scale is {self.dut.scale.value} although no input is known")
            known |= 1 << (first + step) % size
        if CONFIG.alternatives:
            self.dut.mode.value = self.number
        return await self.convert(block, random)


def unpacked(codes: int, numerics: Numerics) -> list[int]:
    """The codes of a block, of all lanes."""
    bits = numerics.block.element.bits
    return [(codes >> (lane * bits)) & ((1 << bits) - 1) for lane in range(numerics.block_size)]


def titled(name: str, mode: int) -> str:
    return f"{name} mode {mode}" if CONFIG.alternatives else name


def conclude(name: str, blocks: int, report: str) -> None:
    """Write what a test has compared, which `regression` reads, and fail with its report."""
    with open(COMPARISONS, "a") as file:
        file.write(json.dumps({"test": name, "blocks": blocks, "report": report}) + "\n")
    assert not report, report


async def check(
    dut, name: str, mode: int, patterns: np.ndarray, *, random: np.ndarray | None = None, arrive: bool = False
) -> None:
    """Drive blocks (n, block_size) of patterns and compare all, with ``random`` bits, or those of the seed; with
    ``arrive`` after unknown inputs each.
    """
    numerics, name = CONFIG.modes[mode], titled(name, mode)
    board = Scoreboard(CONFIG, repeat=JOB["repeat"])
    random = stimuli.random_bits(numerics, patterns.shape, JOB["seed"]) if random is None else random
    expected = quantize(patterns.view(DTYPES[numerics.source.name]), numerics, random=random)
    scales, codes = np.empty_like(expected.scales), np.empty_like(expected.codes)
    if CONFIG.latency:
        results = await stream(dut, name, [inputs(mode, block, random, row) for row, block in enumerate(patterns)])
        for row, (scale, p) in enumerate(results):
            scales[row, 0], codes[row] = scale, unpacked(p, numerics)
    else:
        driver = Driver(dut, mode)
        for row, block in enumerate(patterns):
            drawn = None if random is None else random[row]
            try:
                scales[row, 0], codes[row] = await (
                    driver.arrive(block, drawn, row % numerics.block_size, row % 2 == 1)
                    if arrive
                    else driver.convert(block, drawn)
                )
            except AssertionError as error:
                conclude(name, row, f"block {row}: {error}\nto repeat: {JOB['repeat']}")
    board.compare(name, patterns, expected, Quantized(scales=scales, codes=codes, numerics=numerics), random)
    conclude(name, board.blocks, board.report)


def inputs(mode: int, block: np.ndarray, random: np.ndarray | None, row: int) -> Inputs:
    """A block with the random bits of its row, for a converter with registers."""
    numerics = CONFIG.modes[mode]
    return Inputs(
        x=packed(block, numerics.source.bits),
        mode=mode,
        random=None if random is None else packed(random[row], numerics.random_bits),
    )


async def stream(dut, name: str, blocks: list[Inputs], gaps: bool = True) -> list[tuple[int, int]]:
    """Scale and codes of blocks that flow through a converter with registers."""
    try:
        return await Flow(dut, CONFIG, JOB["seed"], unknown=JOB["simulator"] == "icarus").convert(blocks, gaps=gaps)
    except FlowError as error:
        conclude(name, 0, f"{error}\nto repeat: {JOB['repeat']}")


async def check_rows(dut, name: str, gaps: bool) -> None:
    """Stream random blocks, each under another mode than the one before."""
    count, modes = JOB["random_blocks"] // 4 + 1, len(CONFIG.modes)
    board, rows = Scoreboard(CONFIG, repeat=JOB["repeat"]), np.arange(count)
    patterns = stimuli.random_blocks(CONFIG.numerics, count, JOB["seed"] + 1)
    random = stimuli.random_bits(CONFIG.numerics, patterns.shape, JOB["seed"] + 1)
    results = await stream(dut, name, [inputs(int(row) % modes, patterns[row], random, row) for row in rows], gaps)
    for mode, numerics in enumerate(CONFIG.modes):
        chosen = rows[rows % modes == mode]
        drawn = None if random is None else random[chosen]
        expected = quantize(patterns[chosen].view(DTYPES[numerics.source.name]), numerics, random=drawn)
        actual = Quantized(
            scales=np.array([[results[row][0]] for row in chosen], expected.scales.dtype),
            numerics=numerics,
            codes=np.array([unpacked(results[row][1], numerics) for row in chosen], expected.codes.dtype),
        )
        board.compare(name, patterns[chosen], expected, actual, drawn)
    conclude(name, board.blocks, board.report)


async def examine(dut, name: str, trials: Iterable[unknowns.Trial]) -> None:
    """Drive inputs with unknown bits: what must be known is, and nothing is known and wrong."""
    driven, wrong = 0, []
    for trial in trials:
        driven += 1
        for port in ("x", "random", "mode"):
            digits = getattr(trial, port)
            if digits is not None:
                getattr(dut, port).value = LogicArray(digits)
        await Timer(1, "ns")
        for port, must, possible in zip(("scale", "p"), trial.known, zip(*trial.possible)):
            seen = str(getattr(dut, port).value)
            known, ones = int(seen.translate(KNOWN), 2), int(seen.translate(ONES), 2)
            if must & ~known or any(known & (ones ^ right) for right in possible):
                wrong.append(
                    f"{port} is {seen}, where {must:#x} must be known and the model has "
                    f"{', '.join(f'{right:#x}' for right in possible)}: x {trial.x}, random {trial.random}, mode "
                    f"{trial.mode}"
                )
    report = "\n".join(
        [f"{len(wrong)} times wrong with unknown inputs, in {driven}", *wrong[:SHOWN], f"to repeat: {JOB['repeat']}"]
    )
    conclude(name, driven, report if wrong else "")


if CONFIG.latency:

    @cocotb.test()
    async def full_rate(dut) -> None:
        """A block in every cycle, a result in every cycle."""
        await check_rows(dut, "full_rate", gaps=False)

    @cocotb.test()
    async def interleaved(dut) -> None:
        """Blocks with gaps, each under another mode than the one before."""
        await check_rows(dut, "interleaved", gaps=True)

elif JOB["simulator"] == "icarus":  # before all others, so that the inputs have never had a value

    @cocotb.test()
    @cocotb.parametrize(mode=MODES)
    async def unknown_start(dut, mode: int) -> None:
        """From nothing known to everything known, one lane after the other: then nothing of it is left."""
        await check(
            dut,
            "unknown_start",
            mode,
            stimuli.random_blocks(CONFIG.modes[mode], JOB["unknown_blocks"], JOB["seed"]),
            arrive=True,
        )

    @cocotb.test()
    @cocotb.parametrize(mode=MODES)
    async def unknown_signs(dut, mode: int) -> None:
        """X for all signs."""
        await examine(
            dut, titled("unknown_signs", mode), unknowns.sign_trials(CONFIG, mode, hard_blocks(mode), JOB["seed"])
        )

    if CONFIG.numerics.random_bits:

        @cocotb.test()
        @cocotb.parametrize(mode=MODES)
        async def unknown_random(dut, mode: int) -> None:
            """X for random bits."""
            await examine(
                dut,
                titled("unknown_random", mode),
                unknowns.random_trials(CONFIG, mode, hard_blocks(mode), JOB["seed"]),
            )

    if CONFIG.alternatives:

        @cocotb.test()
        async def unknown_mode(dut) -> None:
            """Mode numbers that no mode has, and X for the mode."""
            await examine(dut, "unknown_mode", unknowns.mode_trials(CONFIG, hard_blocks(-1), JOB["seed"]))


def hard_blocks(mode: int) -> np.ndarray:
    """Corners and random blocks of a mode."""
    numerics = CONFIG.modes[mode]
    return np.concatenate(
        [stimuli.corner_blocks(numerics, most=100), stimuli.random_blocks(numerics, JOB["unknown_blocks"], JOB["seed"])]
    )


if JOB["vectors"]:

    @cocotb.test()
    async def vectors(dut) -> None:
        """Blocks of a file, such as a counterexample of a proof."""
        with np.load(JOB["vectors"]) as file:
            await check(
                dut, "vectors", int(file["mode"]), file["x"], random=file["random"] if "random" in file else None
            )


@cocotb.test()
@cocotb.parametrize(mode=MODES, case=list(stimuli.corner_cases(CONFIG.numerics)))
async def corner(dut, mode: int, case: str) -> None:
    """One family of directed blocks."""
    await check(dut, case, mode, stimuli.corner_cases(CONFIG.modes[mode])[case])


@cocotb.test()
@cocotb.parametrize(mode=MODES)
async def boundary(dut, mode: int) -> None:
    """Neighbours of every rounding boundary."""
    await check(dut, "boundary", mode, stimuli.boundary_blocks(CONFIG.modes[mode]))


@cocotb.test()
@cocotb.parametrize(mode=MODES)
async def random(dut, mode: int) -> None:
    """Seeded random blocks."""
    await check(dut, "random", mode, stimuli.random_blocks(CONFIG.modes[mode], JOB["random_blocks"], JOB["seed"]))
