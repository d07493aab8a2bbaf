"""The module with words of a bus: its pins, its files, and what it refuses."""

import re
import shutil
import subprocess

import pytest

from mxcast.hdl import cast_config, converter_config, decoder_config, emit, nvfp4_config, verilog
from mxcast.hdl.bus.pins import BusWidths
from mxcast.hdl.emission.around import Around
from mxcast.synth import synth

from ..lint import lint

E4M3 = converter_config("e4m3", lanes=4, interface="axis", target="xcu")
CONFIGS = {
    "encoder": (E4M3, "128", False),
    "registers": (converter_config("e4m3", lanes=2, interface="axis", rounding="sr", random_bits=9), "64,32", True),
    "six bits": (converter_config("e3m2", lanes=8, interface="axis"), "1024", False),
    "NVFP4": (nvfp4_config("nvfp4", lanes=4, source="bf16", interface="axis"), "256,64", False),
    "decoder": (decoder_config("e4m3", lanes=8, interface="axis", target="xcu"), "32", False),
    "cast": (cast_config("e4m3", lanes=4, interface="axis"), "128", False),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CONFIGS)
def test_words_have_the_bits_of_the_bus(name, tmp_path):
    """All streams of data have them, with a bit of tkeep for each byte; all other pins are as they were."""
    config, bits, registers = CONFIGS[name]
    around = Around(registers=registers, bus=BusWidths.parsed(bits))
    files = emit(config, tmp_path, "top", around=around, ipxact=True)
    text = files["bus"].read_text()
    widths = {pin: int(bit) + 1 for bit, pin in re.findall(r"put \[(\d+):0\] (\w+);", text.partition("endmodule")[0])}
    bus = {"s": around.bus.entering, "m": around.bus.leaving}
    data = {pin: bits for pin, bits in widths.items() if pin.endswith("tdata")}
    assert data == {pin: bus[pin[0]] for pin in data} and len(data) == (2 if name == "cast" else 3)
    assert {pin: widths[pin.replace("tdata", "tkeep")] for pin in data} == {
        pin: bits // 8 for pin, bits in data.items()
    }
    sources = [files[kind] for kind in ("bus", "controlled", "verilog") if kind in files]
    assert lint("--lint-only", "-Wall", "-Wno-SYMRSVDWORD", "--top-module", "top_bus", *sources) == ""
    assert "top_bus" in files["core"].read_text() and ">top_bus<" in files["ipxact"].read_text()
    assert files["verilog"].read_text() == verilog(config, "top")
    if shutil.which("iverilog"):
        command = ["iverilog", "-g2005", "-Wall", "-s", "top_bus", "-o", tmp_path / "a.out", *sources]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0 and "top_bus" not in done.stderr, done.stderr


def test_words_of_the_same_size_have_no_gearbox(tmp_path):
    text = Around(bus=BusWidths.parsed("128,32")).modules(E4M3, "top")["bus"][1]
    assert re.findall(r"^module (\w+)", text, re.M) == ["top_bus", "top_bus_m_axis_scale_words"]


@pytest.mark.parametrize("bits", ["16", "96", "2048", "64,8"])
def test_other_widths_are_refused(bits):
    with pytest.raises(ValueError, match="^a bus has words of 32, 64, 128, 256, 512, 1024 bits, not "):
        BusWidths.parsed(bits)


@pytest.mark.parametrize("text", ["", "x", "64,", "1,2,3", "-64", "\N{SUPERSCRIPT TWO}"])
def test_texts_without_widths_are_refused(text):
    with pytest.raises(ValueError, match="^give a bus as 128, or 256,64 to enter and to leave, not "):
        BusWidths.parsed(text)


SR = {"lanes": 4, "interface": "axis", "rounding": "sr", "random_bits": 8}


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (converter_config("e4m3", lanes=4), "words of a bus need AXI4-Stream: give interface=axis too"),
        (converter_config("e4m3", **SR), "random bits enter with each beat, .*: give --registers too"),
        (
            cast_config("e4m3", **SR),
            "random bits enter with each beat, and a word of a bus is no beat: leave out --bus",
        ),
    ],
    ids=["handshake", "encoder", "cast"],
)
def test_other_hardware_is_refused(config, sentence, tmp_path):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        emit(config, tmp_path, "top", around=Around(bus=BusWidths.parsed("64")))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_synthesis_counts_it():
    plain, on_bus = synth(E4M3, stages=False), synth(E4M3, stages=False, around=Around(bus=BusWidths.parsed("128")))
    assert 0 < on_bus.whole.luts - plain.whole.luts < 200 and on_bus.to_dict()["bus"] == [128, 128]
