"""Packets through an encoder behind registers, with cocotbext-axi at all ports. Runs inside a simulator
(`test_registers`). Expected counts and bits come from the golden model.
"""

import json
import os
from pathlib import Path
from random import Random

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from mxcast.hdl import config_of
from mxcast.sim.nvfp4.stimuli import with_constants
from mxcast.sim.operations import golden
from mxcast.sim.transactions import Transactions
from mxcast.spec import Packing, Role
from mxcast.spec.operations.random_source import initial_states

JOB = json.loads(Path(os.environ["MXCAST_BENCH"]).read_text())
CONFIG = config_of(JOB)
MODES, LANES = CONFIG.modes, CONFIG.lanes
SIZE, BITS = MODES[0].block_size, MODES[0].block.element.bits
RANDOM_BITS = MODES[0].random_bits
OKAY, SLVERR = 0, 2
CONTROL, MODE, SEED = 0x10, 0x14, 0x18
COUNTERS = {"blocks": 0x20, "saturated": 0x24, "zeros": 0x28, "nan_blocks": 0x2C} if CONFIG.is_even else {}
"""Addresses of the counters, which need streams of their own for codes and scales."""
CONSTANTS = {port.role: 0x40 + 4 * place for place, port in enumerate(CONFIG.of_block) if port.role is not Role.MODE}
"""Addresses of the constants of a tensor."""
TENSORS = (0x45280000, 0x3F800000, 0x42C80000, 0x00000001)
"""Largest magnitudes of tensors."""
PATIENCE = {"timeout_time": 5 * JOB["packets"] + 100, "timeout_unit": "us"}


class Generator:
    """The documented generator of random bits, in whole numbers."""

    def __init__(self) -> None:
        self.first = initial_states(RANDOM_BITS * LANES)
        self.states = list(self.first)

    def restart(self, seed: int) -> None:
        rotated = [(seed << by | seed >> 32 - by) & 0xFFFFFFFF for by in range(len(self.first))]
        self.states = [first ^ turned or first for first, turned in zip(self.first, rotated)]

    def beat(self) -> list[int]:
        """The random number of each lane, and a step."""
        whole = sum(state << 32 * number for number, state in enumerate(self.states))
        for number, state in enumerate(self.states):
            state ^= state << 13 & 0xFFFFFFFF
            state ^= state >> 17
            self.states[number] = state ^ state << 5 & 0xFFFFFFFF
        return [whole >> RANDOM_BITS * lane & (1 << RANDOM_BITS) - 1 for lane in range(LANES)]


