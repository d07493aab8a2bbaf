"""The cocotb bench of a block converter. It runs inside a simulator, started by `regression.test`.

Each test drives a family of stimuli and compares scale and codes with the golden model through one scoreboard. No
output bit may be unknown when the inputs are not. On a simulator of four states there are unknown inputs too;
`unknowns` says what then must be known. Blocks flow through a converter with registers (`flow`), with gaps on both
sides.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import cocotb
import numpy as np
from cocotb.triggers import Timer
from cocotb.types import LogicArray

from mxcast.hdl import ConverterConfig
from mxcast.models import Quantized, quantize
from mxcast.models.source import DTYPES
from mxcast.sim import stimuli, unknowns
from mxcast.sim.driver import data_ports
from mxcast.sim.flow import Design, Flow, FlowError
from mxcast.sim.scoreboard import SHOWN, Scoreboard
from mxcast.sim.transactions import fields, packed, values
from mxcast.spec import Role

BENCH = Path(os.environ["MXCAST_BENCH"])
JOB = json.loads(BENCH.read_text())
COMPARISONS = BENCH.with_name(JOB["comparisons"])
CONFIG = ConverterConfig.from_dict(JOB)
MODES = list(range(len(CONFIG.modes)))
KNOWN = str.maketrans("01XZUWLH-", "110000000")
ONES = str.maketrans("XZUWLH-", "0000000")


class Pins:
    """The pins of the converter in one mode: one block in, its outputs by port name out."""

    def __init__(self, dut: Design, mode: int) -> None:
        self.dut, self.mode, self.numerics = dut, mode, CONFIG.modes[mode]
        self.inputs, self.outputs = (data_ports(CONFIG.ports, direction) for direction in ("input", "output"))

    def drive(self, inputs: Mapping[str, int], unknown: Mapping[str, int] = MappingProxyType({})) -> None:
        """Inputs by port name, with X where bits are unknown."""
        for port in self.inputs:
            value, missing = inputs[port.name], unknown.get(port.name, 0)
            pin = getattr(self.dut, port.name)
            pin.value = LogicArray(unknowns.four_state(value, missing, port.width)) if missing else value

    async def convert(self, inputs: Mapping[str, int]) -> dict[str, int]:
        self.drive(inputs)
        await Timer(1, "ns")
        seen = {port.name: getattr(self.dut, port.name).value for port in self.outputs}
        if not all(value.is_resolvable for value in seen.values()):
            outputs = ", ".join(f"{name} {value}" for name, value in seen.items())
            given = ", ".join(
                f"{port.name} "
                + ",".join(f"0x{lane:0{-(-port.bits // 4)}X}" for lane in fields(inputs[port.name], port))
                for port in self.inputs
            )
            raise AssertionError(f"unknown bits in the outputs: {outputs} for {given}")
        return {name: value.to_unsigned() for name, value in seen.items()}

    async def arrive(self, inputs: Mapping[str, int], first: int, mode_first: bool) -> dict[str, int]:
        """`convert` after everything was unknown: one lane after the other gets its fields, from lane ``first`` on, and
        what has one lane only comes before them or after.
        """
        size = self.numerics.block_size
        known: list[int] = []
        for step in range(size):  # the last lane is left to `convert`
            unknown = {}
            for port in self.inputs:
                if port.lanes > 1:
                    missing = [0 if lane in known else (1 << port.bits) - 1 for lane in range(port.lanes)]
                    unknown[port.name] = packed(missing, port.bits)
                elif not (step and mode_first):
                    unknown[port.name] = (1 << port.width) - 1
            self.drive(inputs, unknown)
            await Timer(1, "ns")
            for port in self.outputs:
                value = getattr(self.dut, port.name).value
                if not step and port.lanes == 1 and value.is_resolvable:
                    raise AssertionError(f"{port.name} is {value} although no input is known")
            known.append((first + step) % size)
        return await self.convert(inputs)


def titled(name: str, mode: int) -> str:
    return f"{name} mode {mode}" if CONFIG.alternatives else name


def conclude(name: str, blocks: int, report: str) -> None:
    """Write what a test has compared, which `regression` reads, and fail with its report."""
    with open(COMPARISONS, "a") as file:
        file.write(json.dumps({"test": name, "blocks": blocks, "report": report}) + "\n")
    assert not report, report


async def check(
    dut: Design, name: str, mode: int, patterns: np.ndarray, *, random: np.ndarray | None = None, arrive: bool = False
) -> None:
    """Drive blocks (n, block_size) of patterns and compare all, with ``random`` bits, or those of the seed; with
    ``arrive`` after unknown inputs each.
    """
    numerics, name = CONFIG.modes[mode], titled(name, mode)
    board = Scoreboard(CONFIG, repeat=JOB["repeat"])
    random = stimuli.random_bits(numerics, patterns.shape, JOB["seed"]) if random is None else random
    expected = quantize(patterns.view(DTYPES[numerics.source.name]), numerics, random=random)
    if CONFIG.latency:
        results = await stream(dut, name, [inputs(mode, block, random, row) for row, block in enumerate(patterns)])
    else:
        pins, results = Pins(dut, mode), []
        for row, block in enumerate(patterns):
            given = inputs(mode, block, random, row)
            try:
                if arrive:
                    results.append(await pins.arrive(given, row % numerics.block_size, row % 2 == 1))
                else:
                    results.append(await pins.convert(given))
            except AssertionError as error:
                conclude(name, row, f"block {row}: {error}\nto repeat: {JOB['repeat']}")
    board.compare(name, patterns, expected, collected(results, expected), random)
    conclude(name, board.blocks, board.report)


def inputs(mode: int, block: np.ndarray, random: np.ndarray | None, row: int) -> dict[str, int]:
    """A block with the random bits of its row, by port name."""
    drawn = {} if random is None else {Role.RANDOM: random[row]}
    return values(CONFIG.ports, "input", {Role.NUMBERS: block, Role.MODE: [mode], **drawn})


def collected(results: Sequence[Mapping[str, int]], expected: Quantized) -> Quantized:
    """What left the converter, as the golden model has it."""
    arrays = {}
    for port in data_ports(CONFIG.ports, "output"):
        arrays[port.role] = np.array([fields(result[port.name], port) for result in results])
    scales, codes = arrays[Role.SCALE], arrays[Role.CODES]
    return Quantized(
        scales=scales.astype(expected.scales.dtype),
        codes=codes.astype(expected.codes.dtype),
        numerics=expected.numerics,
    )


async def stream(dut: Design, name: str, blocks: list[dict[str, int]], gaps: bool = True) -> list[dict[str, int]]:
    """The outputs for blocks that flow through a converter with registers."""
    try:
        return await Flow(dut, CONFIG, JOB["seed"], unknown=JOB["simulator"] == "icarus").convert(blocks, gaps=gaps)
    except FlowError as error:
        conclude(name, 0, f"{error}\nto repeat: {JOB['repeat']}")
        raise


async def check_rows(dut: Design, name: str, gaps: bool) -> None:
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
        actual = collected([results[row] for row in chosen], expected)
        board.compare(name, patterns[chosen], expected, actual, drawn)
    conclude(name, board.blocks, board.report)


async def examine(dut: Design, name: str, trials: Iterable[unknowns.Trial]) -> None:
    """Drive inputs with unknown bits: what must be known is, and nothing is known and wrong."""
    driven, wrong = 0, []
    for trial in trials:
        driven += 1
        for port, digits in trial.inputs.items():
            getattr(dut, port).value = LogicArray(digits)
        await Timer(1, "ns")
        for port, must in trial.known.items():
            seen, possible = str(getattr(dut, port).value), [outputs[port] for outputs in trial.possible]
            known, ones = int(seen.translate(KNOWN), 2), int(seen.translate(ONES), 2)
            if must & ~known or any(known & (ones ^ right) for right in possible):
                given = ", ".join(f"{name} {digits}" for name, digits in trial.inputs.items())
                wrong.append(
                    f"{port} is {seen}, where {must:#x} must be known and the model has "
                    f"{', '.join(f'{right:#x}' for right in possible)}: {given}"
                )
    report = "\n".join(
        [f"{len(wrong)} times wrong with unknown inputs, in {driven}", *wrong[:SHOWN], f"to repeat: {JOB['repeat']}"]
    )
    conclude(name, driven, report if wrong else "")


if CONFIG.latency:

    @cocotb.test()
    async def full_rate(dut: Design) -> None:
        """A block in every cycle, a result in every cycle."""
        await check_rows(dut, "full_rate", gaps=False)

    @cocotb.test()
    async def interleaved(dut: Design) -> None:
        """Blocks with gaps, each under another mode than the one before."""
        await check_rows(dut, "interleaved", gaps=True)

elif JOB["simulator"] == "icarus":  # before all others, so that the inputs have never had a value

    @cocotb.test()
    @cocotb.parametrize(mode=MODES)
    async def unknown_start(dut: Design, mode: int) -> None:
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
    async def unknown_signs(dut: Design, mode: int) -> None:
        """X for all signs."""
        await examine(
            dut, titled("unknown_signs", mode), unknowns.sign_trials(CONFIG, mode, hard_blocks(mode), JOB["seed"])
        )

    if CONFIG.numerics.random_bits:

        @cocotb.test()
        @cocotb.parametrize(mode=MODES)
        async def unknown_random(dut: Design, mode: int) -> None:
            """X for random bits."""
            await examine(
                dut,
                titled("unknown_random", mode),
                unknowns.random_trials(CONFIG, mode, hard_blocks(mode), JOB["seed"]),
            )

    if CONFIG.alternatives:

        @cocotb.test()
        async def unknown_mode(dut: Design) -> None:
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
    async def vectors(dut: Design) -> None:
        """Blocks of a file, such as a counterexample of a proof."""
        with np.load(JOB["vectors"]) as file:
            await check(
                dut, "vectors", int(file["mode"]), file["x"], random=file["random"] if "random" in file else None
            )


@cocotb.test()
@cocotb.parametrize(mode=MODES, case=list(stimuli.corner_cases(CONFIG.numerics)))
async def corner(dut: Design, mode: int, case: str) -> None:
    """One family of directed blocks."""
    await check(dut, case, mode, stimuli.corner_cases(CONFIG.modes[mode])[case])


@cocotb.test()
@cocotb.parametrize(mode=MODES)
async def boundary(dut: Design, mode: int) -> None:
    """Neighbours of every rounding boundary."""
    await check(dut, "boundary", mode, stimuli.boundary_blocks(CONFIG.modes[mode]))


@cocotb.test()
@cocotb.parametrize(mode=MODES)
async def random(dut: Design, mode: int) -> None:
    """Seeded random blocks."""
    await check(dut, "random", mode, stimuli.random_blocks(CONFIG.modes[mode], JOB["random_blocks"], JOB["seed"]))
