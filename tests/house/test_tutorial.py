"""The lines of docs/tutorial.md for a top of one's own, as they are written there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mxcast.cli import main
from mxcast.sim.run.tools import verilator_root

TUTORIAL = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text()
LINES = re.findall(r"^    ((?:iverilog|verilator) .*)$", TUTORIAL, flags=re.M)


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is not installed")
def test_icarus_and_verilator_take_the_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (emission,) = re.findall(r"^\$ mxcast (emit .*--name mx_encoder -o build)$", TUTORIAL, flags=re.M)
    assert main([*emission.split(), "-q"]) == 0
    (top,) = re.findall(r"^```verilog\n(module top .*?)^```$", TUTORIAL, flags=re.M | re.S)
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "verilator").write_text(f'#!/bin/sh\nexec "{verilator_root()}/bin/verilator_bin" --quiet "$@"\n')
    (commands / "verilator").chmod(0o755)
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("VERILATOR_ROOT", str(verilator_root()))
    assert len(LINES) == 5 and {line.split()[0] for line in LINES} == {"iverilog", "verilator"}
    for line in LINES:
        scale = "`timescale 1ns / 1ps\n" if "timescale" in line else ""
        Path("top.v").write_text(scale + top)
        done = subprocess.run(line.split(), capture_output=True, text=True)
        assert (done.returncode, done.stdout + done.stderr) == (0, ""), line
