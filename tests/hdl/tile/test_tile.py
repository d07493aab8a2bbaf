"""Tile encoders: ports, description, identity, the second store, and what is refused."""

import json
import re

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from mxcast.hdl import config_of, configuration, converter_config, describe, tile_config, verilog
from mxcast.hdl.config.command import command_line
from mxcast.hdl.tile.store import CodeStore, ColumnStore, Exchange
from mxcast.synth import constrained

from ..lint import lint


def test_ports_are_of_a_row_and_a_column():
    config = tile_config("e4m3", source="bf16")
    assert [f"{port.direction} {port.name} {port.width}" for port in config.pins] == [
        *("input clk 1", "input rst 1", "input x 512", "input i_valid 1", "output i_ready 1"),
        *("output scale 8", "output p 256", "output column_scale 8", "output column_p 256"),
        *("output o_first 1", "output o_last 1", "output o_valid 1", "input o_ready 1"),
    ]


@pytest.mark.parametrize(("columns", "latency"), [("in_place", 32 + 1), ("transposed", 32 + 1 + 32 + 1)])
def test_the_description_says_how_tiles_move(columns, latency):
    about = describe(tile_config("e4m3", columns=columns))
    assert (about["beats"], about["initiation_interval"], about["latency"]) == (32, 32, latency)
    assert about["name"] == (
        "mxfp8_e4m3_tile_ocp" if columns == "transposed" else f"mxfp8_e4m3_tile_{about['config_id']}"
    )
    assert about["microarchitecture"]["registered_after"] == ["scale", "turned"][: 1 + (columns == "transposed")]


@pytest.mark.parametrize("target", ["generic", "xcu", "asic"])
@pytest.mark.parametrize("fields", [{}, {"columns": "in_place", "registered_after": "key,output"}])
def test_a_configuration_is_read_from_its_json_and_from_its_command(fields, target):
    config = tile_config("e5m2", "nvidia", target=target, **fields)
    assert config_of(json.loads(json.dumps(config.to_dict()))) == config
    chosen = dict(part.split("=") for part in command_line(config).split() if "=" in part)
    assert configuration("tile", "e5m2", "nvidia", **chosen) == config


def test_a_profile_alone_names_the_usual_tile_encoder():
    assert command_line(tile_config("e4m3", "nvidia")) == "mxfp8_e4m3 --op tile --profile nvidia"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"lanes": 8}, "a row of the tile enters in a cycle: leave out lanes"),
        ({"amax_key": "magnitude"}, "a tile collects the reduced keys of its columns: leave amax_key as reduced"),
        ({"layout": "gpt_oss"}, "a layout is of the blocks of one direction, but a tile has two: leave out layout"),
        (
            {"interface": "axis", "scale_place": "before"},
            "a tile has a stream for the scales of each direction: leave out scale_place",
        ),
        ({"rounding": "sr"}, "a tile takes no random bits: its rounding cannot be sr"),
        ({"columns": "both"}, "unknown columns 'both': known are transposed, in_place"),
        ({"columns": "in_place", "registered_after": "turned"}, "unknown stage boundary 'turned'.*"),
        ({"quantizer": "table", "rounding": "rnz"}, "the table quantizer makes one format.*"),
        ({"block_size": 3}, "block_size must be a power of two from 2 to 128, not 3"),
    ],
)
def test_impossible_tiles_are_refused(fields, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        tile_config("e2m1", **fields)


def test_tiles_are_of_mx_formats_along_one_axis():
    with pytest.raises(ValueError, match="^nvfp4 has the scale format e4m3: tile takes only E8M0 scales$"):
        tile_config("nvfp4")
    with pytest.raises(ValueError, match="^block_size must be a power of two from 2 to 128, not 1024$"):
        tile_config("mxfp8_e4m3_2d")
    with pytest.raises(ValueError, match="^latency and frequency_mhz are for blocks: in a tile encoder, name"):
        constrained(tile_config("e2m1"), {"latency": 4})


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "fields",
    [
        {"target": "xcu", "source": "bf16"},
        {"columns": "in_place", "registered_after": "input,level2,output"},
        {"block_size": 2, "source": "fp16", "specials": "te", "registered_after": "widened,key,output"},
    ],
)
def test_the_verilog_has_no_warning(fields, tmp_path):
    file = tmp_path / "square.v"
    file.write_text(verilog(tile_config("e4m3", **fields), "square"))
    assert not lint("--lint-only", "-Wall", "--top-module", "square", file)


