"""Skids and AXI4-Stream around casts, Hadamard transforms and tile encoders: pins, identity, bits and refusals."""

import json

import pytest

from mxcast.hdl import (
    Caster,
    HadamardTransform,
    TileEncoder,
    cast_config,
    config_of,
    configuration,
    describe,
    hadamard_config,
    nvfp4_tile_config,
    tile_config,
    verilog,
)
from mxcast.hdl.config.command import command_line
from mxcast.hdl.handshake.axis import most_inside
from mxcast.sim import verify

from ..lint import lint

NAME = "square"
CONFIGS = {
    "cast": cast_config("e2m1", lanes=2, rounding="sr", random_bits=3, interface="skid", registered_after="exponent"),
    "transform": hadamard_config("hadamard16", interface="skid", registered_after="level2"),
    "transform by AXI4-Stream": hadamard_config("hadamard16", interface="axis"),
    "tile": tile_config("e4m3", block_size=4, interface="skid", columns="in_place"),
    "tile by AXI4-Stream": tile_config("e3m2", "nvidia", block_size=8, interface="axis", registered_after="level2"),
    "NVFP4": nvfp4_tile_config("nvfp4", interface="axis", source="bf16", registered_after="ratio"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CONFIGS)
def test_the_bits_are_those_of_the_model(name, record_property):
    result = verify(CONFIGS[name], blocks=2000)
    record_property("blocks", result.blocks)
    assert result.passed and result.blocks > 1000, result.report


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CONFIGS)
def test_the_verilog_has_no_warning(name, tmp_path):
    file = tmp_path / f"{NAME}.v"
    file.write_text(verilog(CONFIGS[name], NAME))
    assert not lint("--lint-only", "-Wall", "--top-module", NAME, file)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_is_read_from_its_json(name):
    config = CONFIGS[name]
    assert config_of(json.loads(json.dumps(config.to_dict()))) == config
    assert f"interface={config.microarchitecture.interface}" in command_line(config)


@pytest.mark.parametrize(
    ("op", "format"), [("cast", "e4m3"), ("hadamard", "hadamard16"), ("tile", "e2m1"), ("tile", "nvfp4")]
)
def test_a_command_does_not_name_the_registers_that_are_always_there(op, format):
    config = configuration(op, format, interface="skid")
    assert "interface=skid" in command_line(config) and "registered_after" not in command_line(config)


def test_each_result_has_a_stream():
    about = describe(CONFIGS["NVFP4"], NAME)
    assert about["streams"] == {
        "input": ["s_axis"],
        "output": ["m_axis", "m_axis_scale", "m_axis_column", "m_axis_column_scale"],
    }
    pins = {port["name"]: port["width"] for port in about["ports"]}
    assert (pins["s_axis_tdata"], pins["s_axis_tkeep"], pins["s_axis_tuser"]) == (16 * 16, 16 * 2, 2 * 32)
    assert (pins["m_axis_column_tdata"], pins["m_axis_column_tkeep"]) == (16 * 4, 16 // 2)
    assert "m_axis_scale_tuser" not in pins


def test_a_skid_keeps_the_latency_and_has_registers_at_the_end():
    assert CONFIGS["transform"].latency == hadamard_config("hadamard16", registered_after="level2,output").latency
    assert CONFIGS["transform"].microarchitecture.registered_after == ("level2", "output")
    assert CONFIGS["tile"].microarchitecture.registered_after == ("scale", "output")
    assert tile_config("e4m3", interface="axis").latency == tile_config("e4m3").latency + 1


@pytest.mark.parametrize(
    ("config", "blocks"), [(CONFIGS["transform by AXI4-Stream"], 3), (tile_config("e4m3", interface="axis"), 4)]
)
def test_there_is_room_for_all_blocks_at_full_rate(config, blocks):
    assert most_inside(config.core) == blocks


@pytest.mark.parametrize(
    ("component", "name"), [(Caster, "cast"), (HadamardTransform, "transform"), (TileEncoder, "tile")]
)
def test_a_core_has_valid_and_ready_only(component, name):
    with pytest.raises(ValueError, match=f"^{component.__name__} takes .* by valid and ready, not .*interface="):
        component(CONFIGS[name])
