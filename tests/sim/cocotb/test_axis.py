"""Hardware with AXI4-Stream under the bus models of cocotbext-axi: packets of any length, stalls, resets."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from xml.etree import ElementTree

import pytest

from mxcast.hdl import (
    HardwareConfig,
    cast_config,
    converter_config,
    decoder_config,
    hadamard_config,
    nvfp4_config,
    nvfp4_decoder_config,
    nvfp4_tile_config,
    tile_config,
    verilog,
)
from mxcast.hdl.bus.pins import BusWidths
from mxcast.hdl.emission.around import Around
from mxcast.sim.cocotb.regression import PROCESS, environment_for
from mxcast.sim.run.verilator.runtime import cocotb_library, take_library

from ...configurations import ELEMENTS
from ...hdl.planted import planted
from .test_regression import needs_icarus

ROOT = Path(__file__).resolve().parents[3]
E4M3 = converter_config("e4m3", lanes=8, interface="axis", target="ecp5", registered_after="level3,normalised")
E2M1 = converter_config("e2m1", lanes=4, interface="axis", target="xcu", block_size=16)
E3M2 = converter_config("e3m2", lanes=2, interface="axis", block_size=8, registered_after="input,rounded")
NVFP4 = nvfp4_config("nvfp4", lanes=4, interface="axis", registered_after="ratio,divisor,digits12,multiples")
WHOLE = converter_config("e4m3", block_size=8, interface="axis", scale_rule="floor,ceil", registered_after="level2")
NAME = "narrow_axis"
DECODER = decoder_config("e4m3", lanes=8, interface="axis", target="xcu", registered_after="read")
DECODERS = {
    "e2m1": decoder_config("e2m1", lanes=4, interface="axis", block_size=16, destination="bf16"),
    "e3m2": decoder_config("e3m2", lanes=2, interface="axis", block_size=8, registered_after="input"),
    "int8": decoder_config("int8", lanes=1, interface="axis", block_size=4),
    "nvfp4": nvfp4_decoder_config("nvfp4", lanes=4, interface="axis", destination="bf16", registered_after="scaled"),
    "whole": nvfp4_decoder_config("nvfp4", "nvfp4_ao", interface="axis"),
}
PACKED = {
    "whole": decoder_config("e5m2", "idma", block_size=8, interface="axis", scale_place="before", target="xcu"),
    "lanes": decoder_config("e4m3", block_size=16, lanes=4, interface="axis", scale_place="before"),
}
ENCODED = {
    "before": converter_config("e4m3", lanes=4, interface="axis", scale_place="before", target="xcu"),
    "after": converter_config("int8", lanes=1, block_size=4, interface="axis", scale_place="after"),
    "six bits": converter_config("e2m3", lanes=4, block_size=8, interface="axis", scale_place="before"),
    "nvfp4": nvfp4_config("nvfp4", lanes=4, interface="axis", scale_place="after"),
    "whole": converter_config("e2m1", interface="axis", layout="ggml", target="xcu"),
}
"""Encoders whose blocks leave packed."""
CASTS = {
    "e4m3": cast_config("e4m3", lanes=4, source="bf16", interface="axis"),
    "e2m1": cast_config("e2m1", lanes=2, interface="axis", registered_after="exponent,rounded"),
    "back": cast_config("e3m2", lanes=2, destination="bf16", interface="axis"),
}


def drive(
    config: HardwareConfig,
    text: str,
    folder: Path,
    simulator: str,
    packets: int,
    resets: int = 5,
    *,
    top: str = NAME,
    bench: str = "axis_packets",
    more: Mapping[str, object] = MappingProxyType({}),
) -> dict[str, bool]:
    """Whether each test of a bench in this folder passes."""
    (folder / f"{NAME}.v").write_text(text)
    job = {**config.to_dict(), "packets": packets, "resets": resets, "seed": 1, **more}
    (folder / "job.json").write_text(json.dumps(job))
    asked = {"simulator": simulator, "source": f"{NAME}.v", "top": top, "results": "results.xml", "seed": 1}
    asked |= {"waves": False, "bench": f"tests.sim.cocotb.{bench}"}
    environment = environment_for(simulator)
    if simulator == "verilator":
        take_library(cocotb_library(environment), folder, environment)
    subprocess.run(
        [sys.executable, PROCESS],
        cwd=folder,
        input=json.dumps(asked).encode(),
        capture_output=True,
        env={**environment, "PYTHONPATH": str(ROOT), "MXCAST_BENCH": str(folder / "job.json")},
    )
    found = ElementTree.parse(folder / "results.xml").iter("testcase")
    return {case.get("name", "?"): case.find("failure") is None and case.find("error") is None for case in found}


ALL = {"packets": True, "full_rate": True, "resets": True}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=needs_icarus)])
def test_packets_have_the_bits_of_the_model(simulator, tmp_path):
    assert drive(E4M3, verilog(E4M3, NAME), tmp_path, simulator, 60) == ALL


@pytest.mark.sampled(4)
@needs_icarus
@pytest.mark.parametrize("config", [E2M1, E3M2, NVFP4, WHOLE], ids=["e2m1", "e3m2", "nvfp4", "whole"])
def test_packets_of_other_widths(config, tmp_path):
    assert drive(config, verilog(config, NAME), tmp_path, "icarus", 60) == ALL


@pytest.mark.slow
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=needs_icarus)])
def test_many_packets(element, simulator, tmp_path):
    config = converter_config(element, lanes=8, interface="axis", target="xcu")
    assert drive(config, verilog(config, NAME), tmp_path, simulator, 10_000, 200) == ALL


ON_BUS = {
    "an encoder": (E4M3, "128,32"),
    "six bits": (converter_config("e2m3", lanes=8, block_size=16, interface="axis"), "32,64"),
    "packed blocks": (ENCODED["before"], "64,128"),
    "NVFP4": (NVFP4, "512"),
    "whole blocks": (ENCODED["whole"], "128"),
    "a decoder": (DECODERS["e2m1"], "32,256"),
    "a decoder of packed blocks": (PACKED["lanes"], "64"),
    "a cast": (CASTS["e4m3"], "32,128"),
}
"""Hardware with words of a bus."""


def on_bus(config: HardwareConfig, bus: str) -> str:
    modules = Around(bus=BusWidths.parsed(bus)).modules(config, NAME)
    return verilog(config, NAME) + modules["bus"][1]


SURROUNDED = {
    "hadamard": hadamard_config("hadamard16", interface="axis", registered_after="level2"),
    "limbs": hadamard_config("hadamard16", form="limbs", interface="axis"),
    "tile": tile_config("e2m1", interface="axis", source="bf16"),
    "in place": tile_config("e4m3", "nvidia", interface="axis", columns="in_place", registered_after="level2"),
    "nvfp4": nvfp4_tile_config("nvfp4", interface="axis", source="bf16"),
    "cache": nvfp4_config("nvfp4", form="cache", interface="axis", registered_after="amax,ratio,entry"),
}
"""Hardware with AXI4-Stream around a core."""


@pytest.mark.sampled(6, first=1)
@needs_icarus
@pytest.mark.parametrize("config", SURROUNDED.values(), ids=SURROUNDED)
def test_packets_around_a_core(config, tmp_path):
    assert drive(config, verilog(config, NAME), tmp_path, "icarus", 30, 3) == ALL


AROUND = {
    "marks of another tile": (r"assign oldest = [^;]*;", "assign oldest = marks_inside[1:0];"),
    "a result twice": (r"(assign m_axis_scale_tvalid = o_valid) & \w+", r"\1"),
}


@pytest.mark.sampled(2, first=1)
@needs_icarus
@pytest.mark.parametrize("bug", AROUND)
def test_planted_bugs_around_a_tile_are_found(bug, tmp_path):
    config = tile_config("e2m1", interface="axis", source="bf16", block_size=4)
    text = verilog(config, NAME)
    assert drive(config, text, tmp_path, "icarus", 30, 2) == ALL
    assert drive(config, planted(text, *AROUND[bug]), tmp_path, "icarus", 30, 2) != ALL


FAST = "six bits", "NVFP4", "a decoder"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in FAST)) for name in ON_BUS])
def test_packets_in_words_of_a_bus(name, tmp_path):
    config, bus = ON_BUS[name]
    widths = BusWidths.parsed(bus)
    more = {"bus": [widths.entering, widths.leaving]}
    simulator = "icarus" if name == "six bits" and shutil.which("iverilog") else "verilator"
    assert drive(config, on_bus(config, bus), tmp_path, simulator, 60, top=f"{NAME}_bus", more=more) == ALL


MANY = {
    "NVFP4": nvfp4_config("nvfp4", lanes=8, interface="axis"),
    "a decoder of NVFP4": nvfp4_decoder_config("nvfp4", lanes=8, interface="axis", destination="bf16"),
    "packed blocks": converter_config("e4m3", lanes=8, interface="axis", scale_place="before", target="xcu"),
    "whole blocks": ENCODED["whole"],
    "tiles": SURROUNDED["tile"],
    "a transform": SURROUNDED["hadamard"],
}


@pytest.mark.slow
@pytest.mark.parametrize("config", MANY.values(), ids=MANY)
def test_many_packets_of_others(config, tmp_path):
    assert drive(config, verilog(config, NAME), tmp_path, "verilator", 10_000, 200) == ALL


BUGS = {
    "last of a packet lost": (r"(assign m_axis_tlast = )o_marks\[0\]", r"\1o_marks[0] & o_marks[2]"),
    "completed block not marked": (r"(assign m_axis_tuser = )o_marks\[2\]", r"\g<1>1'h0"),
    "numbers without bytes are not zeros": (r"~ s_axis_tkeep\[31\]", "1'h0"),
    "packet not completed": (r"assign pads = [^;]*;", "assign pads = 1'h0;"),
    "scale overwritten while it waits": (
        r"assign back_enable = [^;]*;",
        "assign back_enable = m_axis_tready | ~m_axis_tvalid;",
    ),
    "no reset of the store": (r"assign (\w+) = aresetn \? (\w+) : 3'h0;", r"assign \1 = \2;"),
}


@pytest.mark.sampled(6)
@needs_icarus  # which compiles sooner
@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found(bug, tmp_path):
    text = planted(verilog(E4M3, NAME), *BUGS[bug])
    assert drive(E4M3, text, tmp_path, "icarus", 30, 2) != ALL


@pytest.mark.sampled(2)
@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=needs_icarus)])
def test_packets_of_codes_have_the_numbers_of_the_model(simulator, tmp_path):
    assert drive(DECODER, verilog(DECODER, NAME), tmp_path, simulator, 60) == ALL


@pytest.mark.sampled(6)
@needs_icarus
@pytest.mark.parametrize("config", DECODERS.values(), ids=DECODERS)
def test_packets_of_other_codes(config, tmp_path):
    assert drive(config, verilog(config, NAME), tmp_path, "icarus", 60) == ALL


@pytest.mark.slow
@pytest.mark.parametrize("element", list(ELEMENTS))
def test_many_packets_of_codes(element, tmp_path):
    config = decoder_config(element, lanes=8, interface="axis", target="xcu")
    assert drive(config, verilog(config, NAME), tmp_path, "verilator", 10_000, 200) == ALL


CHAIN = """
module {name}(input aclk, aresetn, input [{numbers}-1:0] s_axis_tdata, input [{bytes}-1:0] s_axis_tkeep,
  input s_axis_tlast, s_axis_tvalid, output s_axis_tready,
  output [{numbers}-1:0] m_axis_tdata, output [{bytes}-1:0] m_axis_tkeep,
  output m_axis_tlast, m_axis_tuser, m_axis_tvalid, input m_axis_tready);
  {wires}
  encoder encoder (.aclk(aclk), .aresetn(aresetn), .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep),
    .s_axis_tlast(s_axis_tlast), .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(s_axis_tready), {from_encoder});
  decoder decoder (.aclk(aclk), .aresetn(aresetn), .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep),
    .m_axis_tlast(m_axis_tlast), .m_axis_tuser(m_axis_tuser), .m_axis_tvalid(m_axis_tvalid),
    .m_axis_tready(m_axis_tready), {to_decoder});