def test_the_stores_have_only_the_bits_that_are_used():
    """Sign, exponent, three bits of fraction and one that rounds, and a sticky bit of a number; the key of a row."""
    text = verilog(tile_config("e4m3", input_subnormals="flush"), "square")
    words = {(int(high) + 1, int(last) + 1) for high, last in re.findall(r"reg \[(\d+):0\] \w+ \[(\d+):0\];", text)}
    assert words == {(32 * (1 + 8 + 4 + 1) + 8, 32), (32 * 8 + 8 + 8, 32), (1 + 8 + 4 + 1, 32), (8, 32)}


@pytest.mark.parametrize("side", [2, 8, 32])
def test_two_stores_and_an_exchange_turn_a_square(side):
    """A row enters and a column leaves in each cycle, two squares later. Each store holds one square."""
    design = Module()
    design.submodules.numbers = numbers = ColumnStore(side, 8)
    design.submodules.exchange = exchange = Exchange(side, 8)
    design.submodules.codes = codes = CodeStore(side, 8)
    squares = np.random.default_rng(side).integers(0, 256, (7, side, side))
    found = []
    design.d.comb += [
        exchange.by_column.eq(numbers.stored),
        codes.words.eq(exchange.by_row),
        *(part.enable.eq(1) for part in (numbers, codes)),
    ]

    async def turn(ctx):
        for number in range(7 * side):
            square, place = divmod(number, side)
            for port in (numbers.write_place, numbers.read_place, exchange.place, codes.write_place, codes.read_place):
                ctx.set(port, place)
            ctx.set(numbers.write_crossed, square % 2)
            ctx.set(numbers.read_crossed, square % 2)  # of the square before
            ctx.set(codes.write_crossed, square % 2)
            ctx.set(codes.read_crossed, square % 2)
            ctx.set(numbers.words, int.from_bytes(squares[square, place].tolist(), "little"))
            if square > 1:
                found.append(ctx.get(codes.stored).to_bytes(side, "little"))
            await ctx.tick()

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(turn)
    simulator.run()
    assert found == [bytes(column) for square in squares[:-2] for column in square.T.tolist()]


def modules(text: str) -> dict[str, str]:
    """The modules of a Verilog file by the end of their names, with the same name for the top module."""
    top = re.search(r"^module (\w+)\(", text, re.M)[1]
    found = re.findall(r"^module (\w+)\(.*?^endmodule$", text, re.M | re.S)
    bodies = re.findall(r"^module \w+(\(.*?^endmodule)$", text, re.M | re.S)
    return {name.removeprefix(f"{top}_"): body.replace(f" {top}_", " top_") for name, body in zip(found, bodies)}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("columns", ["transposed", "in_place"])
@pytest.mark.parametrize("fields", [{"target": "xcu"}, {"specials": "te", "registered_after": "input,output"}])
def test_a_column_is_an_encoder_with_one_lane(columns, fields):
    """Which `prove` proves: its modules are the same text. So are the quantizer and the scale of a row."""
    tile = modules(verilog(tile_config("e4m3", columns=columns, **fields), "square"))
    one = {**fields, "amax": "compare"}
    narrow = modules(verilog(converter_config("e4m3", lanes=1, **one), "narrow"))
    assert tile["column_codes"] == narrow["beat_codes"]
    assert tile["number_key"] == narrow["amax_tree"]
    for same in ("key_accumulator", "element_quantizer", "scale_unit"):
        assert tile[same] == narrow[same]
