"""Designs that lead a proof astray: text that tools read differently, values that Verilog leaves undefined, modules
that stay closed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from mxcast.hdl import converter_config, verilog
from mxcast.host.errors import ToolError
from mxcast.proof import prove
from mxcast.proof.foreign.check_rtl import Check, check_rtl
from mxcast.proof.netlist.design import Cut, Design, Part
from mxcast.proof.netlist.pipeline import combinational
from mxcast.proof.questions.encode import ProvableEncode
from mxcast.proof.solve.argument import Status
from mxcast.proof.solve.prove import Proof
from mxcast.proof.solve.solver import solve
from mxcast.proof.verilog.readers import readers
from mxcast.proof.verilog.text import plain
from mxcast.sim.run.verilator.verilated import Verilated, driver_of

CONFIG = converter_config("e2m1", "ocp", block_size=2)
INNER = verilog(CONFIG, "inner")

WRAPPED = """
module trap({ports}input [63:0] x, output {reg}[7:0] scale, output {reg}[7:0] p);
  wire [7:0] s, q;
  wire rare = x == 64'h12345678_9ABCDEF0;
  inner inner(.x(x), .scale(s), .p(q));
  {body}
endmodule
"""
COMBINATIONAL = "assign scale = s; assign p = q ^ {7'h0, evil}; "
PIPELINE = "always @(posedge clk) begin scale <= s; p <= q ^ {7'h0, evil & rare}; end "


def file(folder: Path, body: str, ports: str = "", inner: str = INNER) -> Path:
    """A converter and a module around it, whose wire ``evil`` changes a bit of the result."""
    pipeline = "clk" in ports
    text = WRAPPED.format(ports=ports, reg="reg " * pipeline, body=(PIPELINE if pipeline else COMBINATIONAL) + body)
    (folder / "trap.v").write_text(inner + text)
    return folder / "trap.v"


def proved(path: Path, **options: object) -> Proof:
    return prove(CONFIG, rtl=path, **options)


def checked(path: Path, **asked: object) -> Check:
    return check_rtl([path], "trap", CONFIG, asked, out=path.parent, blocks=1000)


KEPT = INNER
for word in ("\nmodule ", "\n  inner_amax_tree "):
    KEPT = KEPT.replace(word, f"\n(* keep_hierarchy *){word}")


def test_modules_that_ask_to_be_kept_are_looked_into(tmp_path):
    assert KEPT.count("keep_hierarchy") > 4
    path = file(tmp_path, "wire evil = 1'b0;", inner=KEPT)
    assert checked(path).status is Status.PASS
    (tmp_path / "inner.v").write_text(KEPT)
    assert prove(CONFIG, rtl=tmp_path / "inner.v").method == "composed"
    assert prove(CONFIG, rtl=tmp_path / "inner.v", netlist="ecp5").status is Status.PASS
    wrong = KEPT.replace("key - 2'h2", "key - 2'h1")
    assert wrong != KEPT
    (tmp_path / "inner.v").write_text(wrong)
    assert prove(CONFIG, rtl=tmp_path / "inner.v").counterexample


TABLE = "reg [3:0] table_ [{range}]; integer k; initial for (k = 0; k < 10; k = k + 1) table_[k + {first}] = 4'h5; "


@pytest.mark.parametrize(
    "wrong, right",
    [
        # x in Verilog, but a value in a simulator, and another one in SMT-LIB; and conditions that cannot happen
        (
            "wire [7:0] d = rare ? 8'd0 : 8'd1; wire [7:0] y = 8'd5 / d; wire evil = rare & (y != 8'hFF);",
            "wire [7:0] d = rare ? 8'd2 : 8'd1; wire [7:0] y = 8'd5 / d; wire evil = rare & (y != 8'h02);",
        ),
        (
            "wire [7:0] d = rare ? 8'd0 : 8'd1; wire [7:0] y = 8'd5 % d; wire evil = rare & (y != 8'h05);",
            "wire [7:0] d = rare ? 8'd3 : 8'd1; wire [7:0] y = 8'd5 % d; wire evil = rare & (y != 8'h02);",
        ),
        (
            "wire [9:0] v = 10'd0; wire [3:0] i = rare ? 4'd12 : 4'd3; wire evil = v[i];",
            "wire [9:0] v = 10'd0; wire [3:0] i = rare ? 4'd9 : 4'd3; wire evil = v[i];",
        ),
        (
            "wire [7:0] v = 8'd0; wire signed [3:0] i = rare ? -4'sd1 : 4'sd3; wire evil = |v[i -: 2];",
            "wire [7:0] v = 8'd0; wire signed [3:0] i = rare ? 4'sd1 : 4'sd3; wire evil = |v[i -: 2];",
        ),
        (
            TABLE.format(range="0:9", first=0) + "wire [4:0] i = rare ? 5'd19 : 5'd3; wire evil = table_[i] != 4'h5;",
            TABLE.format(range="0:9", first=0) + "wire [4:0] i = rare ? 5'd9 : 5'd3; wire evil = table_[i] != 4'h5;",
        ),
        (
            TABLE.format(range="5:14", first=5) + "wire [4:0] i = rare ? 5'd4 : 5'd5; wire evil = table_[i] != 4'h5;",
            TABLE.format(range="5:14", first=5) + "wire [4:0] i = rare ? 5'd14 : 5'd5; wire evil = table_[i] != 4'h5;",
        ),
    ],
    ids=["division", "remainder", "index", "part", "table", "table from 5"],
)
def test_what_verilog_leaves_undefined_may_be_anything(wrong, right, tmp_path):
    assert asked(file(tmp_path, wrong)) == asked(file(tmp_path, wrong, "input clk, "), 1) == "sat"
    assert asked(file(tmp_path, right)) == asked(file(tmp_path, right, "input clk, "), 1) == "unsat"


def asked(path: Path, latency: int = 0) -> str:
    """Whether ``evil`` can be 1 for the readers, which agree; nothing is simulated."""
    found = set()
    for reader in readers():
        design = Design(plain(path.read_text()), "trap", path.parent / reader, reader)
        design = combinational(design, latency)[0] if latency else design
        (part,) = design.parts(Cut("trap", wires=("evil",)))
        question = f"(set-logic ALL)\n{part.text}{part.state('s')}(define-fun evil () Bool {part.wire('evil', 's')})"
        found.add(solve(f"{question}(assert evil)", ("evil",)).result)
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize(
    "body",
    [
        "reg k; always @(posedge clk) k <= k; wire evil = k;",  # it holds an unwritten value
        "reg k = 0; always @(posedge clk) k <= k; wire evil = k;",
        "reg k; always @(posedge clk) if (rst) k <= 1; wire evil = k;",  # it holds the value of a reset
        "reg k; always @(posedge clk or posedge rst) if (rst) k <= 1; else k <= k; wire evil = k;",
        "reg k = 0; always @(posedge clk) if (rst) k <= 1; wire evil = k;",
        "reg k; always @* if (rst) k = 1; wire evil = k;",
        # it holds the value of an edge, long ago
        "reg k, l; always @(posedge clk) begin l <= 1; if (!l) k <= 1; end wire evil = k;",
        "reg k; always @(posedge 1'b0) k <= 1; wire evil = k;",
    ],
)
def test_a_register_that_nothing_writes_is_refused(body, tmp_path):
    proof = proved(file(tmp_path, f"wire rst = 1'b0; {body}", "input clk, "), latency=1)
    assert proof.status is Status.UNKNOWN and any(
        why in proof.remark
        for why in (
            "nothing writes, or only a reset",
            "only a constant feeds",
            "has a latch",
            "feeds back into itself",
            "on another clock",
        )
    ), proof.remark


def test_a_register_that_a_reset_writes_is_simulated_only(tmp_path):
    result = checked(
        file(tmp_path, "reg k; always @(posedge clk) if (rst) k <= 1; wire evil = k;", "input clk, rst, "),
        clk="clk",
        rst="rst",
        latency=1,
    )
    assert result.status is Status.UNKNOWN and "a register feeds back into itself" in result.remarks[0]


def test_memories_are_refused(tmp_path):
    body = "reg m [0:3]; reg y; always @(posedge clk) begin m[x[1:0]] <= rare; y <= m[x[1:0]]; end wire evil = y;"
    proof = proved(file(tmp_path, body, "input clk, "), latency=1)
    assert proof.status is Status.UNKNOWN and "a memory that is written" in proof.remark


def test_a_memory_of_constant_places_is_registers(tmp_path):
    body = "reg [7:0] m [0:1]; always @(posedge clk) begin m[0] <= q; m[1] <= m[0]; end wire evil = m[1][0] & ~m[1][0];"
    assert asked(file(tmp_path, body, "input clk, "), 1) == "unsat"


@pytest.mark.parametrize(
    "instead",
    [
        "(nan & (scale == 8'hFF)) ?",  # a flag never comes with another byte
        "(scale == 8'hFF) ?",
        "(scale == 8'hFE) ? 4'h1 : nan ?",  # no finite largest magnitude has it
    ],
)
def test_an_element_may_rely_on_what_blocks_are(instead, tmp_path):
    assert "assign p = nan ?" in INNER
    (tmp_path / "inner.v").write_text(INNER.replace("assign p = nan ?", f"assign p = {instead}"))
    proof = prove(CONFIG, rtl=tmp_path / "inner.v")
    assert proof.status is Status.PASS and proof.method == "composed", proof.remark


HIDDEN = "wire evil = 1'b0\n{on}\n| rare\n{off}\n;"


@pytest.mark.parametrize(
    "ask, body",
    [
        (proved, HIDDEN.format(on="// synopsys translate_off", off="// synopsys translate_on")),
        (checked, HIDDEN.format(on="/* synthesis translate_off */", off="/* synthesis translate_on */")),
        (proved, HIDDEN.format(on="`ifndef YOSYS", off="`endif")),
    ],
)
def test_all_tools_read_the_same_text(ask, body, tmp_path):
    result = ask(file(tmp_path, body))
    assert result.status is Status.FAIL and result.steps[-1].answer.result == "sat"


def test_a_name_that_would_end_in_a_question_is_refused(tmp_path):
    name = r"\hax|()Bool|true|)(assert|false|)(define-fun|zz "
    path = file(tmp_path, f"wire {name}; assign {name} = rare; wire evil = {name};")
    assert proved(path).status is Status.UNKNOWN and "no name in SMT-LIB" in proved(path).remark
    assert checked(path).status is Status.UNKNOWN and "no name in SMT-LIB" in checked(path).remarks[0]


def test_a_design_that_contradicts_itself_is_no_proof(tmp_path):
    """An assertion among the functions of a design, of any origin."""
    design = Design(file(tmp_path, "wire evil = rare;").read_text(), "trap", tmp_path)
    design.parts = lambda *cuts: [Part(p.name, p.text + "(assert false)\n") for p in Design.parts(design, *cuts)]
    answers = {q.name: (q.expected, solve(q.text, q.names).result) for q in ProvableEncode().monolithic(CONFIG, design)}
    assert answers["block"] == ("unsat", "unsat") and answers["can-happen"] == ("sat", "unsat")


LANE = """  parameterised #(.WIDTH(32), .KIND("any")) {cell} ("""


