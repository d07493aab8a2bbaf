"""The module with registers: its text, its place next to the encoder, and tools that read it."""

import json

import pytest

from mxcast.hdl import converter_config, emit, verilog
from mxcast.hdl.emission.around import Around

from ..lint import lint

MODES = converter_config("e4m3,e5m2", lanes=8, interface="axis", rounding="sr", random_bits=4, target="xcu")
PLAIN = converter_config("e3m2", lanes=2, interface="axis", block_size=8)


@pytest.mark.parametrize("config", [MODES, PLAIN], ids=["modes", "plain"])
def test_linters_find_nothing(config, tmp_path):
    files = emit(config, tmp_path, "top", around=Around(registers=True))
    assert lint("--lint-only", "-Wall", "--top-module", "top_axil", files["verilog"], files["controlled"]) == ""


def test_the_encoder_stays_the_same(tmp_path):
    files = emit(MODES, tmp_path, "top", around=Around(registers=True))
    assert files["verilog"].read_text() == verilog(MODES, "top")
    assert files["filelist"].read_text().splitlines() == ["top.v", "top_random_source.v", "top_axil.v"]
    assert files["core"].read_text().count("toplevel: top_axil\n") == 1
    assert {"rtl/top_axil.v", "rtl/top_axil.rdl"} < json.loads(files["manifest"].read_text())["sha256"].keys()


def test_x_is_nowhere_in_the_text(tmp_path):
    """Registers keep their value by a multiplexer, and nothing is left to synthesis."""
    assert "'hx" not in emit(PLAIN, tmp_path, "top", around=Around(registers=True))["controlled"].read_text()
