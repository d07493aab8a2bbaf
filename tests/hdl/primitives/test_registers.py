"""Registers: the stage boundaries of converters, and the Verilog and files of a converter with registers."""

import json
import re
import shutil
import subprocess

import pytest
from amaranth.sim import Simulator

from mxcast.hdl import BlockConverter, ConverterConfig, converter_config, default_name, emit, verilog

from ..lint import COCOTB, lint

CASES = [
    ("e4m3", {"registered_after": "level3,scale,normalised,output"}),
    (
        "int8",
        {"registered_after": "rounded", "source": "fp16", "amax_key": "magnitude", "block_size": 4},
    ),  # in the lanes only
    (
        "e2m1,int4",
        {"registered_after": "input,key,aligned", "scale_rule": "floor,ceil", "rounding": "sr", "block_size": 8},
    ),
    (
        "e5m2",
        {
            "registered_after": "input,widened,key,level1,scale,normalised,aligned,rounded,output",
            "source": "fp16",
            "specials": "te",
            "block_size": 2,
        },
    ),
]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case[0])
def registered(request, tmp_path_factory):
    block, rules = request.param
    config = converter_config(block, **rules)
    return config, emit(config, tmp_path_factory.mktemp("registered"))


@pytest.mark.parametrize(
    "rules, places",
    [
        ({}, "input key level1 level2 level3 level4 level5 scale normalised aligned rounded output"),
        ({"block_size": 2, "source": "fp16"}, "input widened key level1 scale normalised aligned rounded output"),
        ({"block_size": 4, "quantizer": "table"}, "input key level1 level2 scale top distance chosen output"),
        ({"block_size": 4, "amax_key": "magnitude"}, "input level1 level2 key scale normalised aligned rounded output"),
    ],
)
def test_places(rules, places):
    assert " ".join(converter_config("e4m3", **rules).stages) == places


@pytest.mark.parametrize(
    "block, rules, width",
    [
        ("e4m3", {"input_subnormals": "flush"}, 1 + 8 + 4 + 1),
        ("e2m1", {"input_subnormals": "flush"}, 1 + 8 + 2 + 1),
        ("int8", {}, 1 + 8 + 8 + 1),
        ("e4m3", {}, 32),
        ("e4m3", {"input_subnormals": "flush", "source": "fp16"}, 1 + 8 + 4 + 1),
        ("int8", {"source": "bf16"}, 16),
        ("e2m1", {"quantizer": "shift"}, 32),
    ],
)
def test_registers_hold_only_used_bits(block, rules, width):
    """On the way to the tables a number is its sign, its exponent, the first bits of its fraction and whether any other
    is set.
    """
    text = verilog(
        converter_config(
            block, **{"quantizer": "table", "block_size": 2, "registered_after": "input,key,scale", **rules}
        )
    )
    assert re.search(rf"reg \[{width - 1}:0\] x_1_key_q;", text) and re.search(
        rf"reg \[{width - 1}:0\] x_1_scale_q;", text
    )


@pytest.mark.parametrize("given", ["scale,level2", ["scale", "level2"], ("level2", "scale"), " level2 , scale"])
def test_places_are_put_in_order(given):
    config = converter_config("e4m3", registered_after=given)
    assert config.microarchitecture.registered_after == ("level2", "scale") and config.latency == 2
    assert config.config_id == converter_config("e4m3", registered_after="level2,scale").config_id
    assert ConverterConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_without_places_nothing_changes():
    config = converter_config("e4m3", registered_after="")
    assert config == converter_config("e4m3", registered_after=[]) == converter_config("e4m3") and config.latency == 0
    assert "registered_after" not in json.dumps(config.to_dict()) and default_name(config) == "mxfp8_e4m3_ocp"
    assert not re.search(r"clk|rst|valid|ready|enable", re.sub("//.*", "", verilog(config)))


@pytest.mark.parametrize(
    "given, sentence",
    [
        ("leve2", "unknown stage boundary 'leve2': did you mean 'level2'?"),
        ("widened", "unknown stage boundary 'widened': known are input, key, level1, "),  # of FP32 nothing is widened
        ("level6", "unknown stage boundary 'level6': did you mean 'level"),
        ("scale,scale", "registered_after has scale twice: every stage boundary has one register"),
    ],
)
def test_wrong_places(given, sentence):
    with pytest.raises(ValueError) as error:
        converter_config("e4m3", registered_after=given)
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize("given", [3, ["scale", 2], {"scale": 1}])
def test_places_are_names(given):
    with pytest.raises(TypeError, match="registered_after must be names of stage boundaries, not"):
        converter_config("e4m3", registered_after=given)


