"""Decoders with lanes: ports, description, identity, and what is refused."""

import json

import pytest

from mxcast.hdl import config_of, decoder_config, describe, nvfp4_decoder_config, verilog
from mxcast.hdl.config.command import command_line
from mxcast.native.folder import dpi_files
from mxcast.proof import prove
from mxcast.synth import constrained

from ..lint import lint


def test_ports_are_of_a_beat():
    config = decoder_config("e2m1", lanes=8, destination="bf16", rounding="sr", random_bits=3)
    assert [f"{port.direction} {port.name} {port.width}" for port in config.pins] == [
        *("input clk 1", "input rst 1", "input p 32", "input scale 8", "input random 24"),
        *("input i_valid 1", "output i_ready 1", "output y 128", "output o_first 1", "output o_last 1"),
        *("output o_valid 1", "input o_ready 1"),
    ]


def test_beats_pass_without_waiting_for_their_block():
    about = describe(decoder_config("e4m3", lanes=4, registered_after="input,output"))
    assert (about["beats"], about["initiation_interval"], about["latency"]) == (8, 8, 3)
    assert about["microarchitecture"]["registered_after"] == ["input", "scale", "output"]


def test_axi_streams_are_described():
    config = decoder_config("e2m3", lanes=2, interface="axis", destination="bf16", rounding="sr", random_bits=3)
    about = describe(config)
    assert about["latency"] == 2
    assert about["streams"] == {"input": ["s_axis", "s_axis_scale"], "output": ["m_axis"]}
    assert {port["name"]: port["width"] for port in about["ports"] if "axis" in port["name"]} == {
        "s_axis_tdata": 16,
        "s_axis_tkeep": 2,
        "s_axis_tlast": 1,
        "s_axis_tuser": 1 + 6,
        "s_axis_tvalid": 1,
        "s_axis_tready": 1,
        "s_axis_scale_tdata": 8,
        "s_axis_scale_tlast": 1,
        "s_axis_scale_tvalid": 1,
        "s_axis_scale_tready": 1,
        "m_axis_tdata": 32,
        "m_axis_tkeep": 4,
        "m_axis_tlast": 1,
        "m_axis_tuser": 1,
        "m_axis_tvalid": 1,
        "m_axis_tready": 1,
    }


@pytest.mark.parametrize("target", ["generic", "xcu", "ecp5"])
@pytest.mark.parametrize("fields", [{"lanes": 1}, {"lanes": 8, "interface": "axis", "registered_after": "read"}])
def test_a_configuration_is_read_from_its_json_and_from_its_command(fields, target):
    config = decoder_config("e5m2", target=target, **fields)
    assert config_of(json.loads(json.dumps(config.to_dict()))) == config
    chosen = dict(part.split("=") for part in command_line(config).split() if "=" in part)
    fields = {key: int(value) if value.isdigit() else value for key, value in chosen.items()}
    assert decoder_config("e5m2", **fields) == config


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"lanes": 32}, "lanes must be 1, 2, 4, 8, 16, so that a block of 32 has several beats, not 32"),
        (
            {"lanes": 8, "layout": "ggml"},
            "a layout needs whole blocks, but lanes deliver .*: leave out layout or lanes, or give interface=axis",
        ),
        ({"interface": "skid", "layout": "ggml"}, "the interface skid has no layout: leave out layout or interface"),
    ],
)
def test_impossible_lanes_are_refused(fields, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        decoder_config("e2m1", **fields)


def test_what_does_not_know_lanes_says_so(tmp_path):
    config = decoder_config("e2m1", lanes=8)
    for fields in ({"lanes": 8}, {"interface": "skid"}, {"lanes": 8, "interface": "axis"}):
        with pytest.raises(ValueError, match="^mxfp4_e2m1 is proved in parts only, as it is emitted: not as a whole"):
            prove(decoder_config("e2m1", **fields), out=tmp_path, whole=True)
    with pytest.raises(ValueError, match="^--dpi sends whole blocks by valid and ready: leave out "):
        dpi_files(config, "top")
    with pytest.raises(ValueError, match="^registered_after names the stage boundaries: leave out latency"):
        constrained(decoder_config("e2m1", lanes=8, registered_after="input"), {"latency": 3})


def test_the_scale_of_a_tensor_is_in_tuser():
    config = nvfp4_decoder_config("nvfp4", lanes=4, interface="axis", destination="bf16")
    assert {pin.name: pin.width for pin in config.pins if "axis_t" in pin.name and pin.width > 8} == {
        "s_axis_tdata": 16,
        "s_axis_tuser": 1 + 32,
        "m_axis_tdata": 64,
    }
    assert describe(config)["microarchitecture"]["registered_after"] == ["products", "output"]
    assert config_of(json.loads(json.dumps(config.to_dict()))) == config
    assert command_line(config) == (
        "nvfp4 --op decode --profile nvfp4_te --set destination=bf16 --set interface=axis --set lanes=4"
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"lanes": 16}, "lanes must be 1, 2, 4, 8, so that a block of 16 has several beats, not 16"),
        ({"interface": "axis", "layout": "ggml"}, "hardware has no layout ggml:nvfp4: it groups 4 blocks"),
        (
            {"interface": "axis", "lanes": 4, "scale_place": "after"},
            "the scale is behind the codes of its block: leave out lanes",
        ),
        ({"interface": "skid", "layout": "modelopt"}, "the interface skid has no layout: leave out .*"),
    ],
)
def test_impossible_lanes_of_nvfp4_are_refused(fields, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        nvfp4_decoder_config("nvfp4", **fields)


@pytest.mark.parametrize("fields", [{"lanes": 2}, {"interface": "axis", "destination": "bf16"}])
def test_the_verilog_of_nvfp4_has_no_warning(fields, tmp_path):
    file = tmp_path / "narrow.v"
    file.write_text(verilog(nvfp4_decoder_config("nvfp4", **fields), "narrow"))
    assert not lint("--lint-only", "-Wall", "--top-module", "narrow", file)


@pytest.mark.parametrize(
    "fields",
    [
        {"lanes": 1, "target": "xcu"},
        {"lanes": 4, "interface": "skid", "registered_after": "input"},
        {"lanes": 8, "interface": "axis", "rounding": "sr", "destination": "bf16", "random_bits": 3},
    ],
)
def test_the_verilog_has_no_warning(fields, tmp_path):
    text = verilog(decoder_config("e4m3", **fields), "narrow")
    file = tmp_path / "narrow.v"
    file.write_text(text)
    assert not lint("--lint-only", "-Wall", "--top-module", "narrow", file)
