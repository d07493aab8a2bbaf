"""The bench that is emitted with a converter, on Icarus: right converters pass, planted faults do not."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mxcast.hdl import converter_config, hadamard_config, verilog
from mxcast.sim.check.self_checking import bench
from mxcast.sim.run.tools import verilator_root

pytestmark = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is not installed")

CONFIGS = {
    "32 lanes": ("e4m3", {}),
    "six bits": ("e2m3", {"block_size": 4, "source": "bf16"}),
    "random bits": ("e2m1", {"block_size": 4, "rounding": "sr", "random_bits": 3}),
    "modes": ("e4m3,e5m2", {"block_size": 4, "scale_rule": "floor,ceil"}),
    "registers": ("int8", {"block_size": 4, "registered_after": "scale,key"}),
    "registers and modes": ("e3m2", {"block_size": 4, "scale_rule": "floor,even", "registered_after": "scale"}),
}


def warnings(folder: Path, *files: str) -> str:
    """All that Icarus and Verilator print about files in this order."""
    root = verilator_root()
    lint = "--lint-only", "-Wall", "--timing", "--quiet"
    said = ""
    for command in (["iverilog", "-g2005", "-Wall", "-t", "null"], [str(root / "bin" / "verilator_bin"), *lint]):
        environment = {**os.environ, "VERILATOR_ROOT": str(root)}
        done = subprocess.run([*command, *files], cwd=folder, env=environment, capture_output=True, text=True)
        said += done.stdout + done.stderr
    return said


def printed(folder: Path, config, *edits: tuple[str, str]) -> str:
    """The last line."""
    text = verilog(config, "dut")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "dut.v").write_text(text)
    (folder / "dut_tb.v").write_text(bench(config, "dut"))
    subprocess.run(
        ["iverilog", "-g2005", "-Wall", "-s", "dut_tb", "-o", "a.vvp", "dut_tb.v", "dut.v"], cwd=folder, check=True
    )
    done = subprocess.run(["vvp", "a.vvp"], cwd=folder, capture_output=True, text=True, timeout=100)
    return next(line for line in reversed(done.stdout.splitlines()) if line.startswith(("PASS", "FAIL")))


@pytest.mark.parametrize("name, fields", CONFIGS.values(), ids=CONFIGS)
def test_a_right_converter_passes(name, fields, tmp_path):
    config = converter_config(name, **fields)
    last = printed(tmp_path, config)
    assert last.startswith("PASS: ") and int(last.split()[1]) >= 60 * len(config.modes)
    for files in (("dut.v", "dut_tb.v"), ("dut_tb.v", "dut.v")):
        assert warnings(tmp_path, *files) == ""


def test_blocks_that_wait_for_the_one_before_pass(tmp_path):
    assert printed(tmp_path, hadamard_config("hadamard16", form="limbs")) == "PASS: 532 blocks"


@pytest.mark.parametrize(
    "fields, edit",
    [
        ({}, ("assign scale = nan ? 8'hff", "assign scale = nan ? 8'hfe")),
        ({"registered_after": "scale"}, ("assign i_ready = ", "assign i_ready = 1'b0 & ")),
        ({"registered_after": "scale"}, ("o_valid <= i_valid", "o_valid <= 1'b0")),
    ],
    ids=["NaN", "never ready", "never valid"],
)
def test_a_fault_is_found(fields, edit, tmp_path):
    assert printed(tmp_path, converter_config("e2m1", block_size=4, **fields), edit).startswith("FAIL: ")
