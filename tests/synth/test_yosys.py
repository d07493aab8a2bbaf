"""Yosys in a child process: its netlists are counted, and a missing netlist is an error."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError

import pytest

from mxcast.hdl import ScaleUnit, converter_config
from mxcast.hdl.emission.modules import convert
from mxcast.host.errors import ToolError
from mxcast.synth import TARGETS, synth, yosys
from mxcast.synth.netlist import cost
from mxcast.synth.yosys import run, yosys_version


def synthesise(folder, text: str, top: str, target: str):
    (folder / "t.v").write_text(text)
    chosen = TARGETS[target]
    return cost(*run(["read_verilog t.v", chosen.script.format(top=top)], folder, chosen.estimate), top, chosen)


AND6 = "module t(input [5:0] a, output y); assign y = &a; endmodule\n"
STATE = "module t(input c, input [1:0] a, output reg q); always @(posedge c) q <= a[0] ^ a[1]; endmodule\n"
XOR16 = "module t(input [15:0] a, output y); assign y = ^a; endmodule\n"


# text, the fewest possible LUTs, flip-flops and levels, and logic cells if they are estimated
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "target, text, luts, ffs, levels, logic_cells",
    [
        ("lut6", AND6, 1, 0, 1, None),
        ("lut4", AND6, 2, 0, 2, None),
        ("xcu", STATE, 1, 1, 1, 1),
        ("ecp5", STATE, 1, 1, 1, 1),
        pytest.param("ice40", STATE, 1, 1, 1, None, marks=pytest.mark.slow),
        pytest.param("lut4", STATE, 1, 1, 1, None, marks=pytest.mark.slow),
        pytest.param("lut4", XOR16, 5, 0, 2, None, marks=pytest.mark.slow),  # 4 * 4 inputs and one above
        ("ice40", XOR16, 5, 0, 2, None),
    ],
)
def test_small_circuits(tmp_path, target, text, luts, ffs, levels, logic_cells):
    found = synthesise(tmp_path, text, "t", target)
    assert (found.luts, found.ffs, found.levels, found.logic_cells) == (luts, ffs, levels, logic_cells), found.cells
    assert found.carries == 0
    assert "$" not in "".join(found.cells) or target in ("lut4", "lut6")  # all mapped


def test_carry_chains_are_counted(tmp_path):
    found = synthesise(
        tmp_path, "module t(input [31:0] a, b, output [31:0] y); assign y = a + b; endmodule\n", "t", "ice40"
    )
    assert 30 <= found.carries <= 32 and found.levels >= 30


def test_a_scale_unit(tmp_path):
    """Eight bits in and nine out: its NaN flag alone is an AND of eight, two LUT6 deep."""
    text = convert(ScaleUnit(converter_config("e4m3")), "scale_unit")
    found = synthesise(tmp_path, text, "scale_unit", "lut6")
    assert 9 <= found.luts <= 40 and 2 <= found.levels <= 6 and found.ffs == 0
    assert set(found.cells) == {"$lut"}


def test_what_is_kept(tmp_path):
    synthesise(tmp_path, AND6, "t", "lut6")
    assert (tmp_path / "script.ys").read_text().splitlines() == [
        "scratchpad -set abc9.verify false",
        "read_verilog t.v",
        "synth -lut 6 -flatten -top t",
        "tee -q -o stat.json stat -json",
        "write_json netlist.json",
    ]
    assert "Executing SYNTH pass" in (tmp_path / "yosys.log").read_text()


@pytest.mark.parametrize(
    "commands, sentence",
    [
        (["read_verilog missing.v"], r"missing\.v"),  # the sentence of Yosys, with the file
        (["read_verilog broken.v"], r"broken\.v:1.*syntax error"),  # and the line
        (["synthesise"], r"synthesise"),  # no such command
        (["read_verilog t.v", "synth -lut 6 -top u"], r"\bu\b"),  # no such module
        (["read_verilog t.v", "exec -expect-return 1 -- true"], r"."),  # the second command
    ],
)
def test_scripts_that_fail(tmp_path, commands, sentence):
    (tmp_path / "t.v").write_text(AND6)
    (tmp_path / "broken.v").write_text("module\n")
    with pytest.raises(ToolError) as error:
        run(commands, tmp_path)
    assert re.match(r"^Yosys wrote no netlist: .*ERROR", str(error.value)), error.value
    assert re.search(sentence, str(error.value)) and "\n" not in str(error.value)


def test_a_crash(tmp_path, monkeypatch):
    monkeypatch.setattr(yosys, "RUNNER", "import os, sys; sys.stdin.read(); os.abort()")
    with pytest.raises(ToolError, match=r"^Yosys wrote no netlist: exit status -6$"):
        run(["help"], tmp_path)


def test_an_end_without_a_netlist(tmp_path, monkeypatch):
    """A tool's exit status is not trusted."""
    monkeypatch.setattr(yosys, "RUNNER", "import sys; sys.stdin.read()")
    with pytest.raises(ToolError, match=r"^Yosys wrote no netlist: exit status 0$"):
        run(["help"], tmp_path)


def test_half_a_netlist(tmp_path, monkeypatch):
    monkeypatch.setattr(
        yosys,
        "RUNNER",
        "import sys; sys.stdin.read(); [open(f, 'w').write('{') for f in ('netlist.json', 'stat.json')]",
    )
    with pytest.raises(ToolError, match="^Yosys wrote no netlist"):
        run(["help"], tmp_path)


def test_a_netlist_of_before_does_not_count(tmp_path):
    (tmp_path / "t.v").write_text(AND6)
    run(["read_verilog t.v", "synth -lut 6 -top t"], tmp_path)
    with pytest.raises(ToolError, match="missing"):
        run(["read_verilog missing.v"], tmp_path)


def test_pyosys_is_missing(tmp_path, cache, monkeypatch):
    def nothing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(yosys, "version", nothing)
    for call in (yosys_version, lambda: run(["help"], tmp_path), lambda: synth(converter_config("e2m1"), "lut6")):
        with pytest.raises(ToolError) as error:
            call()
        assert str(error.value) == "Yosys is missing: pip install '.[synth]' in a checkout of mxcast"
    assert not list(tmp_path.glob("*.ys"))
