"""Proofs of written Verilog: right files pass by every method, wrong ones fail with a block that really differs."""

import json
import re
import shutil

import numpy as np
import pytest

from mxcast.hdl import converter_config, verilog
from mxcast.host.errors import ToolError
from mxcast.proof import prove
from mxcast.proof.solve import solver
from mxcast.proof.solve.argument import Status
from mxcast.sim.run import icarus
from mxcast.spec import Role

from ..configurations import ELEMENTS, in_turn

NAME = "planted"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("element, profile", in_turn(ELEMENTS, ["ocp", "nvidia", "te", "gorodecky_sousa"]))
def test_every_format_is_proved(element, profile, tmp_path):
    proof = prove(converter_config(element, profile, block_size=4), out=tmp_path)
    assert proof.status is Status.PASS and proof.method == "composed" and proof.counterexample is None
    assert {step.question.name for step in proof.steps} == {"one-byte", "one-code", "can-happen", "element", "scale"}


@pytest.mark.parametrize("size", [4, pytest.param(32, marks=pytest.mark.slow)])
def test_a_whole_block_is_proved_in_parts(size, tmp_path):
    config = converter_config("e4m3", "ocp", block_size=size)
    parts = prove(config, out=tmp_path)
    assert parts.status is Status.PASS and parts.method == "composed"
    kept = json.loads((parts.folder / "proof.json").read_text())
    assert kept["status"] == "PASS" and kept["solver_version"] and kept["sha256"]
    assert [argument["reader"] for argument in kept["arguments"]] == ["read_verilog", "slang"]
    assert all(
        (parts.folder / argument["reader"] / step["file"]).read_text().endswith("(check-sat)\n")
        for argument in kept["arguments"]
        for step in argument["steps"]
    )


@pytest.mark.parametrize("size", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_a_block_is_proved_at_once(size, tmp_path):
    whole = prove(converter_config("e2m1", "nvidia", block_size=size), out=tmp_path, whole=True)
    assert whole.status is Status.PASS and whole.method == "monolithic"


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "element, profile, rules",
    [
        ("e4m3", "nvidia", {"source": "fp16"}),  # widened first: a second module in each lane
        pytest.param(
            "e3m2", "nvidia", {"source": "fp16", "specials": "drop"}, marks=pytest.mark.slow
        ),  # a special number reads as far above FP16
        pytest.param("e2m3", "torchao_even", {"source": "bf16"}, marks=pytest.mark.slow),
        ("e5m2", "ocp", {"rounding": "sr", "random_bits": 4}),  # for all random bits
        pytest.param("int8", "ocp", {"rounding": "sr", "random_bits": 1}, marks=pytest.mark.slow),
        ("e4m3,e5m2", "ocp", {"scale_rule": "floor,ceil"}),  # four modes
        pytest.param("e3m3", "ocp", {"specials": "inf_scale", "rounding": "rna"}, marks=pytest.mark.slow),
        ("int4", "torchao_ceil", {"specials": "drop", "input_subnormals": "flush", "rounding": "rtz"}),
        ("e4m3", "compressed_tensors", {}),
        ("e2m1", "mlx_round", {}),
        ("e2m1", "modelopt", {"source": "bf16"}),
        ("int8", "ocp", {"scale_rule": "round_log2", "rounding": "rnz", "target": "xcu"}),  # the table of fixed point
        ("e4m3", "ocp", {"zero": "positive", "target": "xcu"}),  # the table of floating point
        pytest.param("e4m3", "ocp", {"scale_rule": "floor,linear_nearest"}, marks=pytest.mark.slow),
        ("int8", "ocp", {"scale_rule": "linear_nearest", "target": "xcu"}),
        pytest.param("e2m3", "te", {"scale_rule": "linear_nearest", "source": "bf16"}, marks=pytest.mark.slow),
        pytest.param("e3m0", "ocp", {"scale_rule": "linear_nearest", "specials": "drop"}, marks=pytest.mark.slow),
        pytest.param("int8", "ocp", {"scale_rule": "midmax", "target": "xcu"}, marks=pytest.mark.slow),
        pytest.param("e5m2", "ocp", {"scale_rule": "midmax", "source": "fp16"}, marks=pytest.mark.slow),
        pytest.param(
            "e3m0",
            "ocp",
            {"scale_rule": "round_log2", "rounding": "rnz", "zero": "taken_positive"},
            marks=pytest.mark.slow,
        ),
        pytest.param("e5m2", "ocp", {"scale_rule": "round_log2", "target": "xcu"}, marks=pytest.mark.slow),
        pytest.param(
            "e2m1", "ocp", {"zero": "taken_negative", "source": "fp16", "specials": "inf_scale"}, marks=pytest.mark.slow
        ),
        pytest.param("e4m3", "ocp", {"element_subnormals": "flush"}, marks=pytest.mark.slow),
        pytest.param("e5m2", "gorodecky_sousa", {"element_subnormals": "exact"}, marks=pytest.mark.slow),
        pytest.param("e3m0", "te", {"amax_key": "magnitude"}, marks=pytest.mark.slow),
    ],
    ids=lambda v: "-".join(map(str, v.values())) if isinstance(v, dict) else v,
)
def test_other_rules_are_proved(element, profile, rules, tmp_path):
    config = converter_config(element, profile, block_size=2, **rules)
    proof = prove(config, out=tmp_path)
    assert proof.status is Status.PASS, [(step.question.name, step.answer.result) for step in proof.steps]
    assert [len(argument.steps) for argument in proof.arguments] == 2 * [5 * len(config.modes)]


