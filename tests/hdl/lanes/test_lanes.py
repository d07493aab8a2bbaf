"""Encoders with lanes: ports, description, identity, and what is refused."""

import json
import re

import numpy as np
import pytest
from amaranth.sim import Simulator

from mxcast.hdl import (
    BlockConverter,
    BlockDecoder,
    Nvfp4Converter,
    StreamConverter,
    config_of,
    converter_config,
    describe,
    nvfp4_config,
    verilog,
)
from mxcast.hdl.config.command import command_line
from mxcast.models import quantize
from mxcast.native.folder import dpi_files
from mxcast.proof import prove
from mxcast.sim.check.round_trip import decoder_of
from mxcast.spec import numerics
from mxcast.synth import constrained

from ..lint import lint


def test_ports_are_of_a_beat():
    config = converter_config("e4m3", lanes=8, rounding="sr", random_bits=3)
    assert [f"{port.direction} {port.name} {port.width}" for port in config.pins] == [
        *("input clk 1", "input rst 1", "input x 256", "input random 24", "input i_valid 1", "output i_ready 1"),
        *(
            "output scale 8",
            "output p 64",
            "output o_first 1",
            "output o_last 1",
            "output o_valid 1",
            "input o_ready 1",
        ),
    ]


@pytest.mark.parametrize(("lanes", "beats"), [(1, 32), (2, 16), (4, 8), (8, 4), (16, 2)])
def test_the_description_says_how_blocks_move(lanes, beats):
    about = describe(converter_config("e4m3", lanes=lanes, registered_after="input,output"))
    assert (about["beats"], about["initiation_interval"]) == (beats, beats)
    assert about["latency"] == beats + 3  # all beats, and the registers input, scale and output
    assert about["microarchitecture"]["lanes"] == lanes
    assert about["microarchitecture"]["registered_after"] == ["input", "scale", "output"]


def test_axi_streams_are_described():
    config = converter_config("e2m3", lanes=2, interface="axis", rounding="sr", random_bits=3, scale_rule="floor,ceil")
    about = describe(config)
    assert about["microarchitecture"]["registered_after"] == ["scale", "output"]
    assert about["latency"] == 16 + 3  # all beats, and the registers input, scale and output
    assert about["streams"] == {"input": ["s_axis"], "output": ["m_axis", "m_axis_scale"]}
    assert about["reset"]["port"] == "aresetn" and about["reset"]["active"] == "low"
    assert {port["name"]: port["width"] for port in about["ports"] if "axis_t" in port["name"]} == {
        "s_axis_tdata": 64,
        "s_axis_tkeep": 8,
        "s_axis_tlast": 1,
        "s_axis_tuser": 1 + 6,
        "s_axis_tvalid": 1,
        "s_axis_tready": 1,
        "m_axis_tdata": 16,
        "m_axis_tkeep": 2,
        "m_axis_tlast": 1,
        "m_axis_tuser": 1,
        "m_axis_tvalid": 1,
        "m_axis_tready": 1,
    }


def test_a_whole_block_is_one_beat():
    config = converter_config("e2m1", interface="axis", layout="ggml")
    about = describe(config)
    assert about["initiation_interval"] == 1 and "beats" not in about
    assert {pin.name: pin.width for pin in config.pins if "tdata" in pin.name} == {
        "s_axis_tdata": 32 * 32,
        "m_axis_tdata": 8 * 16,
    }
    assert config.latency == 5 and config.microarchitecture.registered_after == ("scale", "output")
    assert command_line(config) == "mxfp4_e2m1 --profile ocp --set interface=axis --set layout=ggml"
    assert config_of(json.loads(json.dumps(config.to_dict()))) == config
    skid = converter_config("e2m1", interface="skid")
    assert [pin.name for pin in skid.pins][5:] == ["scale", "p", "o_first", "o_last", "o_valid", "o_ready"]


def test_whole_blocks_are_described_as_before():
    about = describe(converter_config("e4m3", registered_after="scale"))
    assert about["initiation_interval"] == 1
    assert "beats" not in about and "lanes" not in about["microarchitecture"]


