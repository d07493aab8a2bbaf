"""An encoder between two memories: a small DMA in Amaranth, simulated and compared with the golden model.

    python examples/amaranth_dma.py

A reader fetches a few numbers in each cycle, `StreamConverter` converts them, and a writer stores codes and scales in
memories of their own. Both memories have other users: in cycles without a grant nothing is read or written. The whole
design prints as Verilog by `amaranth.back.verilog.convert(QuantizingDma())`.
"""

import sys
from random import Random

import numpy as np
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from mxcast import quantize
from mxcast.hdl import StreamConverter, converter_config

CONFIG = converter_config("e4m3", "nvidia", lanes=4, interface="skid", target="xcu")
BLOCKS = 24
"""Blocks that the memories hold."""


class QuantizingDma(wiring.Component):
    """Converts blocks from a memory of numbers to memories of codes and of scales.

    Ports
    -----
    start : in, begins with block 0; ignored while ``busy``
    blocks : in, the number of blocks, at least 1
    busy : out, whether blocks are still to be written
    read_grant, write_grant : in, whether the memories may be used in this cycle
    """

    def __init__(self) -> None:
        self.converter = StreamConverter(CONFIG)
        lanes, beats, rules = CONFIG.lanes, CONFIG.beats, CONFIG.numerics
        self.numbers = Memory(shape=rules.source.bits * lanes, depth=BLOCKS * beats, init=[])
        self.codes = Memory(shape=rules.block.element.bits * lanes, depth=BLOCKS * beats, init=[])
        self.scales = Memory(shape=rules.block.scale.bits, depth=BLOCKS, init=[])
        super().__init__(
            {"start": In(1), "blocks": In(range(BLOCKS + 1)), "busy": Out(1), "read_grant": In(1), "write_grant": In(1)}
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.converter = converter = self.converter
        m.submodules.numbers, m.submodules.codes, m.submodules.scales = self.numbers, self.codes, self.scales
        source, codes, scales = self.numbers.read_port(), self.codes.write_port(), self.scales.write_port()
        beats = BLOCKS * CONFIG.beats

        # reader: a word is read while the word before it leaves, and waits at the output of the memory
        to_read = Signal(range(beats + 1))
        has_word = Signal()
        reads = Signal()
        m.d.comb += [
            reads.eq((to_read != 0) & self.read_grant & (~has_word | converter.i.ready)),
            source.en.eq(reads),
            converter.i.valid.eq(has_word),
            converter.i.payload.x.eq(source.data),
        ]
        with m.If(reads):
            m.d.sync += [source.addr.eq(source.addr + 1), to_read.eq(to_read - 1), has_word.eq(1)]
        with m.Elif(converter.i.ready):
            m.d.sync += has_word.eq(0)

        # writer: codes of each beat, and the scale with the last beat of its block
        to_write = Signal(range(beats + 1))
        writes = Signal()
        result = converter.o.payload
        m.d.comb += [
            self.busy.eq(to_write != 0),
            converter.o.ready.eq(self.write_grant),
            writes.eq(converter.o.valid & self.write_grant),
            codes.en.eq(writes),
            codes.data.eq(Cat(result.p)),
            scales.en.eq(writes & result.last),
            scales.data.eq(result.scale),
        ]
        with m.If(writes):
            m.d.sync += [codes.addr.eq(codes.addr + 1), to_write.eq(to_write - 1)]
            with m.If(result.last):
                m.d.sync += scales.addr.eq(scales.addr + 1)

        with m.If(self.start & ~self.busy):
            m.d.sync += [
                source.addr.eq(0),
                codes.addr.eq(0),
                scales.addr.eq(0),
                to_read.eq(self.blocks * CONFIG.beats),
                to_write.eq(self.blocks * CONFIG.beats),
            ]
        return m


def converted(x: np.ndarray, dma: QuantizingDma, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Codes and scales of blocks of numbers from the simulated design, and the clock cycles that it took."""
    words = np.ascontiguousarray(x, np.float32).reshape(-1, CONFIG.lanes)
    codes, scales, cycles, random = list[int](), list[int](), 0, Random(seed)

    async def bench(ctx) -> None:
        nonlocal cycles
        for address, word in enumerate(words):
            ctx.set(dma.numbers.data[address], int.from_bytes(word.tobytes(), "little"))
        ctx.set(dma.blocks, len(x))
        ctx.set(dma.start, 1)
        await ctx.tick()
        ctx.set(dma.start, 0)
        while ctx.get(dma.busy):
            ctx.set(dma.read_grant, random.random() < 0.8)
            ctx.set(dma.write_grant, random.random() < 0.8)
            await ctx.tick()
            cycles += 1
        codes.extend(ctx.get(dma.codes.data[address]) for address in range(len(words)))
        scales.extend(ctx.get(dma.scales.data[address]) for address in range(len(x)))

    simulator = Simulator(dma)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    width = CONFIG.numerics.block.element.bits * CONFIG.lanes // 8
    stored = b"".join(word.to_bytes(width, "little") for word in codes)
    return np.frombuffer(stored, np.uint8).reshape(x.shape), np.array(scales, np.uint8), cycles


def main() -> int:
    x = np.random.default_rng(0).standard_normal((BLOCKS, CONFIG.numerics.block_size)).astype(np.float32)
    codes, scales, cycles = converted(x, QuantizingDma(), seed=1)
    q = quantize(x, CONFIG.numerics)
    is_equal = np.array_equal(codes, q.codes.reshape(x.shape)) and np.array_equal(scales, q.scales.reshape(-1))
    print(f"{len(x)} blocks in {cycles} cycles, codes and scales {'equal to' if is_equal else 'DIFFER from'} the model")
    return 0 if is_equal else 1


if __name__ == "__main__":
    sys.exit(main())
