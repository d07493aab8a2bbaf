"""The cocotb bench of a block converter. It runs inside a simulator, started by `regression.test`.

Each test drives a family of stimuli and compares scale and codes with the golden model through one scoreboard.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import Timer

from mxcast.models import quantize
from mxcast.models.block import Quantized
from mxcast.models.source import DTYPES
from mxcast.sim import stimuli
from mxcast.sim.scoreboard import Scoreboard
from mxcast.spec import ConverterConfig

JOB = json.loads(Path(os.environ["MXCAST_BENCH"]).read_text())
CONFIG = ConverterConfig.from_dict(JOB)
MODES = list(range(len(CONFIG.modes)))


class Driver:
    """Pin-level access to the converter in one mode: one block in, its scale and codes out."""

    def __init__(self, dut, mode: int) -> None:
        self.dut, self.numerics = dut, CONFIG.modes[mode]
        if CONFIG.alternatives:
            dut.mode.value = mode

    async def convert(self, block: np.ndarray, random: np.ndarray | None) -> tuple[int, list[int]]:
        self.dut.x.value = packed(block, self.numerics.source.bits)
        if random is not None:
            self.dut.random.value = packed(random, self.numerics.random_bits)
        await Timer(1, "ns")
        if not (self.dut.scale.value.is_resolvable and self.dut.p.value.is_resolvable):
            raise AssertionError(f"unknown bits in the outputs: scale {self.dut.scale.value}, p {self.dut.p.value}")
        codes, bits = self.dut.p.value.to_unsigned(), self.numerics.block.element.bits
        return self.dut.scale.value.to_unsigned(), [
            (codes >> (lane * bits)) & ((1 << bits) - 1) for lane in range(self.numerics.block_size)]


def packed(fields: np.ndarray, bits: int) -> int:
    """One number of all fields, the first in the low bits."""
    return sum(int(field) << (bits * lane) for lane, field in enumerate(fields))


async def check(dut, name: str, mode: int, patterns: np.ndarray) -> None:
    """Drive blocks (n, block_size) of patterns, compare all, write what was compared, fail with the report."""
    numerics = CONFIG.modes[mode]
    name = f"{name} mode {mode}" if CONFIG.alternatives else name
    driver, board = Driver(dut, mode), Scoreboard(CONFIG, repeat=JOB["repeat"])
    random = stimuli.random_bits(numerics, patterns.shape, JOB["seed"])
    expected = quantize(patterns.view(DTYPES[numerics.source.name]), numerics, random=random)
    scales, codes = np.empty_like(expected.scales), np.empty_like(expected.codes)
    for row, block in enumerate(patterns):
        scales[row, 0], codes[row] = await driver.convert(block, None if random is None else random[row])
    board.compare(name, patterns, expected, Quantized(scales=scales, codes=codes, numerics=numerics), random)
    with open(JOB["comparisons"], "a") as file:
        file.write(json.dumps({"test": name, "blocks": board.blocks, "report": board.report}) + "\n")
    assert board.passed, board.report


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