@pytest.mark.parametrize("target", ["ecp5", pytest.param("xcu", marks=pytest.mark.slow)])
def test_a_netlist_is_proved(target, tmp_path):
    proof = prove(converter_config("e2m1", "ocp", block_size=4), out=tmp_path, netlist=target)
    assert proof.status is Status.PASS and (proof.folder / "read_verilog" / f"{target}.v").is_file()


def test_z3_is_of_the_same_opinion(tmp_path):
    pytest.importorskip("z3", reason="z3-solver is a second opinion, not installed by the tests")
    assert prove(converter_config("e2m1", "ocp", block_size=2), out=tmp_path, solver="z3").status is Status.PASS


PLANTED = [
    # bug, format, profile, text of the emitted file, its replacement, lemma
    ("ties", "e4m3", "ocp", r"(assign _\d+_ = aligned\[1\]) \| sticky;", r"\1;", "element"),
    ("sticky bit", "e4m3", "ocp", r"(assign tail = \| \{ x\[11:)0\]", r"\g<1>1]", "element"),
    ("clamp", "e4m3", "ocp", r"7'h7e : rounded", r"7'h7d : rounded", "element"),
    ("NaN code", "e4m3", "ocp", r"nan \? 8'h7f", r"nan ? 8'h7e", "element"),
    ("sign", "e2m1", "ocp", r"\{ x\[31\], magnitude \}", r"{ 1'h0, magnitude }", "element"),
    ("room for subnormals", "e4m3", "ocp", r"scale < 3'h7", r"scale < 3'h6", "element"),
    ("comparison", "e4m3", "ocp", r"level1_0 > level1_1", r"level1_0 < level1_1", "scale"),
    ("emax", "e2m1", "ocp", r"key - 2'h2", r"key - 2'h1", "scale"),
    ("threshold", "e4m3", "nvidia", r"23'h600000", r"23'h600001", "scale"),
    ("NaN not noticed", "int8", "ocp", r"assign nan = & key;", r"assign nan = 1'h0;", "scale"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "element, profile, pattern, instead, lemma", [row[1:] for row in PLANTED], ids=[row[0] for row in PLANTED]
)
def test_a_planted_bug_is_found_and_shown(element, profile, pattern, instead, lemma, tmp_path):
    config = converter_config(element, profile, block_size=4)
    text, count = re.subn(pattern, instead, verilog(config, NAME))
    assert count >= 1, pattern
    file = tmp_path / f"{NAME}.v"
    file.write_text(text)
    proof = prove(config, rtl=file)
    assert proof.status is Status.FAIL and proof.steps[-1].question.name == lemma
    assert "mxcast explain" in proof.counterexample.report
    vectors = np.load(proof.counterexample.vectors)["x"]
    assert vectors.shape == (1, 4) and vectors.tolist() == proof.counterexample.block[Role.NUMBERS].tolist()


@pytest.mark.parametrize("row", [PLANTED[0], PLANTED[-3]], ids=lambda row: row[0])
def test_a_planted_bug_is_found_in_the_whole_block(row, tmp_path):
    _, element, profile, pattern, instead, _ = row
    config, file = converter_config(element, profile, block_size=4), tmp_path / f"{NAME}.v"
    file.write_text(re.sub(pattern, instead, verilog(config, NAME)))
    proof = prove(config, rtl=file, whole=True)
    assert proof.status is Status.FAIL and proof.counterexample


@pytest.mark.parametrize(
    "pattern, instead",
    [
        (r"\.x\(x\[63:32\]\)", ".x(x[31:0])"),  # a number goes to two lanes
        (r"\.p\(p\[15:8\]\),\n    \.scale\(scale\)", ".p(p[15:8]),\n    .scale(8'h7f)"),  # a scale of its own
        (r"\.nan\(nan\),\n    \.p\(p\[15:8\]\)", ".nan(1'h0),\n    .p(p[15:8])"),  # flag not connected
    ],
)
def test_wrong_wiring_is_found(pattern, instead, tmp_path):
    config = converter_config("e4m3", "ocp", block_size=4)
    text, count = re.subn(pattern, instead, verilog(config, NAME))
    assert count == 1
    (tmp_path / f"{NAME}.v").write_text(text)
    proof = prove(config, rtl=tmp_path / f"{NAME}.v")
    assert proof.status is Status.FAIL and proof.method == "monolithic" and "asked as a whole" in proof.remark
    assert proof.counterexample


def test_a_file_against_other_rules_fails(tmp_path):
    """The file of one profile does not prove another."""
    (tmp_path / f"{NAME}.v").write_text(verilog(converter_config("e4m3", "ocp", block_size=4), NAME))
    proof = prove(converter_config("e4m3", "nvidia", block_size=4), rtl=tmp_path / f"{NAME}.v")
    assert proof.status is Status.FAIL


def test_the_solver_is_the_one_that_is_installed(tmp_path, monkeypatch):
    """The solver is the installed one, not a module of the same name in the current folder."""
    (tmp_path / "bitwuzla.py").write_text("print('unsat'); raise SystemExit")
    monkeypatch.chdir(tmp_path)
    assert solver.solve("(declare-const other Bool)\n", ("other",), force=True).result == "sat"


@pytest.mark.slow
def test_too_little_time_is_no_proof(tmp_path):
    proof = prove(converter_config("e4m3", "te"), out=tmp_path, timeout=1, whole=True, force=True)
    assert proof.status is Status.TIMEOUT and proof.counterexample is None
    assert json.loads((proof.folder / "proof.json").read_text())["status"] == "TIMEOUT"


def test_an_unknown_answer_is_no_proof(tmp_path, monkeypatch):
    monkeypatch.setitem(solver.SOLVERS, "shrug", ("bitwuzla", "", "print('unknown')"))
    proof = prove(converter_config("e2m1", "ocp", block_size=2), out=tmp_path, solver="shrug")
    assert proof.status is Status.UNKNOWN


@pytest.mark.parametrize("program", ["print('(error \"no\")')", "import sys; sys.exit(3)", "pass"])
def test_a_solver_that_fails_is_an_error(program, tmp_path, monkeypatch):
    monkeypatch.setitem(solver.SOLVERS, "broken", ("bitwuzla", "", program))
    with pytest.raises(ToolError, match="broken failed"):
        prove(converter_config("e2m1", "ocp", block_size=2), out=tmp_path, solver="broken")


PIPELINE = """
module planted(input clk, input [63:0] x, output reg [7:0] scale, output reg [7:0] p);
  reg [63:0] held;
  wire [7:0] scale_now, p_now;
  converter inner (.x(held), .scale(scale_now), .p(p_now));
  always @(posedge clk) begin held <= x; scale <= scale_now; p <= p_now; end
endmodule
"""


def test_a_pipeline_is_proved(tmp_path):
    config, file = converter_config("e2m1", "ocp", block_size=2), tmp_path / "planted.v"
    file.write_text(PIPELINE + verilog(config, "converter"))
    assert prove(config, rtl=file, latency=2).status is Status.PASS
    wrong = prove(config, rtl=file, latency=1)
    assert wrong.status is Status.FAIL and "not 1" in wrong.remark
    file.write_text(
        file.read_text().replace("scale <= scale_now", "scale <= scale_now ^ (x == 64'h7F)")
    )  # of another block
    unknown = prove(config, rtl=file, latency=2)
    assert unknown.status is Status.UNKNOWN and "1 or 2, not 2" in unknown.remark
    file.write_text(PIPELINE.replace("p <= p_now", "p <= p_now | (held == 64'h41)") + verilog(config, "converter"))
    proof = prove(config, rtl=file, latency=2)
    assert proof.status is Status.FAIL and proof.counterexample.block[Role.NUMBERS].tolist() == [[0x41, 0]]


def test_registers_are_refused(tmp_path):
    (tmp_path / "planted.v").write_text(
        "module planted(input [63:0] x, output reg [7:0] scale, output [7:0] p);\n"
        "always @(posedge x[0]) scale <= x[7:0]; assign p = 8'h0; endmodule\n"
    )
    proof = prove(converter_config("e2m1", "ocp", block_size=2), rtl=tmp_path / "planted.v")
    assert proof.status is Status.FAIL and "has registers" in proof.remark and not proof.steps


@pytest.mark.sampled(2)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    "pattern, instead, shown_by_icarus_alone",
    [
        (r"nan \? 4'h0 : ", "nan ? 4'hx : ", True),  # undefined: Yosys may read 0
        (r"_0_ \? 8'h00", "_0_ ? 8'hxx", True),
        (r"nan \? 4'h0 : ", "nan ? {4{x[40]}} : ", False),  # beyond the vector
        (
            r"assign p = (nan \? .*);",
            r"reg [3:0] late; assign p = late; always @(nan) late = \1;",
            False,
        ),  # Yosys and simulators differ
        (
            r"nan \? 4'h0 : (\{.*?\});",
            "nan ? 4'h0 : \\1\n// synthesis translate_off\n^ 4'h1\n// synthesis translate_on\n;",
            False,
        ),
    ],
)
def test_what_tools_read_differently_is_no_proof(pattern, instead, shown_by_icarus_alone, whole, tmp_path):
    config = converter_config("e2m1", "ocp", block_size=2)
    text, count = re.subn(pattern, instead, verilog(config, NAME))
    assert count == 1
    (tmp_path / f"{NAME}.v").write_text(text)
    is_unseen = shown_by_icarus_alone and shutil.which("iverilog") is None
    status = prove(config, rtl=tmp_path / f"{NAME}.v", whole=whole).status
    assert status is (Status.UNKNOWN if is_unseen else Status.FAIL)