@pytest.mark.parametrize("target", ["generic", "xcu", "ecp5", "asic"])
@pytest.mark.parametrize("lanes", [1, 8])
def test_a_configuration_is_read_from_its_json_and_from_its_command(lanes, target):
    config = converter_config("e5m2", lanes=lanes, target=target, registered_after="output")
    assert config_of(json.loads(json.dumps(config.to_dict()))) == config
    chosen = dict(part.split("=") for part in command_line(config).split() if "=" in part)
    fields = {key: int(value) if value.isdigit() else value for key, value in chosen.items()}
    assert converter_config("e5m2", **fields) == config


def test_lanes_are_a_choice_of_the_hardware_alone():
    whole, folded = converter_config("e4m3"), converter_config("e4m3", lanes=4)
    assert whole.numerics == folded.numerics and whole.config_id != folded.config_id


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"lanes": 32}, "lanes must be 1, 2, 4, 8, 16, so that a block of 32 has several beats, not 32"),
        ({"lanes": 3}, "lanes must be 1, 2, 4, 8, 16, so that a block of 32 has several beats, not 3"),
        ({"lanes": 2, "block_size": 2}, "lanes must be 1, so that a block of 2 has several beats, not 2"),
        (
            {"lanes": 8, "layout": "ggml"},
            "a layout needs whole blocks, but lanes deliver .*: leave out layout or lanes, or give interface=axis",
        ),
        ({"lanes": 8, "amax_key": "magnitude"}, "beats bring the reduced key of a block: leave amax_key as reduced"),
        ({"interface": "skid", "layout": "ggml"}, "the interface skid has no layout: leave out layout or interface"),
        ({"lanes": 1, "amax": "radix4"}, "one lane has no numbers to compare in a cycle: leave amax as compare"),
        ({"lanes": 8, "registered_after": "level4"}, "unknown stage boundary 'level4'.*"),
    ],
)
def test_impossible_lanes_are_refused(fields, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        converter_config("e2m1", **fields)


@pytest.mark.parametrize(
    ("component", "format", "fields", "takes"),
    [
        (BlockConverter, "e4m3", {"lanes": 8}, "whole blocks without lanes"),
        (BlockConverter, "e4m3", {"interface": "skid"}, "whole blocks without lanes"),
        (BlockDecoder, "e4m3", {"interface": "axis"}, "whole blocks without lanes"),
        (Nvfp4Converter, "nvfp4", {"lanes": 4}, "whole blocks without lanes"),
    ],
)
def test_a_component_has_the_ports_of_its_configuration(component, format, fields, takes):
    with pytest.raises(ValueError, match=f"^[A-Z][a-z0-9A-Z]+ takes {takes} by valid and ready, not .* --set "):
        component(format, **fields)


def test_lanes_are_whole_numbers():
    with pytest.raises(TypeError, match="^lanes must be a whole number, not 'many'$"):
        converter_config("e2m1", lanes="many")


def test_what_does_not_know_lanes_says_so(tmp_path):
    config = converter_config("e2m1", lanes=8)
    with pytest.raises(ValueError, match="^mxfp4_e2m1 is proved in parts only, as it is emitted: not as a whole"):
        prove(config, out=tmp_path, whole=True)
    with pytest.raises(ValueError, match="^a pair converts whole blocks by valid and ready: leave out lanes and inter"):
        decoder_of(config)
    with pytest.raises(ValueError, match="^--dpi sends whole blocks by valid and ready: leave out "):
        dpi_files(config, "top")
    with pytest.raises(ValueError, match="^--dpi sends whole blocks by valid and ready: leave out "):
        dpi_files(converter_config("e2m1", interface="axis"), "top")
    with pytest.raises(ValueError, match="^registered_after names the stage boundaries: leave out latency"):
        constrained(converter_config("e2m1", lanes=8, registered_after="input"), {"latency": 8})


@pytest.mark.parametrize(
    "fields",
    [
        {"lanes": 1, "target": "xcu"},
        {"lanes": 16, "rounding": "sr", "registered_after": "input,level2,output"},
        {"lanes": 2, "scale_rule": "floor,ceil", "source": "fp16"},
        {"lanes": 4, "interface": "skid", "registered_after": "input"},
        {"lanes": 8, "interface": "axis", "rounding": "sr", "scale_rule": "floor,ceil"},
    ],
)
def test_the_verilog_has_no_warning(fields, tmp_path):
    text = verilog(converter_config("e4m3", **fields), "narrow")
    file = tmp_path / "narrow.v"
    file.write_text(text)
    assert not lint("--lint-only", "-Wall", "--top-module", "narrow", file)


@pytest.mark.parametrize("fields", [{"lanes": 2}, {"lanes": 8, "interface": "axis", "rounding": "sr"}])
def test_the_verilog_of_nvfp4_has_no_warning(fields, tmp_path):
    file = tmp_path / "narrow.v"
    file.write_text(verilog(nvfp4_config("nvfp4", **fields), "narrow"))
    assert not lint("--lint-only", "-Wall", "--top-module", "narrow", file)


def test_constants_of_a_tensor_are_in_tuser():
    config = nvfp4_config("nvfp4", lanes=4, interface="axis", rounding="sr", random_bits=3)
    assert [port.name for port in config.of_block] == ["k", "d"]
    assert next(pin.width for pin in config.pins if pin.name == "s_axis_tuser") == 64 + 12
    assert config.microarchitecture.registered_after == ("factor", "output")
    assert config_of(json.loads(json.dumps(config.to_dict()))) == config
    assert command_line(config) == (
        "nvfp4 --profile nvfp4_te --set rounding=sr --set random_bits=3 --set interface=axis --set lanes=4 "
        "--set form=product"
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"lanes": 16}, "lanes must be 1, 2, 4, 8, so that a block of 16 has several beats, not 16"),
        *(
            ({**one, "form": "table"}, "the form table has a handshake without .*: leave out form, lanes and interface")
            for one in ({"lanes": 4}, {"interface": "axis"})
        ),
        (
            {"lanes": 4, "order": "paper", "four_over_six": "mse"},
            "four_over_six compares errors of whole blocks, but lanes deliver parts of a block: leave out lanes",
        ),
        (
            {"lanes": 4, "layout": "modelopt"},
            "a layout needs whole blocks, but lanes .*: leave out layout or lanes, or give interface=axis",
        ),
        ({"lanes": 4, "interface": "axis", "layout": "ggml"}, "hardware has no layout ggml:nvfp4: it groups 4 blocks"),
    ],
)
def test_impossible_lanes_of_nvfp4_are_refused(fields, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        nvfp4_config("nvfp4", **fields)


@pytest.mark.parametrize(("lanes", "width"), [(8, 8 * (1 + 8 + 4 + 1)), (1, 1 + 8 + 4 + 1)])
def test_the_store_has_only_the_bits_that_the_quantizers_use(lanes, width):
    """Sign, exponent, three bits of fraction and one that rounds, and a sticky bit."""
    text = verilog(converter_config("e4m3", lanes=lanes, input_subnormals="flush"), "narrow")
    (word,) = re.findall(r"reg \[(\d+):0\] words \[(\d+):0\]", text)
    assert (int(word[0]) + 1, int(word[1]) + 1) == (width, 32 // lanes)


def test_beats_go_through_streams_of_amaranth():
    design = StreamConverter("e2m1", "nvidia", block_size=8, lanes=2)
    x = np.arange(48, dtype=np.float32).reshape(6, 8)
    expected = quantize(x, numerics("e2m1", "nvidia", block_size=8))
    found = []

    async def give(ctx):
        for beat in x.view(np.uint32).reshape(-1, 2).tolist():
            ctx.set(design.i.payload, {"x": beat})
            ctx.set(design.i.valid, 1)
            await ctx.tick().until(design.i.ready)
        ctx.set(design.i.valid, 0)

    async def take(ctx):
        ctx.set(design.o.ready, 1)
        while True:
            *_, valid, payload = await ctx.tick().sample(design.o.valid, design.o.payload)
            if valid:
                found.append((payload["first"], payload["last"], payload["scale"], [payload["p"][i] for i in range(2)]))

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(give)
    simulator.add_testbench(take, background=True)
    simulator.run_until(1e-4)
    assert found == [
        (int(beat == 0), int(beat == 3), int(scale[0]), codes[2 * beat : 2 * beat + 2].tolist())
        for scale, codes in zip(expected.scales, expected.codes)
        for beat in range(4)
    ]