@pytest.mark.parametrize("netlist", [None, "ecp5"])
def test_parameters_and_spaces(netlist, tmp_path):
    """A module whose name Yosys builds from its parameters, in a folder and a file with long names, not in UTF-8."""
    (tmp_path / "a folder").mkdir()
    text = INNER.replace("module inner_element_quantizer(", "module parameterised #(parameter WIDTH = 1, KIND = 0)(")
    for lane in range(2):
        text = text.replace(f"  inner_element_quantizer element_{lane} (", LANE.format(cell=f"element_{lane}"))
    path = tmp_path / "a folder" / "J\u00fcrgen's b2.v"
    path.write_bytes("\ufeff".encode() + f"// J\u00fcrgen\n{text}".encode("latin-1").replace(b"\n", b"\r\n"))
    proof = prove(CONFIG, rtl=path, name="inner", netlist=netlist)
    assert proof.status is Status.PASS and proof.method == "composed", proof.remark
    if not netlist:
        assert check_rtl([path], "inner", CONFIG, {}, out=tmp_path / "an output", blocks=1000).passed


def test_a_latch_is_refused(tmp_path):
    proof = proved(file(tmp_path, "reg evil; always @* if (x[5]) evil = 1'b0; else if (rare) evil = 1'b1;"))
    assert (
        proof.status is Status.FAIL and "on Icarus" in proof.counterexample.report
    ) or proof.status is Status.UNKNOWN
    assert "the module trap has a latch" in proof.remark
    # Yosys makes a latch of it that is always open
    right = "reg evil; always @* begin if (rare) evil = 1'b0; if (!rare) evil = 1'b0; end"
    assert proved(file(tmp_path, right)).status is Status.PASS


