"""The cocotb bench of an operation. It runs inside a simulator, started by `regression.test`.

Each test drives a family of stimuli and compares what leaves the design with the golden model through one scoreboard.
No output bit may be unknown when the inputs are known. A simulator of four states also gets unknown inputs
(`unknowns`). Blocks flow through a converter with registers (`flow`), with gaps on both sides.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import cast

import cocotb
import numpy as np
from cocotb.triggers import Timer
from cocotb.types import LogicArray

from ...hdl import ConverterConfig, config_of
from ...spec import Role
from .. import stimuli
from ..check import unknowns
from ..check.scoreboard import SHOWN, Scoreboard
from ..operations import drawn, golden, of, supplied
from ..run.beats import in_beats, in_blocks, unsteady
from ..transactions import Transactions, data_ports, fields, packed, word
from .beat_flow import BeatFlow
from .flow import Flow, FlowError
from .journal import Journal
from .pins import Design, Pins, number, numbers

BENCH = Path(os.environ["MXCAST_BENCH"])
JOB = json.loads(BENCH.read_text())
COMPARISONS = BENCH.with_name(JOB["comparisons"])
CONFIG = config_of(JOB)
ENCODER = cast("ConverterConfig", CONFIG)  # only in tests of encoders
PORTS = CONFIG.ports
MODES = list(range(len(CONFIG.modes)))
UNKNOWN = {name.partition(" mode ")[0] for name in unknowns.tests_of(CONFIG)}
JOURNAL = Journal(BENCH.with_name(JOB["journal"]) if JOB["journal"] else None, *(JOB["window"] or ()))
KNOWN = str.maketrans("01XZUWLH-", "110000000")
ONES = str.maketrans("XZUWLH-", "0000000")


class Blocks:
    """The converter in one mode: converts a block to outputs by port name."""

    def __init__(self, dut: Design, mode: int) -> None:
        self.pins, self.size = Pins(dut, PORTS), CONFIG.modes[mode].block_size

    async def convert(self, inputs: Mapping[str, int]) -> dict[str, int]:
        self.pins.drive(inputs)
        await Timer(1, "ns")
        seen = self.pins.seen()
        found = numbers(seen)
        if found is None:
            outputs = ", ".join(f"{name} {digits}" for name, digits in seen.items())
            given = ", ".join(
                f"{port.name} "
                + ",".join(f"0x{lane:0{-(-port.bits // 4)}X}" for lane in fields(inputs[port.name], port))
                for port, _ in self.pins.inputs
            )
            raise AssertionError(f"unknown bits in the outputs: {outputs} for {given}")
        return found

    async def arrive(self, inputs: Mapping[str, int], first: int, mode_first: bool) -> dict[str, int]:
        """`convert` after unknown inputs: lanes get their fields one after the other, from lane ``first`` on. Ports of
        one lane get theirs before or after them.
        """
        known: list[int] = []
        for step in range(self.size):  # the last lane is left to `convert`
            unknown = {}
            for port, _ in self.pins.inputs:
                if port.lanes > 1:
                    missing = [0 if lane in known else (1 << port.bits) - 1 for lane in range(port.lanes)]
                    unknown[port.name] = packed(missing, port.bits)
                elif not (step and mode_first):
                    unknown[port.name] = (1 << port.width) - 1
            self.pins.drive(inputs, unknown)
            await Timer(1, "ns")
            for port, pin in self.pins.outputs:
                if not step and port.lanes == 1 and number(digits := str(pin.value)) is not None:
                    raise AssertionError(f"{port.name} is {digits} although no input is known")
            known.append((first + step) % self.size)
        return await self.convert(inputs)


def titled(name: str, mode: int) -> str:
    return f"{name} mode {mode}" if CONFIG.alternatives else name


def conclude(name: str, blocks: int, report: str) -> None:
    """Write the number of blocks compared, which `regression` reads, and fail if there is a report."""
    with open(COMPARISONS, "a") as file:
        file.write(json.dumps({"test": name, "blocks": blocks, "report": report}) + "\n")
    assert not report, report


async def check(dut: Design, name: str, mode: int, given: Transactions, *, arrive: bool = False) -> None:
    """Drive blocks and compare all; random bits come from the blocks or the seed. With ``arrive`` unknown inputs come
    before each block.
    """
    rules, name = CONFIG.modes[mode], titled(name, mode)
    board = Scoreboard(CONFIG, repeat=JOB["repeat"])
    given = given.in_mode(mode)
    if rules.random_bits and Role.RANDOM not in given.arrays:
        given = drawn(rules, given, JOB["seed"])
    given = supplied(CONFIG, given)
    JOURNAL.begin(name)
    if CONFIG.latency:
        actual = await stream(dut, name, given)
    else:
        converter, results = Blocks(dut, mode), []
        for row in range(len(given)):
            block = given.values(PORTS, "input", row)
            JOURNAL.note(("in", "out"), row, mode)
            try:
                if arrive:
                    results.append(await converter.arrive(block, row % rules.block_size, row % 2 == 1))
                else:
                    results.append(await converter.convert(block))
            except AssertionError as error:
                conclude(name, row, f"block {row}: {error}\nto repeat: {JOB['repeat']}")
        actual = collected(results)
    board.compare(name, rules, given, golden(rules, given), actual)
    conclude(name, board.blocks, board.report)


def collected(results: Sequence[Mapping[str, int]]) -> Transactions:
    """The outputs of the design."""
    return Transactions(
        {
            port.role: np.array([fields(result[port.name], port) for result in results], word(port))
            for port in data_ports(PORTS, "output")
        }
    )


async def stream(dut: Design, name: str, given: Transactions, gaps: bool = True) -> Transactions:
    """The results of blocks that flow through a converter with registers."""
    beats, unknown = CONFIG.beats, JOB["simulator"] == "icarus"
    flow = (BeatFlow if CONFIG.in_beats else Flow)(dut, CONFIG, JOB["seed"], unknown, JOURNAL)
    entering = in_beats(given, data_ports(PORTS, "input"), beats)
    try:
        values = [entering.values(PORTS, "input", row) for row in range(len(entering))]
        found, leaving = collected(await flow.convert(values, gaps=gaps)), data_ports(PORTS, "output")
        if differs := unsteady(found, leaving, beats):
            raise FlowError(f"{differs[0].name} changes within result {differs[1]}")
        return in_blocks(found, leaving, beats)
    except FlowError as error:
        conclude(name, 0, f"{error}\nto repeat: {JOB['repeat']}")
        raise


async def check_rows(dut: Design, name: str, gaps: bool) -> None:
    """Stream random blocks, each in another mode than the one before."""
    count = JOB["random_blocks"] // (4 * of(CONFIG.numerics).blocks_of_transaction) + 1
    modes = len(CONFIG.modes)
    board, rows = Scoreboard(CONFIG, repeat=JOB["repeat"]), np.arange(count)
    given = of(CONFIG.numerics).random(count, JOB["seed"] + 1)
    given = drawn(CONFIG.numerics, given, JOB["seed"] + 1).with_arrays({Role.MODE: (rows % modes)[:, None]})
    JOURNAL.begin(name)
    results = await stream(dut, name, given, gaps)
    for mode, rules in enumerate(CONFIG.modes):
        chosen = rows[rows % modes == mode]
        blocks = given.rows(chosen)
        board.compare(name, rules, blocks, golden(rules, blocks), results.rows(chosen))
    conclude(name, board.blocks, board.report)


async def examine(dut: Design, name: str, trials: Iterable[unknowns.Trial]) -> None:
    """Drive inputs with unknown bits: all required bits must be known, and no known bit may be wrong."""
    driven, wrong = 0, []
    JOURNAL.begin(name)
    for trial in trials:
        JOURNAL.note(("in", "out"), driven)
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


if JOB["window"]:
    pass  # only the blocks of the file

elif CONFIG.latency:

    @cocotb.test()
    async def full_rate(dut: Design) -> None:
        """A block in every cycle, a result in every cycle."""
        await check_rows(dut, "full_rate", gaps=False)

    @cocotb.test()
    async def interleaved(dut: Design) -> None:
        """Blocks with gaps, each in another mode than the one before."""
        await check_rows(dut, "interleaved", gaps=True)

elif JOB["simulator"] == "icarus":  # before all others, so that the inputs have never had a value

    @cocotb.test()
    @cocotb.parametrize(mode=MODES)
    async def unknown_start(dut: Design, mode: int) -> None:
        """Inputs become known one lane after the other; then no bit may stay unknown."""
        rules = CONFIG.modes[mode]
        blocks = of(rules).random(JOB["unknown_blocks"], JOB["seed"])
        await check(dut, "unknown_start", mode, blocks, arrive=True)

    if "unknown_signs" in UNKNOWN:

        @cocotb.test()
        @cocotb.parametrize(mode=MODES)
        async def unknown_signs(dut: Design, mode: int) -> None:
            """X for all signs."""
            await examine(
                dut, titled("unknown_signs", mode), unknowns.sign_trials(ENCODER, mode, hard_blocks(mode), JOB["seed"])
            )

    if "unknown_random" in UNKNOWN:

        @cocotb.test()
        @cocotb.parametrize(mode=MODES)
        async def unknown_random(dut: Design, mode: int) -> None:
            """X for random bits."""
            await examine(
                dut,
                titled("unknown_random", mode),
                unknowns.random_trials(ENCODER, mode, hard_blocks(mode), JOB["seed"]),
            )

    if "unknown_mode" in UNKNOWN:

        @cocotb.test()
        async def unknown_mode(dut: Design) -> None:
            """Mode numbers that no mode has, and X for the mode."""
            await examine(dut, "unknown_mode", unknowns.mode_trials(ENCODER, hard_blocks(-1), JOB["seed"]))


def hard_blocks(mode: int) -> np.ndarray:
    """Corners and random blocks of a mode."""
    numerics = ENCODER.modes[mode]
    return np.concatenate(
        [stimuli.corner_blocks(numerics, most=100), stimuli.random_blocks(numerics, JOB["unknown_blocks"], JOB["seed"])]
    )


if JOB["vectors"]:

    @cocotb.test()
    async def vectors(dut: Design) -> None:
        """Blocks of a file, such as a counterexample of a proof."""
        with np.load(JOB["vectors"]) as file:
            entering = [port for port in CONFIG.numerics.ports if port.direction == "input"]
            given = Transactions({port.role: file[port.name] for port in entering})
            await check(dut, "vectors", int(file["mode"]), given)


@cache
def cases(mode: int) -> dict[str, Transactions]:
    """Directed blocks of every family, and random ones."""
    rules = CONFIG.modes[mode]
    return of(rules).regression(JOB["random_blocks"], JOB["seed"])


if not JOB["window"]:

    @cocotb.test()
    @cocotb.parametrize(mode=MODES, case=list(cases(0)))
    async def blocks(dut: Design, mode: int, case: str) -> None:
        """The blocks of one family."""
        await check(dut, case, mode, cases(mode)[case])