class Bench:
    def __init__(self, dut, seed: int, stalls: bool = True) -> None:
        self.dut, self.random, self.generator = dut, Random(seed), Generator() if RANDOM_BITS else None
        cocotb.start_soon(Clock(dut.aclk, 10, "ns").start())
        ends = {"clock": dut.aclk, "reset": dut.aresetn, "reset_active_level": False}
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), **ends)
        self.codes = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), **ends)
        self.sinks = [self.codes]
        if CONFIG.is_even:
            self.sinks.append(AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis_scale"), **ends))
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), **ends)
        lite = self.bus.write_if, self.bus.read_if
        channels = [lite[0].aw_channel, lite[0].w_channel, lite[0].b_channel, lite[1].ar_channel, lite[1].r_channel]
        for end in [self.source, *self.sinks, *channels] if stalls else []:
            end.set_pause_generator(self.stalls())
        self.counts = dict.fromkeys(COUNTERS, 0)
        cocotb.start_soon(self.watch())

    async def watch(self) -> None:
        """No output of a channel changes while it waits, unless there is a reset."""
        dut = self.dut
        channels = {
            "s_axil_b": [dut.s_axil_bresp],
            "s_axil_r": [dut.s_axil_rresp, dut.s_axil_rdata],
            "m_axis_t": [dut.m_axis_tdata, dut.m_axis_tlast, dut.m_axis_tuser],
        }
        if CONFIG.is_even:
            channels["m_axis_scale_t"] = [dut.m_axis_scale_tdata, dut.m_axis_scale_tlast]
        waiting: dict[str, list] = {}
        while True:
            await RisingEdge(dut.aclk)
            offered = {
                name: [pin.value for pin in pins]
                for name, pins in channels.items()
                if getattr(dut, f"{name}valid").value == 1
            }
            assert all(offered.get(name) == values for name, values in waiting.items()), f"{waiting} became {offered}"
            waits = dut.aresetn.value == 1
            waiting = {n: values for n, values in offered.items() if waits and getattr(dut, f"{n}ready").value == 0}

    def stalls(self):
        while True:
            share = self.random.choice((0, 0.1, 0.5, 0.8))
            for _ in range(64):
                yield self.random.random() < share

    async def reset(self) -> None:
        self.dut.aresetn.value = 0
        await ClockCycles(self.dut.aclk, 3)
        for end in (self.source, *self.sinks):
            end.clear()
        self.dut.aresetn.value = 1
        self.generator = Generator() if RANDOM_BITS else None
        self.counts = dict.fromkeys(COUNTERS, 0)
        await RisingEdge(self.dut.aclk)
        if CONSTANTS:
            await self.write_constants(self.random.choice(TENSORS))

    async def read(self, address: int) -> int:
        answer = await self.bus.read(address, 4)
        assert answer.resp == OKAY, f"{address:#x} answers {answer.resp}"
        return int.from_bytes(answer.data, "little")

    async def write(self, address: int, value: int) -> None:
        assert (await self.bus.write(address, value.to_bytes(4, "little"))).resp == OKAY

    async def write_constants(self, amax: int) -> None:
        """The constants of a tensor with this largest magnitude, for the next packet."""
        self.amax = amax
        given = with_constants(MODES[0], np.zeros((1, SIZE), np.uint32), np.array([amax], np.uint32))
        for role, address in CONSTANTS.items():
            await self.write(address, int(given[role][0, 0]))

    async def idle(self) -> None:
        """Wait until the status says that no packet is inside."""
        while await self.read(0x0C):
            pass

    async def begun(self) -> None:
        """Wait until a beat with bytes has entered."""
        dut, has_entered = self.dut, False
        while not has_entered:
            await RisingEdge(dut.aclk)
            has_entered = (
                dut.s_axis_tvalid.value == 1 and dut.s_axis_tready.value == 1 and dut.s_axis_tkeep.value[0] == 1
            )

    def packet(self) -> np.ndarray:
        """Numbers of a packet: normal numbers, zeros and NaN, and now and then any pattern of bits."""
        count = self.random.choice((1, LANES, SIZE, 2 * SIZE, self.random.randrange(1, 4 * SIZE)))
        rng = np.random.default_rng(self.random.getrandbits(32))
        if self.random.random() < 0.3:
            return rng.integers(0, 1 << 32, count, dtype=np.uint32)
        x = rng.standard_normal(count).astype(np.float32) * np.float32(2.0 ** rng.integers(-9, 9))
        x[rng.random(count) < 0.2] = 0
        x[rng.random(count) < 0.02] = np.nan
        return x.view(np.uint32)

    def long(self) -> np.ndarray:
        """Normal numbers of a packet that is still entering when settings have been written."""
        rng = np.random.default_rng(self.random.getrandbits(32))
        return rng.standard_normal((160 if CONSTANTS else 40) * SIZE).astype(np.float32).view(np.uint32)

    def send(self, x: np.ndarray) -> None:
        """Send a packet, now and then behind a beat without bytes."""
        null = bytes(4 * LANES) if self.random.random() < 0.3 else b""
        data = x.tobytes()
        self.source.send_nowait(AxiStreamFrame(null + data, tkeep=[0] * len(null) + [1] * len(data)))

    def expected(self, x: np.ndarray, mode: int) -> tuple[bytes, ...]:
        """The bytes of codes and of scales of a packet, which are counted; or of blocks with both."""
        rules = MODES[mode]
        blocks = np.append(x, np.zeros(-len(x) % SIZE, np.uint32)).reshape(-1, SIZE)
        given = Transactions({Role.NUMBERS: blocks})
        if CONSTANTS:
            given = with_constants(rules, blocks, np.full(len(blocks), self.amax, np.uint32))
        if self.generator is not None:
            numbers = [number for _ in range(-(-len(x) // LANES)) for number in self.generator.beat()]
            drawn = np.resize(np.array(numbers, np.uint16), blocks.size).reshape(blocks.shape)
            given = given.with_arrays({Role.RANDOM: drawn})
        found = golden(rules, given)
        codes, scales = found[Role.CODES], found[Role.SCALE]
        element, scale = rules.block.element, rules.block.scale
        values = [element.decode(code) for code in codes.reshape(-1).tolist()]
        finite = [number.magnitude for number in values if number.kind == "finite"]
        seen = {
            "blocks": len(blocks),
            "saturated": finite.count(element.max_value),
            "zeros": finite.count(0),
            "nan_blocks": [scale.decode(one).kind for one in scales.reshape(-1).tolist()].count("nan"),
        }
        self.counts = {name: count + seen[name] for name, count in self.counts.items()}
        bits = (codes.reshape(-1, 1) >> np.arange(BITS, dtype=np.uint8) & 1).reshape(-1, LANES * BITS)
        packed = np.packbits(bits, axis=1, bitorder="little")
        if CONFIG.block_stream is not None and CONFIG.block_stream.packing is Packing.BYTES:
            packed = codes
        if CONFIG.is_even:
            return packed.tobytes(), scales.tobytes()
        return (np.hstack([scales.reshape(-1, 1), packed.reshape(len(blocks), -1)]).tobytes(),)

    async def check(self, *expected: bytes) -> None:
        for sink, data in zip(self.sinks, expected, strict=True):
            found = await sink.recv(compact=False)
            keep = found.tkeep or [1] * len(found.tdata)
            assert bytes(byte for byte, kept in zip(found.tdata, keep) if kept) == data

    async def check_counts(self) -> None:
        await self.idle()
        await ClockCycles(self.dut.aclk, 4)  # counters are three cycles late
        assert {name: await self.read(address) for name, address in COUNTERS.items()} == self.counts


@cocotb.test(**PATIENCE)
async def registers(dut) -> None:
    """Contents, byte strobes, and what is refused without effect."""
    bench = Bench(dut, JOB["seed"])
    await bench.reset()
    wanted = [0x4D584301, int(CONFIG.config_id, 16), SIZE | LANES << 16 | len(MODES) << 24, 0]
    assert [await bench.read(address) for address in range(0, 0x10, 4)] == wanted
    there = {*range(0, 0x10, 4), *COUNTERS.values()}
    writable = {*([CONTROL] if COUNTERS else []), *CONSTANTS.values()}
    if len(MODES) > 1:
        writable |= {MODE}
    if RANDOM_BITS:
        writable |= {SEED}
        await bench.write(SEED, 0x12345678)
        assert (await bench.bus.write(SEED + 1, b"\xaa\xbb")).resp == OKAY
        assert await bench.read(SEED) == 0x12BBAA78
    for address in range(0, 0x100, 4):
        assert (await bench.bus.read(address, 4)).resp == (OKAY if address in there | writable else SLVERR)
        assert (await bench.bus.write(address, bytes(4))).resp == (OKAY if address in writable else SLVERR)
    if MODE in writable:
        await bench.write(MODE, len(MODES) - 1)
        if len(MODES) & len(MODES) - 1:
            assert (await bench.bus.write(MODE, len(MODES).to_bytes(4, "little"))).resp == SLVERR
        assert await bench.read(MODE) == len(MODES) - 1


@cocotb.test(**PATIENCE)
async def packets(dut) -> None:
    """Bits and counts of packets. Modes and seeds are written while packets are inside, and meet the next packet."""
    bench = Bench(dut, JOB["seed"])
    await bench.reset()
    mode = 0
    for part in range(-(-JOB["packets"] // 10)):
        waiting = []
        for _ in range(10):
            x = bench.packet()
            bench.send(x)
            waiting.append(bench.expected(x, mode))
        for one in waiting:
            await bench.check(*one)
        if part % 2 == 0:
            await bench.check_counts()
            if COUNTERS:
                await bench.write(CONTROL, 1)
            bench.counts = dict.fromkeys(COUNTERS, 0)
        long = bench.packet() if part % 2 else bench.long()
        bench.send(long)
        before = bench.expected(long, mode)
        await bench.begun()
        if len(MODES) > 1:
            mode = (mode + bench.random.randrange(1, len(MODES))) % len(MODES)
            await bench.write(MODE, mode)
        if RANDOM_BITS:
            seed = bench.random.choice((0, bench.generator.first[0], bench.random.getrandbits(32)))
            await bench.write(SEED, seed)
            bench.generator.restart(seed)
        if CONSTANTS:
            await bench.write_constants(bench.random.choice([amax for amax in TENSORS if amax != bench.amax]))
        after = bench.packet()
        bench.send(after)
        for one in (before, bench.expected(after, mode)):
            await bench.check(*one)
    await bench.check_counts()


@cocotb.test(**PATIENCE)
async def full_rate(dut) -> None:
    """Registers take no cycle from packets in one mode."""
    bench = Bench(dut, JOB["seed"], stalls=False)
    await bench.reset()
    sent = [np.arange(SIZE, dtype=np.uint32) + 0x3F800000 + SIZE * number for number in range(40)]
    for x in sent:
        bench.source.send_nowait(AxiStreamFrame(x.tobytes()))
    taken = []
    for cycle in range(40 * CONFIG.beats + CONFIG.latency + 20):
        await RisingEdge(dut.aclk)
        if dut.m_axis_tvalid.value == 1 and dut.m_axis_tready.value == 1:
            taken.append(cycle)
    if CONFIG.is_even:
        assert len(taken) == 40 * CONFIG.beats and taken[-1] - taken[0] == len(taken) - 1
    for x in sent:
        await bench.check(*bench.expected(x, 0))
    await bench.check_counts()


@cocotb.test(skip=not JOB["deposits"], **PATIENCE)
async def counters_stop(dut) -> None:
    """Counters stop at their largest value until they are cleared, and a reset clears everything."""
    bench = Bench(dut, JOB["seed"])
    await bench.reset()
    for name in COUNTERS:
        getattr(dut, f"{name}_total").value = 0xFFFFFFFE
    nan = np.full(4 * SIZE, 0x7FC00000, np.uint32)
    for x in (nan, np.zeros(SIZE, np.uint32), np.full(4 * SIZE, 0x7F7FFFFF, np.uint32)):
        bench.send(x)
        await bench.check(*bench.expected(x, 0))
    expected = {name: min(0xFFFFFFFF, 0xFFFFFFFE + count) for name, count in bench.counts.items()}
    bench.counts = expected
    await bench.check_counts()
    bench.send(bench.packet())
    await ClockCycles(dut.aclk, 3)
    await bench.reset()
    await bench.check_counts()
    x = bench.packet()
    bench.send(x)
    await bench.check(*bench.expected(x, 0))
    await bench.check_counts()
