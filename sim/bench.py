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
from mxcast.sim import stimuli
from mxcast.sim.scoreboard import Scoreboard
from mxcast.spec import ConverterConfig, Microarchitecture, Numerics

JOB = json.loads(Path(os.environ["MXCAST_BENCH"]).read_text())
CONFIG = ConverterConfig(numerics=Numerics.from_dict(JOB["numerics"]),
                         microarchitecture=Microarchitecture(**JOB["microarchitecture"]))


class Driver:
    """Pin-level access to the converter: one block in, its scale and codes out."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.bits = CONFIG.numerics.block.element.bits

    async def convert(self, block: np.ndarray) -> tuple[int, np.ndarray]:
        self.dut.x.value = int.from_bytes(block.astype("<u4").tobytes(), "little")
        await Timer(1, "ns")
        if not (self.dut.scale.value.is_resolvable and self.dut.p.value.is_resolvable):
            raise AssertionError(f"unknown bits in the outputs: scale {self.dut.scale.value}, p {self.dut.p.value}")
        packed = self.dut.p.value.to_unsigned()
        mask = (1 << self.bits) - 1
        codes = [(packed >> (lane * self.bits)) & mask for lane in range(CONFIG.numerics.block_size)]
        return self.dut.scale.value.to_unsigned(), np.array(codes, np.uint8)


async def check(dut, name: str, patterns: np.ndarray) -> None:
    """Drive blocks (n, block_size) uint32, compare all, write what was compared, fail with the report."""
    driver, board = Driver(dut), Scoreboard(CONFIG, repeat=JOB["repeat"])
    scales, codes = np.empty((len(patterns), 1), np.uint8), np.empty(patterns.shape, np.uint8)
    for row, block in enumerate(patterns):
        scales[row, 0], codes[row] = await driver.convert(block)
    expected = quantize(patterns.view(np.float32), CONFIG.numerics)
    board.compare(name, patterns, expected, Quantized(scales=scales, codes=codes, numerics=CONFIG.numerics))
    with open(JOB["comparisons"], "a") as file:
        file.write(json.dumps({"test": name, "blocks": board.blocks, "report": board.report}) + "\n")
    assert board.passed, board.report


@cocotb.test()
@cocotb.parametrize(case=list(stimuli.corner_cases(CONFIG.numerics)))
async def corner(dut, case: str) -> None:
    """One family of directed blocks."""
    await check(dut, case, stimuli.corner_cases(CONFIG.numerics)[case])


@cocotb.test()
async def boundary(dut) -> None:
    """Neighbours of every rounding boundary."""
    await check(dut, "boundary", stimuli.boundary_blocks(CONFIG.numerics))


@cocotb.test()
async def random(dut) -> None:
    """Seeded random blocks."""
    await check(dut, "random", stimuli.random_blocks(CONFIG.numerics, JOB["random_blocks"], JOB["seed"]))
