"""A converter with streams gives the results of the golden model in order, under any stalls."""

from random import Random

import numpy as np
import pytest
from amaranth.back import verilog
from amaranth.sim import Simulator

from mxcast.hdl import StreamConverter
from mxcast.models import quantize
from mxcast.spec import numerics


def test_blocks_go_through_streams():
    design = StreamConverter("e2m1", "nvidia", block_size=4, registered_after="key,scale,output")
    rng, random = np.random.default_rng(5), Random(5)
    blocks = rng.standard_normal((60, 4), np.float32)
    expected = quantize(blocks, numerics("e2m1", "nvidia", block_size=4))
    found = []

    async def give(ctx):
        for block in blocks.view(np.uint32):
            while random.random() < 0.3:
                await ctx.tick()
            ctx.set(design.i.payload, {"x": block.tolist()})
            ctx.set(design.i.valid, 1)
            await ctx.tick().until(design.i.ready)
            ctx.set(design.i.valid, 0)

    async def take(ctx):
        while True:
            ctx.set(design.o.ready, random.random() < 0.6)
            *_, valid, ready, payload = await ctx.tick().sample(design.o.valid, design.o.ready, design.o.payload)
            if valid and ready:
                found.append((payload["scale"], [payload["p"][lane] for lane in range(4)]))

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(give)
    simulator.add_testbench(take, background=True)
    simulator.run_until(2e-3)  # 2000 cycles: a lost block never arrives
    assert found == [(int(s), c.tolist()) for s, c in zip(expected.scales[:, 0], expected.codes)]


def test_it_becomes_verilog():
    design = StreamConverter("e2m1,e1m2", block_size=2, rounding="sr", random_bits=2, registered_after="scale")
    text = verilog.convert(design)
    assert "i__payload" in text and "o__ready" in text


def test_a_converter_without_registers_is_refused():
    with pytest.raises(ValueError, match="^a converter without registers has no streams: give registered_after$"):
        StreamConverter("e2m1")
