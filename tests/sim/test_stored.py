"""Hardware with blocks on its pins as libraries store them: wires by their definitions, and simulated."""

import shutil
import subprocess

import numpy as np
import pytest

from mxcast.hdl import (
    configuration,
    converter_config,
    decoder_config,
    describe,
    emit,
    nvfp4_config,
    nvfp4_decoder_config,
)
from mxcast.hdl.config.command import command_line
from mxcast.hdl.emission import stored
from mxcast.models.arrays.packing import stored_blocks
from mxcast.proof.netlist.stored import PLACES
from mxcast.sim import verify
from mxcast.sim.check.round_trip import decoder_of, write_round_trip
from mxcast.sim.check.self_checking import bench
from mxcast.spec import LAYOUTS, Layout, Packing, Role, ScalePlace, is_nvfp4, stored_ports
from mxcast.spec.layouts.catalogue import ScaleByte
from tests.models.arrays.test_packing import PLACES as DEFINED

ALL = [layout for layouts in LAYOUTS.values() for layout in layouts.values()]
OF = {"ids": lambda layout: layout.name}


def has_hardware(layout: Layout) -> bool:
    return layout.together == 1 and layout.scale_byte is ScaleByte.CODE


def built(layout: Layout, op: str):
    return configuration(op, layout.block, layout=layout.dialect)


@pytest.mark.parametrize("layout", [layout for layout in ALL if has_hardware(layout)], **OF)
def test_every_room_has_each_bit_where_the_definition_has_it(layout):
    """Codes and scales have their places in the hardware, in the golden model and in the statement of the proof."""
    element, width = layout.block_format.element, layout.width
    codes = [[(lane, bit) for bit in range(element.bits)] for lane in range(width)]
    scale = [("scale", bit) for bit in range(8)]
    ((_, wires),) = stored.stored_bits(layout, codes, scale).items()
    first = 8 * (layout.place is ScalePlace.BEFORE)
    for lane in range(width):
        for bit in range(element.bits):
            byte, place = DEFINED[layout.packing](lane, bit, width)
            assert wires[first + 8 * byte + place] == (lane, bit)
            assert PLACES[layout.packing](lane, bit, width) == 8 * byte + place
            one = np.zeros((1, width), np.uint8)
            one[0, lane] = 1 << bit
            found = stored_blocks(one, np.zeros(1, np.uint8), layout)[0]
            assert found[first // 8 + byte] == 1 << place and np.count_nonzero(found) == 1
    at = {ScalePlace.BEFORE: slice(0, 8), ScalePlace.AFTER: slice(-8, None)}.get(layout.place, slice(0, 0))
    assert wires[at] == (scale if layout.place is not ScalePlace.APART else [])
    (pin,) = (port for port in built(layout, "encode").pins if port.role in (Role.STORED_CODES, Role.STORED_BLOCK))
    assert pin.width == len(wires) == 8 * (layout.block_bytes + (layout.place is not ScalePlace.APART))


CONFIGURATIONS = [
    converter_config("e2m1", layout="ggml"),
    pytest.param(converter_config("e4m3,e5m2", layout="torchao"), marks=pytest.mark.slow),
    converter_config("e2m1", layout="seed004", registered_after="scale"),
    pytest.param(decoder_config("e2m3", layout="torchao"), marks=pytest.mark.slow),  # two bits of a byte mean nothing
    pytest.param(nvfp4_decoder_config("nvfp4", layout="comfy"), marks=pytest.mark.slow),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("config", CONFIGURATIONS, ids=command_line)
def test_verilog_equals_the_model(config):
    found = verify(config, blocks=2000)
    assert found.passed, found.report


def test_a_nibble_in_the_wrong_half_is_found(monkeypatch):
    monkeypatch.setitem(stored.PACKINGS, Packing.HIGH_FIRST, stored.PACKINGS[Packing.LOW_FIRST])
    found = verify(nvfp4_config("nvfp4", layout="comfy", source="bf16"), blocks=100)
    assert not found.passed and found.mismatched_blocks > 50


def test_what_is_emitted(tmp_path):
    config = converter_config("e2m1", layout="ggml")
    files = emit(config, tmp_path, "coder", bench=bench(config, "coder"))
    ports = {port["name"]: port["width"] for port in describe(config)["ports"]}
    assert ports == {"x": 1024, "block": 136}
    text = files["verilog"].read_text()
    assert "output block[135:0]  17 bytes of the layout ggml: the scale, then 32 codes, two codes of four bits" in text
    assert ".block(block)" in files["template"].read_text().replace(" ", "")
    if shutil.which("iverilog"):
        assert run(tmp_path, files["verilog"], files["bench"]).startswith("PASS: ")


def run(folder, *files) -> str:
    """The last line that a bench prints on Icarus."""
    compiled = folder / "bench.vvp"
    subprocess.run(["iverilog", "-g2005", "-o", compiled, *files], check=True)
    return subprocess.run(["vvp", compiled], capture_output=True, text=True, check=True).stdout.splitlines()[-1]


def test_there_and_back_in_stored_bytes(tmp_path):
    if not shutil.which("iverilog"):
        pytest.skip("Icarus is not installed")
    encoder = converter_config("e2m1", layout="ggml")
    decoder = decoder_of(encoder)
    assert decoder.microarchitecture.layout == "ggml"
    files = [emit(config, tmp_path, name)["verilog"] for config, name in ((encoder, "one"), (decoder, "other"))]
    made = write_round_trip(encoder, decoder, "one", "other", tmp_path)
    assert run(tmp_path, *files, made["round_trip"]).startswith("PASS: ")


@pytest.mark.parametrize("layout", [layout for layout in ALL if not has_hardware(layout)], **OF)
def test_what_is_more_than_wires_is_refused(layout):
    with pytest.raises(ValueError, match=f"hardware has no layout {layout.name}: "):
        built(layout, "encode")


@pytest.mark.parametrize(
    "op, format, fields, sentence",
    [
        ("encode", "e2m1", {"layout": "ggmk"}, "unknown layout 'ggmk': did you mean 'ggml'"),
        ("encode", "e4m3", {"layout": "ggml"}, "the layout ggml is of .* not of mxfp8_e4m3 with blocks of 32"),
        ("encode", "e2m1", {"layout": "ggml", "block_size": 16}, "not of mxfp4_e2m1 with blocks of 16"),
        ("encode", "e3m2,e2m3", {"layout": "compressed_tensors"}, "is of .* not of mxfp6_e3m2"),
        ("cast", "e4m3", {"layout": "torchao"}, "has no blocks under scales: leave out layout"),
        ("hadamard", "hadamard16", {"layout": "te"}, "has no blocks under scales: leave out layout"),
    ],
)
def test_refusals(op, format, fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        configuration(op, format, **fields)


def test_the_command_line_says_the_layout():
    for layout in ALL:
        if has_hardware(layout):
            for op in ("encode", "decode"):
                assert f"--set layout={layout.dialect}" in command_line(built(layout, op))
    config = decoder_config("e4m3", target="xcu", layout="onnx")
    assert command_line(config).endswith("--set target=xcu --set layout=onnx")


def test_other_ports_stay():
    ports = converter_config("e2m1").ports
    assert is_nvfp4("nvfp4") and stored_ports(LAYOUTS["gpt_oss"]["mxfp4_e2m1"], ports)[:2] == ports[:2]
