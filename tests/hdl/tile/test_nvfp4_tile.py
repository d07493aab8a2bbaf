"""NVFP4 tile encoders: ports, description, identity, and what is refused."""

import json

import pytest

from mxcast.hdl import Nvfp4TileEncoder, config_of, configuration, describe, nvfp4_config, nvfp4_tile_config, verilog
from mxcast.hdl.config.command import command_line
from mxcast.synth import constrained

from ..lint import lint
from .test_tile import modules


def test_ports_are_of_a_row_and_a_column():
    config = nvfp4_tile_config("nvfp4", source="bf16")
    assert [f"{port.direction} {port.name} {port.width}" for port in config.pins] == [
        *("input clk 1", "input rst 1", "input x 256", "input k 32", "input d 32", "input i_valid 1"),
        *("output i_ready 1", "output scale 8", "output p 64", "output column_scale 8", "output column_p 64"),
        *("output o_first 1", "output o_last 1", "output o_valid 1", "input o_ready 1"),
    ]


def test_the_description_says_how_tiles_move():
    about = describe(nvfp4_tile_config("nvfp4", registered_after="amax"))
    assert (about["beats"], about["initiation_interval"], about["latency"]) == (16, 16, 16 + 2)
    assert about["microarchitecture"]["registered_after"] == ["amax", "output"]
    in_place = describe(nvfp4_tile_config("nvfp4", columns="in_place"))
    assert in_place["latency"] == 16 + 1 + 16 + 1
    assert in_place["microarchitecture"]["registered_after"] == ["output", "turned"]
    text = verilog(nvfp4_tile_config("nvfp4"), "square")
    assert "constant of the tensor for the elements, fp32; result k takes the one that enters with row k" in text


@pytest.mark.parametrize(
    "fields", [{}, {"columns": "in_place"}, {"order": "ao", "source": "bf16", "registered_after": "input,output"}]
)
def test_a_configuration_is_read_from_its_json_and_from_its_command(fields):
    config = nvfp4_tile_config("nvfp4", **fields)
    assert config_of(json.loads(json.dumps(config.to_dict()))) == config
    words = command_line(config).split()
    chosen = dict(part.split("=") for part in words if "=" in part)
    assert words[:3] == ["nvfp4", "--op", "tile"]
    assert configuration("tile", "nvfp4", words[4], **chosen) == config


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"lanes": 8}, "a row of the tile enters in a cycle: leave out lanes"),
        ({"layout": "modelopt"}, "a layout is of the blocks of one direction, but a tile has two: leave out layout"),
        (
            {"interface": "axis", "scale_place": "before"},
            "a tile has a stream for the scales of each direction: leave out scale_place",
        ),
        ({"rounding": "sr"}, "a tile takes no random bits: its rounding cannot be sr"),
        ({"form": "table"}, "the form table has a handshake without registers only: leave out form"),
        ({"four_over_six": "mae", "order": "paper"}, "four_over_six sums errors in the order of the numbers, which.*"),
        ({"order": "modelopt", "form": "product"}, "the order modelopt divides numbers, which the form product.*"),
        ({"source": "fp16"}, "hardware for nvfp4 takes fp32 and bf16 numbers, not fp16"),
        ({"block_size": 8}, "block_size must be 16 or 32, not 8"),
        ({"registered_after": "turned"}, "unknown stage boundary 'turned'.*"),
    ],
)
def test_impossible_tiles_are_refused(fields, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        nvfp4_tile_config("nvfp4", **fields)
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        Nvfp4TileEncoder("nvfp4", **fields)


def test_tiles_are_of_blocks_along_one_axis():
    with pytest.raises(ValueError, match=r"^block_size must be 16 or 32, not \(16, 16\)$"):
        nvfp4_tile_config("nvfp4_2d")
    with pytest.raises(ValueError, match="^latency and frequency_mhz are for blocks: in a tile encoder, name"):
        constrained(nvfp4_tile_config("nvfp4"), {"latency": 20})


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "fields",
    [
        {"source": "bf16"},
        {"order": "ao_single", "registered_after": "input,output"},
        {"source": "bf16", "columns": "in_place"},
    ],
)
def test_the_verilog_has_no_warning(fields, tmp_path):
    file = tmp_path / "square.v"
    file.write_text(verilog(nvfp4_tile_config("nvfp4", **fields), "square"))
    assert not lint("--lint-only", "-Wall", "--top-module", "square", file)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("fields", [{"source": "bf16"}, {"order": "modelopt", "source": "bf16"}])
def test_the_parts_of_an_encoder_are_those_of_a_converter(fields):
    tile = modules(verilog(nvfp4_tile_config("nvfp4", **fields), "square"))
    converter = modules(verilog(nvfp4_config("nvfp4", **{"registered_after": "output", **fields}), "converter"))
    for part in ("two_level_maximum", "scale_unit", "factor_unit", "lane"):
        assert tile[part] == converter[part]
