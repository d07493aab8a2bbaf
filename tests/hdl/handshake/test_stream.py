"""A converter with streams gives the results of the golden model in order, under any stalls."""

from collections.abc import Iterable
from random import Random

import pytest
from amaranth.back import verilog
from amaranth.sim import Simulator

from mxcast.hdl import StreamConverter, cast_config, converter_config, decoder_config, nvfp4_config, tile_config
from mxcast.hdl.handshake.stream import ARRAYS
from mxcast.sim.operations import golden, of, supplied
from mxcast.sim.run.beats import in_beats
from mxcast.sim.transactions import Transactions, data_ports
from mxcast.spec import Port

CONFIGS = {
    "encoder": converter_config("e2m1", "nvidia", block_size=4, registered_after="key,scale,output"),
    "decoder": decoder_config("e4m3", lanes=4, block_size=8),
    "cast": cast_config("e5m2", lanes=2, interface="skid"),
    "tile": tile_config("e2m1", block_size=4, source="bf16", interface="skid"),
    "NVFP4": nvfp4_config("nvfp4", lanes=8, source="bf16"),
}


def values(found: Transactions, ports: Iterable[Port]) -> dict[str, object]:
    """A transaction as a payload."""
    arrays = {port.name: found[port.role][0].tolist() for port in ports}
    return {port.name: arrays[port.name] if port.role in ARRAYS else arrays[port.name][0] for port in ports}


@pytest.mark.parametrize("name", CONFIGS)
def test_blocks_go_through_streams(name):
    config = CONFIGS[name]
    design, random = StreamConverter(config), Random(5)
    given = supplied(config, of(config.numerics).random(12, 5))
    entering, leaving = (data_ports(config.ports, side) for side in ("input", "output"))
    blocks = in_beats(given, entering, config.beats)
    right = in_beats(golden(config.numerics, given), leaving, config.beats)
    sent = [values(blocks.rows(slice(row, row + 1)), entering) for row in range(len(blocks))]
    found = []

    async def give(ctx):
        for block in sent:
            while random.random() < 0.3:
                await ctx.tick()
            ctx.set(design.i.payload, block)
            ctx.set(design.i.valid, 1)
            await ctx.tick().until(design.i.ready)
            ctx.set(design.i.valid, 0)

    async def take(ctx):
        while True:
            ctx.set(design.o.ready, random.random() < 0.6)
            *_, valid, ready, payload = await ctx.tick().sample(design.o.valid, design.o.ready, design.o.payload)
            if valid and ready:
                arrays = [port.name for port in leaving if port.role in ARRAYS]
                lists = {name: [payload[name][lane] for lane in range(len(payload[name]))] for name in arrays}
                found.append({port.name: lists.get(port.name) or payload[port.name] for port in leaving})

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(give)
    simulator.add_testbench(take, background=True)
    simulator.run_until(1e-3)  # 1000 cycles: a lost block never arrives
    assert found == [values(right.rows(slice(row, row + 1)), leaving) for row in range(len(right))]


def test_it_becomes_verilog():
    design = StreamConverter("e2m1,e1m2", block_size=2, rounding="sr", random_bits=2, registered_after="scale")
    text = verilog.convert(design)
    assert "i__payload" in text and "o__ready" in text


def test_a_converter_without_registers_is_refused():
    with pytest.raises(ValueError, match="^a converter without registers has no streams: give registered_after$"):
        StreamConverter("e2m1")
    with pytest.raises(ValueError, match="^streams of Amaranth have valid and ready, not AXI4-Stream: mxfp8_e4m3 "):
        StreamConverter("e4m3", lanes=8, interface="axis")