@pytest.mark.parametrize(
    "pattern, instead, sentence",
    [
        (
            r"output \[15:0\] p;\n  wire \[15:0\] p;",
            "output [19:0] p;\n  wire [19:0] p;\n  assign p[19:16] = x[3:0];",
            "p of planted must be an output of 16 bits",
        ),
        (
            r"module planted\(x, scale, p\);",
            "module planted(x, scale, p, en);\n  input en;",
            "planted has an unexpected port en",
        ),
        (r"module planted\(x, scale, p\);", "module planted(x, scale, p, clk);\n  input clk;", "planted has a clock"),
        (r"input \[127:0\] x;", "inout [127:0] x;", "x of planted must be an input of 128 bits"),
    ],
)
def test_other_ports_are_refused(pattern, instead, sentence, tmp_path):
    config = converter_config("e2m1", "ocp", block_size=4)
    text, count = re.subn(pattern, instead, verilog(config, NAME), count=1)
    assert count == 1
    (tmp_path / f"{NAME}.v").write_text(text)
    for whole in (False, True):
        with pytest.raises(ValueError, match=sentence):
            prove(config, rtl=tmp_path / f"{NAME}.v", whole=whole)


@pytest.mark.slow
def test_mode_numbers_beyond_the_last_are_asked_too(tmp_path):
    config = converter_config("e2m1,e1m2", "ocp", scale_rule="floor,ceil,rceil", block_size=2)
    assert len(config.modes) == 6
    assert prove(config, out=tmp_path).status is Status.PASS
    text, count = re.subn(r"(assign p = )(.*);", r"\1(mode == 3'h7) ? 4'h5 : \2;", verilog(config, NAME), count=1)
    assert count == 1
    (tmp_path / f"{NAME}.v").write_text(text)
    assert prove(config, rtl=tmp_path / f"{NAME}.v").status is Status.FAIL


