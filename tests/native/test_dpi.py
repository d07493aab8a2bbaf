"""The scoreboard in SystemVerilog: right designs pass it under Verilator, and planted bugs fail."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mxcast.hdl import HardwareConfig, configuration, verilog
from mxcast.hdl.emission.folder import emit
from mxcast.hdl.encode import element
from mxcast.host.cache import kept_folder
from mxcast.native.folder import dpi_files
from mxcast.sim.run.tools import compiler_identity, simulator_environment, verilator_version

DESIGNS = {
    "encoder": configuration("encode", "e4m3", "nvidia", registered_after="scale,output", block_size=4),
    "whole_encoder": configuration("encode", "e4m3"),
    "combinational_encoder": configuration("encode", "e2m1", "te", block_size=8),
    "random_encoder": configuration("encode", "e3m2", source="fp16", rounding="sr", random_bits=5, block_size=4),
    "decoder": configuration("decode", "e5m2", block_size=4),
    "registered_decoder": configuration("decode", "e2m3", destination="bf16", registered_after="output"),
    "random_decoder": configuration("decode", "e3m2", destination="fp16", rounding="sr", registered_after="output"),
    "integers": configuration("encode", "int8", source="bf16", registered_after="scale,output", block_size=16),
}


SMALL = {
    "m.sv": 'module m; import "DPI-C" function int f(); initial #1 $display(f()); endmodule\n',
    "f.cpp": 'extern "C" int f() { return 0; }\n',
}
"""A design that needs every part of Verilator's library that scoreboards need."""
QUICKLY = ["-CFLAGS", "-O0"]
"""Not optimised, which takes less time."""


def library() -> Path:
    """A folder with the objects of Verilator's library, compiled once."""

    def make(folder: Path) -> None:
        for name, text in SMALL.items():
            (folder / name).write_text(text)
        options = ["--binary", "--timing", "-CFLAGS", "-std=c++20", *QUICKLY, "-Mdir", ".", *SMALL]
        subprocess.run(["verilator", *options], cwd=folder, env=simulator_environment(), check=True)
        for path in folder.iterdir():
            if not path.match("verilated*.o"):
                path.unlink()

    key = [verilator_version(), *compiler_identity(), *SMALL.values(), *QUICKLY]
    return kept_folder("verilator-runtime", key, make, renewable=False)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``make check`` with the compiled library."""
    objects = [path.name for path in library().glob("*.o")]
    (folder / "obj_dir").mkdir()
    for name in objects:
        shutil.copy(library() / name, folder / "obj_dir")
    kept = [word for name in objects for word in ("-MAKEFLAGS", f"-o{name}")]  # although the makefile is newer
    command = ["make", "check", f"VERILATOR={' '.join(['verilator', *QUICKLY, *kept])}", *arguments]
    return subprocess.run(command, cwd=folder, env=simulator_environment(), capture_output=True, text=True)


def written(config: HardwareConfig, out: Path, name: str) -> Path:
    return emit(config, out, name, added=dpi_files(config, name))["dpi_makefile"].parent


def verdict(done: subprocess.CompletedProcess[str]) -> str:
    """The line with PASS or FAIL."""
    found = [line for line in done.stdout.splitlines() if line.startswith(("PASS: ", "FAIL: "))]
    assert len(found) == 1, done.stdout + done.stderr
    return found[0]


@pytest.mark.sampled(8, first=4)
@pytest.mark.parametrize("name", DESIGNS)
def test_a_right_design_passes(name: str, tmp_path: Path) -> None:
    folder = written(DESIGNS[name], tmp_path, name)
    done = run(folder, "RUN=+blocks=3000 +seed=5")
    assert done.returncode == 0 and "%Warning" not in done.stderr, done.stderr
    assert int(verdict(done).removeprefix("PASS: ").split()[0]) > 3000


def ties_lost(monkeypatch: pytest.MonkeyPatch, config: HardwareConfig, name: str) -> str:
    monkeypatch.setattr(element, "rounds_up", lambda rounding, last, below, sticky, random: below)
    return verilog(config, name)


def replaced(right: str, wrong: str):
    """A mistake in the text of a design."""

    def plant(monkeypatch: pytest.MonkeyPatch, config: HardwareConfig, name: str) -> str:
        text = verilog(config, name)
        assert right in text
        return text.replace(right, wrong)

    return plant


PLANTED = {
    "ties go up": ("encoder", ties_lost),
    "a result changes while it waits": ("encoder", replaced("if (i_ready) p_3_output_q", "if (1'h1) p_3_output_q")),
    "Inf comes one binade late": ("decoder", replaced("exponent[8:0] >= 8'hff", "exponent[8:0] > 8'hff")),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name, plant", PLANTED.values(), ids=PLANTED)
def test_a_planted_bug_fails(name: str, plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(DESIGNS[name], tmp_path, name)
    (folder / "planted.v").write_text(plant(monkeypatch, DESIGNS[name], name))
    done = run(folder, "RTL=planted.v")
    assert done.returncode != 0 and verdict(done).startswith("FAIL: "), done.stdout


@pytest.mark.parametrize(
    "config, words",
    [
        (configuration("cast", "e4m3"), "--dpi is for encoders and decoders of MX formats, not for a cast yet"),
        (configuration("two_level_encode", "nvfp4"), "not for an NVFP4 encoder yet"),
        (configuration("hadamard", "hadamard16"), "the model in C has no operation hadamard yet"),
        (configuration("encode", "e2m1", layout="ggml"), "not the bytes of ggml: leave out layout"),
        (configuration("encode", "e4m3,e5m2"), "of one format and one scale rule, not of 2 modes"),
    ],
)
def test_other_designs_are_refused(config: HardwareConfig, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dpi_files(config, "top")