endmodule
"""


@needs_icarus
def test_a_decoder_takes_all_streams_of_an_encoder(tmp_path):
    decoder = decoder_config("e4m3", lanes=8, interface="axis")
    between = [pin for pin in E4M3.pins if pin.name.startswith("m_axis")]
    wires = "\n  ".join(f"wire [{pin.width - 1}:0] {pin.name.replace('m_', 'between_', 1)};" for pin in between)
    connected = {
        side: ", ".join(
            f".{pin.name.replace('m_', side, 1)}({pin.name.replace('m_', 'between_', 1)})" for pin in between
        )
        for side in ("m_", "s_")
    }
    chain = CHAIN.format(
        name=NAME, numbers=256, bytes=32, wires=wires, from_encoder=connected["m_"], to_decoder=connected["s_"]
    )
    text = verilog(E4M3, "encoder") + verilog(decoder, "decoder") + chain
    assert drive(E4M3, text, tmp_path, "icarus", 60, more={"behind": decoder.to_dict()}) == ALL


OF_CODES = {
    "end of a packet lost": (r"(assign m_axis_tlast = )o_marks\[0\]", r"\g<1>1'h0"),
    "mark lost": (r"(assign m_axis_tuser = )o_marks\[1\]", r"\g<1>1'h0"),
    "null beats count": (r"s_axis_tkeep\[0\] \| s_axis_tlast", "1'h1"),
    "a null beat takes a scale": (r"(assign beat_has_bytes = beat_held \? \w+ : )s_axis_tkeep\[0\]", r"\g<1>1'h1"),
    "the next packet goes on with the block": (r"= beat_marks\[0\] \? 2'h0 : ", "= 1'h0 ? 2'h0 : "),
    "a held scale is overwritten": (r"if \(!scale_held\) scale_scale_held_q", "scale_scale_held_q"),
    "a held beat is overwritten": (r"if \(!beat_held\) beat_codes_held_q", "beat_codes_held_q"),
    "the scale is not waited for": (r"(assign \w+ = )scale_offered \| \w+;", r"\g<1>1'h1;"),
}


@pytest.mark.sampled(8, first=1)
@needs_icarus
@pytest.mark.parametrize("bug", OF_CODES)
def test_planted_bugs_of_decoders_are_found(bug, tmp_path):
    text = planted(verilog(DECODER, NAME), *OF_CODES[bug])
    assert drive(DECODER, text, tmp_path, "icarus", 30, 2) != ALL


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("name", "simulator"),
    [("e4m3", "verilator"), *(pytest.param(name, "icarus", marks=needs_icarus) for name in CASTS)],
)
def test_packets_of_words_have_the_casts_of_the_model(name, simulator, tmp_path):
    assert drive(CASTS[name], verilog(CASTS[name], NAME), tmp_path, simulator, 60) == ALL


OF_WORDS = {
    "end of a packet lost": (r"(assign m_axis_tlast = )", r"\g<1>1'h0 & "),
    "bytes kept that are missing": (r"(assign m_axis_tkeep = )", r"\g<1>4'hf | "),
    "null beats count": (r"s_axis_tkeep\[0\] \| s_axis_tlast", "1'h1"),
    "a held word is overwritten": (r"if \(!beat_held\) beat_words_held_q", "beat_words_held_q"),
    "a result goes while it waits": (r"assign back_enable = m_axis_tready \| \w+;", "assign back_enable = 1'h1;"),
}


@pytest.mark.sampled(6)
@needs_icarus
@pytest.mark.parametrize("bug", OF_WORDS)
def test_planted_bugs_of_casts_are_found(bug, tmp_path):
    text = planted(verilog(CASTS["e4m3"], NAME), *OF_WORDS[bug])
    assert drive(CASTS["e4m3"], text, tmp_path, "icarus", 30, 2) != ALL


@pytest.mark.slow
@pytest.mark.sampled(2)
@needs_icarus
@pytest.mark.parametrize("config", PACKED.values(), ids=PACKED)
def test_packets_of_packed_blocks(config, tmp_path):
    assert drive(config, verilog(config, NAME), tmp_path, "icarus", 60) == ALL


@pytest.mark.sampled(6)
@needs_icarus
@pytest.mark.parametrize("config", ENCODED.values(), ids=ENCODED)
def test_blocks_leave_packed(config, tmp_path):
    assert drive(config, verilog(config, NAME), tmp_path, "icarus", 60) == ALL


OF_BLOCKS = {
    "an incomplete beat keeps its bytes": (r"(assign is_whole = is_filled & )\w+", r"\g<1>1'h1"),
    "the window does not move": (r"\.offset\(offset\)", ".offset(2'h0)"),
}


@pytest.mark.sampled(2)
@needs_icarus
@pytest.mark.parametrize("bug", OF_BLOCKS)
def test_planted_bugs_of_packed_blocks_are_found(bug, tmp_path):
    text = planted(verilog(PACKED["lanes"], NAME), *OF_BLOCKS[bug])
    assert drive(PACKED["lanes"], text, tmp_path, "icarus", 30, 2) != ALL


OF_PACKERS = {
    "the last bytes of a packet are lost": (r"has_word = (\w+) \| has_ended", r"has_word = \1"),
    "a word keeps all its bytes": (r"(takes_for_word \? 4'hf : )\{[^}]*\}", r"\g<1>4'hf"),
    "the next beat does not wait": (r"(assign takes_beat = \w+) & \w+", r"\1"),
}


@pytest.mark.sampled(3)
@needs_icarus
@pytest.mark.parametrize("bug", OF_PACKERS)
def test_planted_bugs_of_packed_encoders_are_found(bug, tmp_path):
    text = planted(verilog(ENCODED["before"], NAME), *OF_PACKERS[bug])
    assert drive(ENCODED["before"], text, tmp_path, "icarus", 30, 2) != ALL