def test_the_files_say_what_it_is(registered):
    config, files = registered
    text, about = files["verilog"].read_text(), json.loads(files["json"].read_text())
    assert (
        about["latency"] == config.latency == len(about["microarchitecture"]["registered_after"])
        and about["initiation_interval"] == 1
    )
    assert about["clock"]["port"] == "clk" and about["reset"]["port"] == "rst" and about["reset"]["active"] == "high"
    names = [port["name"] for port in about["ports"]]
    assert names[:3] == ["clk", "rst", "x"] and names[-6:] == ["i_valid", "i_ready", "scale", "p", "o_valid", "o_ready"]
    assert re.search(rf"^module {about['name']}\({', '.join(names)}\);", text, re.M)
    assert f"// Latency: {config.latency} cycles, if nothing waits (o_ready); a block can enter in every cycle" in text
    assert f"//   registered_after = {', '.join(config.microarchitecture.registered_after)}\n" in text
    header = re.findall(r"^//   (input|output) +(\w+)\[(\d+):0\]  \S", text, flags=re.M)
    assert header == [(port["direction"], port["name"], str(port["width"] - 1)) for port in about["ports"]]
    assert all(f".{name}({name})" in files["template"].read_text() for name in names)


def test_tools_report_nothing(registered, tmp_path):
    _, files = registered
    assert lint("--lint-only", "-Wall", files["verilog"]) == ""
    assert lint(*COCOTB, tmp_path, files["verilog"]) == ""
    if shutil.which("iverilog"):
        done = subprocess.run(
            ["iverilog", "-Wall", "-g2005", "-t", "null", files["verilog"]], capture_output=True, text=True
        )
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_registers_can_be_read(registered):
    """One enable for all of them, a reset for the valid bits only, names of things and places, nothing made up."""
    config, files = registered
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", files["verilog"].read_text(), flags=re.S)
    assert "\\" not in code and "$" not in re.sub(r"\$(un)?signed\(", "(", code)
    always = re.findall(r"always @\(posedge clk\)\n((?:    .*\n)+)", code)
    assert code.count("always") == len(always) > config.latency
    for body in always:
        valid = re.fullmatch(
            r"    if \(rst\) (valid_\w+_q|o_valid) <= 1'h0;\n    else if \(i_ready\) \1 <= \w+;\n", body
        )
        assert valid or re.fullmatch(r"    if \((i_ready|enable)\) \w+ <= [^;]*;\n", body), body
    assert sum("if (rst)" in body for body in always) == config.latency


@pytest.mark.parametrize("name", ["clk", "o_valid", "scale_output_q"])
def test_names_of_signals_are_refused(name):
    with pytest.raises(ValueError, match="name must differ from the signals of the top module"):
        verilog(converter_config("e2m1", block_size=2, registered_after="output"), name)
    assert verilog(converter_config("e2m1", block_size=2), name)


def test_it_works_in_an_amaranth_design():
    """In Amaranth, without a Verilog file: 1.5 and 6 have the scale 127 and the codes of 1.5 and 6; a result waits to
    be taken.
    """
    converter = BlockConverter("e2m1", block_size=2, registered_after="scale,output")
    simulator = Simulator(converter)
    simulator.add_clock(1e-6)

    async def bench(ctx):
        ctx.set(converter.x, 0x40C00000_3FC00000)
        ctx.set(converter.i_valid, 1)
        assert ctx.get(converter.i_ready) == 1
        for valid in (0, 1, 1, 1):
            await ctx.tick()
            ctx.set(converter.i_valid, 0)
            assert ctx.get(converter.o_valid) == valid
        assert (ctx.get(converter.scale), ctx.get(converter.p), ctx.get(converter.i_ready)) == (127, 0x73, 0)
        ctx.set(converter.o_ready, 1)
        assert ctx.get(converter.i_ready) == 1
        await ctx.tick()
        assert ctx.get(converter.o_valid) == 0

    simulator.add_testbench(bench)
    simulator.run()