def test_delays_mean_nothing(tmp_path):
    assert proved(file(tmp_path, "wire evil; assign #3 evil = 1'b0;")).status is Status.PASS


def test_an_include_folder_that_is_none(tmp_path):
    with pytest.raises(ValueError, match="there is no folder nowhere of include files"):
        check_rtl([file(tmp_path, "wire evil = 1'b0;")], "trap", CONFIG, {}, include=["nowhere"], out=tmp_path)


@pytest.mark.parametrize(
    "ask, body, right",
    [
        (proved, "wire evil = 1'b0; always @* assert (x[7:0] != 8'h55);", True),  # assertions are not asked
        (
            checked,
            "reg evil; always @* unique case (1'b1) x[0]: evil = 1'b0; x[1]: evil = 1'b0; default: evil = 1'b0; "
            "endcase",
            True,
        ),
        (proved, 'wire evil = rare; always @* if (rare) $display("rare"); else assume (!rare);', False),
    ],
)
def test_assertions_and_messages_are_left_out(ask, body, right, tmp_path):
    assert ask(file(tmp_path, body)).status is (Status.PASS if right else Status.FAIL)


def test_a_design_that_stops_the_simulation_is_an_error(tmp_path):
    body = "wire evil = 1'b0; always @* if (x[7:0] == 8'h55) $stop;"
    rtl = Verilated(driver_of(file(tmp_path, body).read_text(), "trap", CONFIG.numerics, lint=False), CONFIG.modes)
    assert rtl(np.zeros(2, np.float32)).scales.tolist() == [0]
    with pytest.raises(ToolError, match=r"the design stops the simulation: .*\$stop"):
        rtl(np.array([0x55, 0], np.uint32).view(np.float32))
    assert rtl(np.zeros(2, np.float32)).scales.tolist() == [0]


@pytest.mark.parametrize(
    "body, tool",
    [
        ("reg r; always @(x[62:0]) r = q[7]; wire evil = r ^ q[7];", "verilator"),  # a list that misses a bit
        ("reg [7:0] t, u; always @* begin u = t; t = q; end wire evil = u[7] ^ q[7];", "icarus"),  # of the block before
        ("reg evil; always @* evil = 1'b0;", "icarus"),  # nothing starts it
    ],
)
def test_an_always_block_runs_when_its_list_says_so(body, tool, tmp_path):
    if tool == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("Icarus is not installed")
    path = file(tmp_path, body)
    proof = proved(path)
    assert {step.status for step in proof.steps} == {Status.PASS} and proof.status is Status.FAIL
    assert ("on Icarus" in proof.counterexample.report) is (tool == "icarus")


def test_icarus_is_asked_about_other_designs_too(tmp_path):
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus is not installed")
    check = checked(file(tmp_path, "reg evil; always @* evil = 1'b0;"))
    assert check.status is Status.UNKNOWN and not check.steps and "on Icarus" in check.remarks[0]
