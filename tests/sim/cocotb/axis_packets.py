"""Packets through an encoder with AXI4-Stream, driven by cocotbext-axi. Runs inside a simulator (`test_axis`)."""

import json
import os
from pathlib import Path
from random import Random

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from mxcast.hdl import config_of
from mxcast.models import quantize

JOB = json.loads(Path(os.environ["MXCAST_BENCH"]).read_text())
CONFIG = config_of(JOB)
RULES = CONFIG.numerics
PATIENCE = 30
"""Microseconds for a packet: 3000 cycles."""
SIZE, BITS = RULES.block_size, RULES.block.element.bits


def packet(random: Random) -> np.ndarray:
    """Numbers of a packet: of one beat, of whole blocks, or of any length; every pattern of bits."""
    count = random.choice((1, CONFIG.lanes, SIZE, 2 * SIZE, random.randrange(1, 4 * SIZE)))
    rng = np.random.default_rng(random.getrandbits(32))
    exponents = rng.integers(1, 255) + rng.integers(-12, 12, count)
    wide = rng.integers(0, 1 << 32, count, dtype=np.uint32) if random.random() < 0.2 else None
    x = rng.integers(0, 1 << 23, count) | np.clip(exponents, 0, 255) << 23 | rng.integers(0, 2, count) << 31
    return x.astype(np.uint32) if wide is None else wide


def expected(x: np.ndarray) -> tuple[bytes, bytes, bool]:
    """Codes and scales of a packet, and whether zeros complete its last block."""
    missing = -len(x) % SIZE
    q = quantize(np.append(x, np.zeros(missing, np.uint32)).view(np.float32).reshape(-1, SIZE), RULES)
    bits = (q.codes.reshape(-1, 1) >> np.arange(BITS, dtype=np.uint8) & 1).reshape(-1, CONFIG.lanes * BITS)
    return np.packbits(bits, axis=1, bitorder="little").tobytes(), q.scales.tobytes(), missing > 0


class Bench:
    def __init__(self, dut, random: Random) -> None:
        self.dut, self.random = dut, random
        cocotb.start_soon(Clock(dut.aclk, 10, "ns").start())
        ends = {"clock": dut.aclk, "reset": dut.aresetn, "reset_active_level": False}
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), **ends)
        self.codes = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), **ends)
        self.scales = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis_scale"), **ends)

    def stalls(self):
        """Gaps: none, few, many; another choice from time to time."""
        while True:
            share = self.random.choice((0, 0.1, 0.5, 0.9))
            for _ in range(64):
                yield self.random.random() < share

    async def reset(self) -> None:
        self.dut.aresetn.value = 0
        for _ in range(3):
            await RisingEdge(self.dut.aclk)
        for end in (self.source, self.codes, self.scales):
            end.clear()
        self.dut.aresetn.value = 1
        await RisingEdge(self.dut.aclk)

    def send(self) -> np.ndarray:
        x = packet(self.random)
        self.source.send_nowait(AxiStreamFrame(x.tobytes()))
        return x

    async def check(self, x: np.ndarray) -> None:
        codes, scales, is_completed = expected(x)
        found, with_scales = await self.codes.recv(compact=False), await self.scales.recv()
        assert (bytes(found.tdata), bytes(with_scales.tdata)) == (codes, scales), f"{len(x)} numbers"
        marks = np.array(found.tuser).reshape(-1, len(codes) // len(scales)).tolist()
        assert marks == [[int(is_completed and row == len(scales) - 1)] * len(marks[0]) for row in range(len(marks))]


async def streamed(dut, count: int, stalls: bool, seed: int) -> None:
    bench = Bench(dut, Random(seed))
    if stalls:
        for end in (bench.source, bench.codes, bench.scales):
            end.set_pause_generator(bench.stalls())
    await bench.reset()
    for _ in range(-(-count // 10)):
        for x in [bench.send() for _ in range(10)]:
            await bench.check(x)
    for _ in range(100):
        await RisingEdge(dut.aclk)
    assert bench.codes.empty() and bench.scales.empty(), "more than was sent"


@cocotb.test(timeout_time=PATIENCE * JOB["packets"], timeout_unit="us")
async def packets(dut) -> None:
    """Packets in order, without stalls and with stalls on all sides."""
    await streamed(dut, JOB["packets"], True, JOB["seed"])


@cocotb.test(timeout_time=10 * PATIENCE, timeout_unit="us")
async def full_rate(dut) -> None:
    """A block enters in as many cycles as it has beats."""
    bench = Bench(dut, Random(JOB["seed"]))
    await bench.reset()
    x = np.arange(40 * SIZE, dtype=np.uint32) + 0x3F800000
    bench.source.send_nowait(AxiStreamFrame(x.tobytes()))
    taken = []
    for cycle in range(40 * CONFIG.beats + CONFIG.latency + 20):
        await RisingEdge(dut.aclk)
        if dut.m_axis_tvalid.value == 1 and dut.m_axis_tready.value == 1:
            taken.append(cycle)
    assert len(taken) == 40 * CONFIG.beats and taken[-1] - taken[0] == len(taken) - 1
    await bench.check(x)


@cocotb.test(timeout_time=6 * PATIENCE * JOB["resets"], timeout_unit="us")
async def resets(dut) -> None:
    """A reset drops what is inside, and nothing of it comes later."""
    random = Random(JOB["seed"] + 1)
    bench = Bench(dut, random)
    for end in (bench.source, bench.codes, bench.scales):
        end.set_pause_generator(bench.stalls())
    for _ in range(JOB["resets"]):
        await bench.reset()
        for x in [bench.send() for _ in range(3)]:
            await bench.check(x)
        for _ in range(3):
            bench.send()
        for _ in range(random.randrange(1, 60)):
            await RisingEdge(dut.aclk)