def test_a_loop_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(icarus, "PATIENCE", 3)  # it loops forever
    config = converter_config("e2m1", "ocp", block_size=4)
    text, count = re.subn(
        r"assign scale = (.*);", r"assign scale = \1 ^ { 7'h0, scale[0] & ~scale[0] };", verilog(config, NAME), count=1
    )
    assert count == 1
    (tmp_path / f"{NAME}.v").write_text(text)
    proof = prove(config, rtl=tmp_path / f"{NAME}.v")
    assert proof.status is Status.UNKNOWN and "found logic loop in module planted" in proof.remark


def test_a_wire_that_nothing_drives_is_refused(tmp_path):
    text = verilog(converter_config("e2m1", "ocp", block_size=2), NAME)
    text, count = re.subn(r"  assign up = .*\n", "", text)
    assert count == 1
    (tmp_path / "planted.v").write_text(text)
    proof = prove(converter_config("e2m1", "ocp", block_size=2), rtl=tmp_path / "planted.v")
    assert proof.status is Status.FAIL and "up is used but has no driver" in proof.remark and not proof.steps


@pytest.mark.parametrize("timeout", [float("inf"), float("nan"), 0, 1e12])
def test_a_timeout_is_a_number_of_seconds(timeout):
    with pytest.raises(ValueError, match="above 0 and at most 1,000,000 seconds"):
        solver.solve("(declare-const x Bool)\n", ("x",), timeout=timeout)
