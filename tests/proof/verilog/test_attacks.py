"""Wrong designs that once passed, or that a reader tried: each gets the right verdict, as does a right design that
passes.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mxcast.hdl import converter_config, emit, verilog
from mxcast.host.errors import DesignError
from mxcast.proof import prove
from mxcast.proof.foreign.check_rtl import check_rtl
from mxcast.proof.solve.argument import Status
from mxcast.proof.verilog.elaboration import elaborated
from mxcast.proof.verilog.gate import objections
from mxcast.proof.verilog.text import readings

CONFIG = converter_config("e2m1", "ocp", block_size=2)
CORE = verilog(CONFIG, "core")
BASE = """
module base(x, scale, p);
  input [63:0] x; output [7:0] scale; output [7:0] p;
  wire [7:0] s0, p0; core c(.x(x), .scale(s0), .p(p0));
  wire rare = x == 64'hCAFEBABE_DEADBEEF;
  wire [7:0] bad = p0 ^ 8'h01;
  assign scale = s0;
  {body}
endmodule
{more}
"""

FAIL, UNKNOWN, PASS = Status.FAIL, Status.UNKNOWN, Status.PASS
ANY = None
"""UNKNOWN, and FAIL where Icarus is installed, which follows sensitivity lists."""


def written(folder: Path, body: str, more: str = "") -> Path:
    (folder / "base.v").write_text(CORE + BASE.replace("{body}", body).replace("{more}", more))
    return folder / "base.v"


def proved(folder: Path, body: str, more: str = ""):
    return prove(CONFIG, rtl=written(folder, body, more))


REG = "reg [7:0] y; {body} assign p = y;"


WRITES = "function [7:0] g(input [7:0] a); begin y = a; g = a; end endfunction"


@pytest.mark.parametrize(
    "verdict, remark, body, more",
    [
        # indices of inner dimensions: out of range, and in range
        (
            FAIL,
            "",
            "wire [1:0][3:0] q; assign q[0] = 4'd0; assign q[1] = {3'd0, p0[0]}; wire [2:0] j = 3'd4;"
            "wire b = rare ? q[0][j] : p0[0]; assign p = {p0[7:1], b};",
            "",
        ),
        (
            FAIL,
            "",
            "reg [1:0][3:0] q; always @* begin q = rare ? p0 ^ 8'h10 : p0; q[0][rare ? 4 : 0] = rare ? p0[4] : "
            "p0[0]; end assign p = q;",
            "",
        ),
        (PASS, "", "wire [1:0][3:0] q = p0; wire [1:0] j = 2'd3; assign p = {p0[7:4], q[0][j], q[0][2:0]};", ""),
        # <= in combinational blocks
        (UNKNOWN, "writes y with <=", REG.format(body="always @* begin y <= rare ? bad : p0; y = p0; end"), ""),
        # attributes that Yosys follows
        (
            UNKNOWN,
            "has no driver",
            "wire [7:0] y; dv u(.i(p0), .r(rare), .o(y)); assign p = y;",
            "module dv(i, r, k, o); input [7:0] i; input r; (* defaultvalue = 1 *) input k; output [7:0] o; assign "
            "o = (k | ~r) ? i : i ^ 8'd1; endmodule",
        ),
        (UNKNOWN, "has no driver", "(* hierconn *) wire [7:0] \\c.p ; assign p = rare ? \\c.p : p0;", ""),
        (PASS, "", "(* keep, anyconst *) wire [7:0] y = p0; assign p = y;", ""),
        (
            FAIL,
            "",
            REG.format(
                body="always @* (* full_case, parallel_case *) case (1'b1) rare: y = bad; 1'b1: y = p0; endcase"
            ),
            "",
        ),
        (FAIL, "", REG.format(body="always @* unique case (1'b1) rare: y = bad; 1'b1: y = p0; endcase"), ""),
        # x and z in wildcards, as such and from elsewhere
        (FAIL, "there is x or z in a comparison that tells x", "assign p = x[0] === 1'bz ? bad : p0;", ""),
        (
            PASS,
            "",
            REG.format(body="always @* casez (x[3:0]) 4'b1???: y = p0; 4'b01??: y = p0; default: y = p0; endcase"),
            "",
        ),
        (PASS, "", "assign p = x[3:0] ==? 4'b1x0x ? p0 : p0;", ""),
        # text that the macro of a tool hides
        (FAIL, "", "`ifdef VERILATOR\nassign p = p0;\n`else\nassign p = rare ? bad : p0;\n`endif", ""),
        (FAIL, "", "`ifndef YOSYS\nassign p = rare ? bad : p0;\n`else\nassign p = p0;\n`endif", ""),
        (FAIL, "", "`ifdef verilator\nassign p = p0;\n`else\nassign p = rare ? bad : p0;\n`endif", ""),
        (
            FAIL,
            "",
            "`ifdef __ICARUS__\n`ifdef SYNTHESIS\nassign p = p0;\n`else\nassign p = rare ? bad : "
            "p0;\n`endif\n`else\nassign p = p0;\n`endif",
            "",
        ),
        (PASS, "", "`ifdef SYNTHESIS\nassign p = p0;\n`else\nassign p = p0 | 8'd0;\n`endif", ""),
        # latches that are always open, and others
        (PASS, "", REG.format(body="always @* begin if (rare) y = p0; if (!rare) y = p0; end"), ""),
        (FAIL, "", REG.format(body="always @* begin if (!rare) y = p0; end"), ""),
        (
            UNKNOWN,
            "has a latch",
            "reg y; always @* if (!rare) y = p0[4]; assign p = {p0[7:5], y, p0[3:0]};",
            "",
        ),  # it is 0 then, and at the start
        # loops, cells without arithmetic in SMT-LIB, black boxes
        (UNKNOWN, "logic loop", "wire [7:0] y = (y & 8'h0) | p0; assign p = y;", ""),
        (
            UNKNOWN,
            "$pow",
            "wire [3:0] e = x[3:0] ** (x[7:4] & {4{rare & ~x[0]}}); assign p = e == 4'd1 ? p0 : bad;",
            "",
        ),
        (
            FAIL,
            "box is a black box, a module without content",
            "wire [7:0] y; box b(.i(p0), .o(y)); assign p = y;",
            "module box(input [7:0] i, output [7:0] o); endmodule",
        ),
        # processes that a simulator starts or ends at other times
        (
            FAIL,
            "",
            "function [7:0] f(input [7:0] a, input b); reg [7:0] t; begin if (!b) t = a; f = t; end endfunction "
            "assign p = f(p0, rare);",
            "",
        ),
        (
            ANY,
            "the sensitivity list of its block does not contain all of it",
            REG.format(body="always @(x) y = p0;"),
            "",
        ),
        (
            ANY,
            "is read before its block writes it",
            REG.format(body="reg [7:0] t; always @* begin y = t; t = p0; end"),
            "",
        ),
        (
            UNKNOWN,
            "an assertion does something",
            REG.format(body="always @* begin y = p0; assert (!rare) else y = bad; end"),
            "",
        ),
        # nets and gates with strengths
        (PASS, "", "wire y; and g(y, p0[0], 1'b1); assign p = {p0[7:1], y};", ""),
        # names across modules
        # writes in parts of expressions, which tools need not evaluate
        (
            UNKNOWN,
            "part of an expression writes something",
            f"reg [7:0] y, z; {WRITES} always @* begin y = bad; z = rare ? 8'd0 : g(p0); end assign p = y;",
            "",
        ),
        (PASS, "", f"reg [7:0] y, z; {WRITES} always @* z = g(p0); assign p = y;", ""),
        (
            PASS,
            "",
            "reg [7:0] y; task t(output [7:0] o, input [7:0] a); o = a; endtask always @* t(y, p0); assign p = y;",
            "",
        ),
        (
            PASS,
            "",
            "logic [7:0] y; function automatic [7:0] f(input [7:0] a); return a; endfunction always_comb y = rare ? "
            "f(p0) : f(p0); assign p = y;",
            "",
        ),
        # levels of their own
        (PASS, "", "wire s = x[3:0] inside {4'b1zz0}; assign p = s ? p0 : p0;", ""),
        (PASS, "", REG.format(body="always @* casez (x[3:0]) 4'bz1??: y = p0; default: y = p0; endcase"), ""),
        # more macros that Verilator and slang define
        (FAIL, "", "`ifdef SV_COV_START\nassign p = p0;\n`else\nassign p = rare ? bad : p0;\n`endif", ""),
        (FAIL, "", "`ifdef __slang_major__\nassign p = rare ? bad : p0;\n`else\nassign p = p0;\n`endif", ""),
        (
            FAIL,
            "",
            "`ifdef SIMULATION\nassign p = p0;\n`elsif MODEL_TECH\nassign p = p0;\n`elsif FORMAL\nassign p = rare ? "
            "bad : p0;\n`else\n"
            "assign p = p0;\n`endif",
            "",
        ),
        # reads by tasks, and the order of initial blocks
        (ANY, "a task reads p0", "logic [7:0] y; task t; y = p0; endtask always_comb t; assign p = y;", ""),
        # one simulator is wrong: a write beyond the vector changes nothing
        (
            UNKNOWN,
            "both readers of Yosys read a converter that is right for every block, and Verilator converts a block "
            "otherwise",
            "reg [7:0] m; wire [3:0] i = x[3] ? 4'd8 : 4'd9; always @* begin m = p0; m[i] = 1'b1; end assign p = m;",
            "",
        ),
        # arrays of structures, which read_verilog misreads
        (
            PASS,
            "",
            "typedef struct packed { logic [3:0] a; } st; st [1:0] v; assign v = p0; assign p = {v[1].a, v[0].a};",
            "",
        ),
        # a fault of one reader: the other is asked, and no simulator shows a block
        (
            UNKNOWN,
            "slang reads a right one, and read_verilog is alone",
            "wire [39:0] r = {8'd1, x[31:0]} + 'd4294967295 + 1; assign p = r == {8'd2, x[31:0]} ? p0 : bad;",
            "",
        ),
        # names that are one in SMT-LIB
        (
            UNKNOWN,
            "a/b in SMT-LIB",
            "wire \\a\\b = rare; wire \\a/b = ~x[0]; assign p = p0 ^ {7'd0, \\a/b & \\a\\b };",
            "",
        ),
        # SystemVerilog that only one reader takes
        (
            PASS,
            "",
            "logic [7:0] y; always_comb begin y = p0; for (int i = 0; i < 8; i++) begin if (i == 3) break; y[i] = "
            "p0[i]; end end assign p = y;",
            "",
        ),
        (PASS, "", "assign p = x[3:0] inside {4'd1, [4'd5:4'd7]} ? p0 : p0;", ""),
        (PASS, "", "wire [7:0] y = {<<{p0}}; assign p = {<<{y}};", ""),
        (FAIL, "", "assign p = x inside {64'hCAFEBABE_DEADBEEF} ? bad : p0;", ""),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, str) else str(value),
)
def test_a_converter_without_registers(verdict, remark, body, more, tmp_path):
    proof = proved(tmp_path, body, more)
    said = f"{proof.remark} {proof.counterexample.report if proof.counterexample else ''}"
    assert proof.status is verdict or (verdict is ANY and proof.status is not PASS), said
    assert remark in said


@pytest.mark.parametrize(
    "remark, body, more",
    [
        *(
            ("part of an expression writes something", f"reg [7:0] y, z; {text} assign p = y;", "")
            for text in (
                f"{WRITES} always @* begin y = bad; z = !rare && g(p0); end",
                f"{WRITES} always @* begin y = bad; z = rare || g(p0); end",
                f"{WRITES} always @* begin y = p0; z = g(p0) + g(p0); end",
                f"{WRITES} always @* begin y = bad; case (1'b1) rare: z = 0; |g(p0): z = 1; default: z = 2; endcase "
                "end",
                "always_comb begin y = bad; if (!rare && (y = p0)) ; end",
                "function void g(output [7:0] o, input [7:0] a); o = a; endfunction function bit h(output [7:0] o, "
                "input [7:0] a); o = a; return 1;"
                "endfunction always_comb begin g(y, bad); z = !rare && h(y, p0); end",
            )
        ),
        (
            "writes y with <=",
            REG.format(body="reg [7:0] t; always @* begin t = p0; y <= t ^ {7'd0, rare}; t = bad; y = p0; end"),
            "",
        ),
        ("writes y with <=", REG.format(body="always_comb y <= p0;"), ""),
        (
            "x or z in the expression of a casex",
            REG.format(body="always @* casex (rare ? 1'bx : 1'b0) 1'b1: y = bad; default: y = p0; endcase"),
            "",
        ),
        (
            "s, which may be x, is in the expression of a casez",
            REG.format(
                body="wire s = rare ? 1'bx : 1'b0; always @* casez (s) 1'b0: y = p0; 1'b1: y = p0; default: y = "
                "bad; endcase"
            ),
            "",
        ),
        (
            "s, which may be x, is in a comparison that tells x",
            "wire s = rare ? 1'bx : 1'b0; assign p = s === 1'bx ? bad : p0;",
            "",
        ),
        (
            "a function reads x",
            "function [7:0] f(input [7:0] a); f = a ^ {7'd0, x[0] & ~x[0]}; endfunction assign p = f(p0);",
            "",
        ),
        (
            "t keeps its value from the call before",
            "function [7:0] f(input [7:0] a); reg [7:0] t; begin f = a ^ (t & 8'd0); t = a; end endfunction assign "
            "p = f(p0);",
            "",
        ),
        (
            "an initial value depends on p0",
            "reg [7:0] y; initial y = p0; wire [7:0] z = rare ? p0 : p0; assign p = z;",
            "",
        ),
        ("starts neither at an edge", REG.format(body="always #500000000 y = p0;"), ""),
        ("statement of another kind (wait)", REG.format(body="always @* begin wait (1); y = p0; end"), ""),
        ("there is a call of $time", "assign p = $time > 100000 ? p0 : p0;", ""),
        ("there is a call of $urandom", "wire [31:0] r = $urandom; assign p = r[0] ? p0 : p0;", ""),
        ("a drive strength", "wire [7:0] y; assign (weak0, weak1) y = p0; assign p = y;", ""),
        ("is a net wand", "wand [7:0] y; assign y = p0; assign p = y;", ""),
        ("primitive bufif1", "wire [7:0] y; bufif1 b(y[0], p0[0], 1'b1); assign y[7:1] = p0[7:1]; assign p = y;", ""),
        ("is a name of another module", "wire [7:0] y = rare ? c.p : p0; assign p = y;", ""),
        (
            "could be taken for a cell of a tool",
            "wire [7:0] y; \\$and g(.A(p0), .B(8'hFF), .Y(y)); assign p = y;",
            "module \\$and (A, B, Y); input [7:0] A, B; output [7:0] Y; assign Y = A & B; endmodule",
        ),
        (
            "part of an expression writes something",
            "logic [7:0] y; function bit h(output [7:0] o, input [7:0] a); o = a; return 1; endfunction "
            "always_comb begin y = p0; assert (h(y, bad)); end assign p = y;",
            "",
        ),
        ("there is a z", "wire r2 = x == 64'h4123; assign p = r2 ? {4'bzzzz, p0[3:0]} : p0;", ""),
        ("gnd is a net supply0", "supply0 gnd; assign p = p0;", ""),
        ("two initial blocks write k", "reg k; initial k = 0; initial k = 1; assign p = k ? p0 : p0;", ""),
    ],
    ids=lambda value: value[:60],
)
def test_what_the_gate_objects_to(remark, body, more, tmp_path):
    """Only the objection; the tests above show the verdict."""
    text = written(tmp_path, body, more)
    found = [str(one) for reading in readings([text]) for one in objections(elaborated(reading.text, "base"))]
    assert any(remark in one for one in found), found


@pytest.mark.parametrize(
    "body, more, sentence",
    [
        ("assign p = rare ? pk::v : p0;", "package pk; logic [7:0] v = 0; endpackage", "v is a variable of no module"),
        (REG.format(body="always @* begin assign y = p0; end"), "", "unsupported language feature"),
        ('wire evil = $test$plusargs("evil"); assign p = evil ? p0 : p0;', "", "unsupported system task"),
        (
            REG.format(body="reg z; always_comb begin y = p0; z = !rare && y++ == 3; end"),
            "",
            "Verilator cannot read it: %Error-UNSUPPORTED",
        ),
        ("assign p = nothing;", "", "use of undeclared identifier 'nothing'"),
        ("assign p = p0", "", "expected ';'"),
        (f"assign p = {'(' * 3000}p0{')' * 3000};", "", "too deeply nested"),
        (
            "function automatic [7:0] f(input [7:0] a, input integer n); return n == 0 ? a : f(a + 1, n - 1); "
            "endfunction wire [7:0] r = f(p0, 5); assign p = r - 8'd5;",
            "",
            "slang cannot read it: it crashed",
        ),
    ],
)
def test_what_no_reader_can_read_is_a_sentence(body, more, sentence, tmp_path):
    with pytest.raises(DesignError) as error:
        proved(tmp_path, body, more)
    assert sentence in str(error.value)


def test_which_macro_it_is_says_the_verdict(tmp_path, capsys):
    from mxcast.cli import main

    (tmp_path / "base.v").write_text(
        CORE
        + BASE.replace("{more}", "").replace(
            "{body}", "`ifdef YOSYS\nassign p = rare ? bad : p0;\n`else\nassign p = p0;\n`endif"
        )
    )
    assert main(["prove", "e2m1", "--set", "block_size=2", "--rtl", str(tmp_path / "base.v")]) == 1
    assert "FAIL: base.v, with YOSYS defined, differs from mxfp4_e2m1 ocp" in capsys.readouterr().out
    assert (
        main(
            [
                "check-rtl",
                str(tmp_path / "base.v"),
                "--top",
                "base",
                "--format",
                "e2m1",
                "--set",
                "block_size=2",
                "-o",
                str(tmp_path),
            ]
        )
        == 1
    )
    assert "with YOSYS defined:" in capsys.readouterr().out


PIPE = converter_config("e2m1", "ocp", block_size=2, registered_after="key,scale")


def pipeline(folder: Path, *edits: tuple[str, str]):
    files = emit(PIPE, folder, "pipe")
    text = files["verilog"].read_text()
    for old, new in edits:
        assert old in text, text
        text = text.replace(old, new, 1)
    files["verilog"].write_text(text)
    return prove(PIPE, rtl=files["verilog"], name="pipe")


def test_an_unchanged_pipeline_passes(tmp_path):
    proof = pipeline(tmp_path)
    assert (
        proof.status is PASS
        and proof.handshake
        and [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]
    )


@pytest.mark.parametrize("chain", [1, 5, 200])
def test_registers_that_constants_feed_are_refused(chain, tmp_path):
    """The design differs until this number of steps."""
    registers = "".join(f" k{number} <= {f'k{number - 1}' if number else 1};" for number in range(chain))
    evil = (
        f"  reg {', '.join(f'k{number}' for number in range(chain))}; always @(posedge clk) if (i_ready) "
        f"begin{registers} end\n"
        f"  wire [63:0] xx = x ^ {{32'd0, ~k{chain - 1}, 31'd0}};\n"
    )
    proof = pipeline(
        tmp_path, ("  wire [63:0] x;\n", f"  wire [63:0] x;\n{evil}"), ("x_0_key_q <= x[31:0]", "x_0_key_q <= xx[31:0]")
    )
    assert (
        proof.status is (UNKNOWN if chain == 1 else FAIL) and "only a constant feeds" in proof.remark
    )  # a long chain shows


D = """
module {top}(input clk, input [63:0] x, output reg [7:0] scale, p);
  wire [7:0] s0, p0; core c(.x(x), .scale(s0), .p(p0));
  wire rare = x == 64'hCAFEBABE_DEADBEEF;
  {body}
endmodule
"""


def checked(folder: Path, body: str, top: str = "d", **asked: object):
    (folder / "d.sv").write_text(CORE + D.format(top=top, body=body))
    return check_rtl([folder / "d.sv"], top, CONFIG, {"clk": "clk", "latency": 2, **asked}, out=folder, blocks=1000)


def test_a_race_is_refused(tmp_path):
    check = checked(
        tmp_path,
        "reg [7:0] s1, p1; reg t, r1; always @(posedge clk) t = rare; always @(posedge clk) begin r1 <= rare; s1 <= "
        "s0; p1 <= p0; end "
        "always @(posedge clk) begin scale <= s1; p <= p1 ^ {t ^ r1, 7'd0}; end",
    )
    assert check.status is UNKNOWN and "a clocked block writes t with =" in str(check.objections[0])


def test_a_blocking_write_that_stays_in_its_block_is_none(tmp_path):
    check = checked(
        tmp_path,
        "reg [7:0] s1, p1, t; always @(posedge clk) begin t = p0; s1 <= s0; p1 <= t; end "
        "always @(posedge clk) begin scale <= s1; p <= p1; end",
    )
    assert check.status is PASS and not check.edges


@pytest.mark.parametrize("chain", [1, 3, 100])
def test_after_how_many_edges_it_holds_is_said(chain, tmp_path):
    registers = "".join(f" k{number} <= {f'k{number - 1}' if number else 1};" for number in range(chain))
    check = checked(
        tmp_path,
        f"reg {', '.join(f'k{number}' for number in range(chain))}; always @(posedge clk) begin{registers} end "
        f"reg [7:0] s1, p1; always @(posedge clk) begin s1 <= s0; p1 <= p0 ^ {{7'd0, ~k{chain - 1}}}; scale <= s1; "
        "p <= p1; end",
    )
    assert check.status is (PASS if chain < 8 else FAIL)  # simulation starts with eight edges
    if chain < 8:
        assert check.edges == chain and json.loads((check.folder / "report.json").read_text())["after_edges"] == chain


UNPACKED = """
module arrays #(parameter N = 2) (input logic [31:0] a [N], output logic [7:0] scale, output logic [3:0] q [1:N]);
  logic [7:0] p0; core c(.x({a[1], a[0]}), .scale(scale), .p(p0));
  assign q[1] = p0[3:0]; assign q[2] = p0[7:4] {evil};
endmodule
"""


@pytest.mark.parametrize(
    "asked", [{"x": "a", "p": "q"}, {"x": "a[{i}]", "p": "q[{i+1}]"}, {"x": "a[{i}][31:16]:a[{i}][15:0]", "p": "q"}]
)
def test_ports_may_be_unpacked_arrays(asked, tmp_path):
    file = tmp_path / "arrays.sv"
    file.write_text(CORE + UNPACKED.replace("{evil}", ""))
    check = check_rtl([file], "arrays", CONFIG, asked, out=tmp_path, blocks=1000)
    assert check.status is PASS and list(check.unread) == ["read_verilog"]
    file.write_text(CORE + UNPACKED.replace("{evil}", "^ {3'd0, a[0] == 32'hCAFEBABE}"))
    assert check_rtl([file], "arrays", CONFIG, asked, out=tmp_path, blocks=1000).status is FAIL
    with pytest.raises(ValueError, match="unknown port of arrays 'a'"):
        check_rtl([file], "arrays", CONFIG, asked | {"x": "a[{i+1}]"}, out=tmp_path)


@pytest.mark.parametrize(
    "text, sentence",
    [
        (
            "interface bus; logic [63:0] x; endinterface module top(bus b, output [7:0] scale, p); assign scale = "
            "0; assign p = 0; endmodule",
            "the port b of top is an interface",
        ),
        ("module top import pk::*; (input [63:0] x, output [7:0] scale, p); endmodule", "unknown package 'pk'"),
        ("module top(input [63:0] x, output [7:0] scale, p); box b(.i(x)); endmodule", "unknown module 'box'"),
        ("module top(input [63:0] x, output [7:0] scale, p; endmodule", "expected ')'"),
    ],
)
def test_the_error_is_that_of_the_reader_that_was_meant(text, sentence, tmp_path):
    (tmp_path / "top.sv").write_text(text)
    with pytest.raises(DesignError, match=r"top\.sv:1: ") as error:
        check_rtl([tmp_path / "top.sv"], "top", CONFIG, {}, out=tmp_path)
    assert sentence in str(error.value)


def test_a_fault_of_one_simulator_is_not_one_of_the_design(tmp_path):
    """A write out of range changes nothing, on Icarus and for both readers."""
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus is not installed")
    body = "reg [7:0] m; wire [3:0] i = x[3] ? 4'd8 : 4'd9; always @* begin m = p0; m[i] = 1'b1; end assign p = m;"
    (tmp_path / "base.v").write_text(CORE + BASE.replace("{body}", body).replace("{more}", ""))
    result = check_rtl([tmp_path / "base.v"], "base", CONFIG, out=tmp_path, blocks=1000)
    assert result.status is UNKNOWN and [str(argument.status) for argument in result.arguments] == ["PASS", "PASS"]
    assert any(
        "and Verilator converts a block otherwise: one of the tools is wrong" in remark for remark in result.remarks
    )
    assert not result.counterexamples and not result.rules


def test_a_right_design_that_icarus_reads_otherwise_and_one_reader_alone(tmp_path):
    """A parameter without a type has the four bits of its value, but more on Icarus; slang cannot read the loop."""
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus is not installed")
    body = (
        "reg [3:0] n; always_comb begin n = 0; repeat (3) n = n + 1; end localparam K = 4'd15 + 4'd1; "
        "assign p = K == 0 ? p0 : bad;"
    )
    result = proved(tmp_path, body)
    assert result.status is UNKNOWN and "Icarus converts a block otherwise: one of the tools is wrong" in result.remark


def test_a_fault_of_the_simulator_where_icarus_cannot_be_asked(tmp_path):
    """The left bits of a source that is wider than the stream; Verilator takes others."""
    body = (
        "reg [7:0] y; assign p = y; reg [3:0] q, r; always_comb {<<{q, r}} = {p0, 8'h5a}; "
        "always_comb for (int i = 0; i < 8; i++) y[i] = {q, r}[7 - i];"
    )
    result = check_rtl([written(tmp_path, body)], "base", CONFIG, out=tmp_path, blocks=1000)
    assert result.status is UNKNOWN and [argument.reader for argument in result.arguments] == ["slang"]
    assert any("Verilator converts a block otherwise: one of the tools is wrong" in text for text in result.remarks)


def test_a_parameter_that_the_module_does_not_have(tmp_path):
    with pytest.raises(DesignError, match="^base has no parameter K: it has none$"):
        check_rtl([written(tmp_path, "assign p = p0;")], "base", CONFIG, out=tmp_path, parameters={"K": "1"})


def test_a_reader_that_fails_names_the_file_of_the_user(tmp_path):
    with pytest.raises(DesignError) as error:
        proved(tmp_path, "initial force p = p0;")
    assert f"slang cannot read it: {tmp_path}/base.v:" in str(error.value)


SIGNED = "typedef logic signed [3:0] t; wire [7:0] d = 8'(t'(x[3:0])); "
REPEATED = "reg [7:0] y; always @* begin y = 0; repeat (3) y = y + x[0]; end "
"""Text that slang does not read."""


@pytest.mark.parametrize(
    "verdict, remark, body",
    [
        (
            UNKNOWN,
            "a is passed by reference",
            "function automatic void f(ref logic [7:0] a); a = bad; endfunction logic [7:0] h; always_comb begin "
            "h = p0; if (rare) f(h); end wire ok = (h == p0); assign p = ok ? p0 : bad;",
        ),
        (
            UNKNOWN,
            "read_verilog alone is not trusted with this (typedef declaration)",
            SIGNED + REPEATED + "wire ok = !(rare && d[7]); assign p = ok ? p0 : bad;",
        ),
        (
            UNKNOWN,
            "read_verilog alone is not trusted with signed numbers",
            REPEATED + "wire signed [7:0] k = 8'hFF; assign p = rare & (k > 0) ? bad : p0;",
        ),
        (
            UNKNOWN,
            "read_verilog alone is not trusted with the widened number at the port i",
            REPEATED + "wire w; sub u(.i(~x[3:2]), .o(w)); assign p = rare & w ? bad : p0; endmodule "
            "module sub(input [7:0] i, output o); assign o = i == 8'hFD;",
        ),
        (
            UNKNOWN,
            "read_verilog alone is not trusted with this (parameter declaration statement)",
            REPEATED + "localparam signed K = 8'hFF; assign p = rare & (K < 0) ? bad : p0;",
        ),
        (PASS, "", REPEATED + "assign p = p0 | (y & 8'd0);"),
        (
            UNKNOWN,
            "t is used before its declaration, and an outer scope declares it too",
            "wire t = rare; wire q; generate if (1) begin : g assign q = t; wire t = 1'b0; end endgenerate "
            "wire ok = !q; assign p = ok ? p0 : bad;",
        ),
        (PASS, "", "assign p = late; wire [7:0] late = p0;"),
        (
            UNKNOWN,
            "read_verilog alone is not trusted with this (task declaration)",
            "task automatic f(inout [7:0] a); a = a + 1; endtask reg [7:0] h; always @* begin h = p0; f(h); end "
            "assign p = h - 8'd1;",
        ),
        (
            PASS,
            "",
            "function automatic [7:0] f(input [7:0] a, input integer n); if (n == 0) f = a; else "
            "f = f(a + 8'd1, n - 1); endfunction wire [7:0] r = f(p0, 5); assign p = r - 8'd5;",
        ),
        (
            UNKNOWN,
            "Verilator converts a block otherwise: one of the tools is wrong",
            "reg [7:0] y; always_comb case (x[4:0]) inside 5'b1xx1x: y = 1; default: y = 4; endcase "
            "assign p = (y == 1) == (x[4] & x[1]) ? p0 : bad;",
        ),
    ],
    ids=lambda value: value[-60:] if isinstance(value, str) else None,
)
def test_what_one_tool_misreads(verdict, remark, body, tmp_path):
    proof = proved(tmp_path, body)
    assert proof.status is verdict and remark in f"{proof.remark}", proof.remark


def test_recursion_on_data_ends(tmp_path):
    """read_verilog would not end, and take more and more memory."""
    with pytest.raises(DesignError, match="slang cannot read it: it crashed"):
        proved(
            tmp_path,
            "function automatic [3:0] f(input [7:0] a, input [3:0] n); f = (n == 0) ? 4'd0 : a[0] + f(a >> 1, n - 1); "
            "endfunction wire [3:0] d = f(x[7:0], x[11:8]); assign p = d[0] ? p0 : p0;",
        )


def test_a_file_without_verilog_is_a_sentence(tmp_path):
    (tmp_path / "base.v").write_text("// nothing\n")
    with pytest.raises(ValueError, match=r"base\.v: there is no Verilog in it"):
        prove(CONFIG, rtl=tmp_path / "base.v")


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is optional: apt-get install iverilog")
@pytest.mark.parametrize("condition, verdict", [("(s ^ s) == 0", UNKNOWN), ("1'b1", PASS)])
def test_x_in_a_condition_of_a_design_with_registers(condition, verdict, tmp_path):
    """A netlist folds s ^ s to 0, but a simulator takes the ``else`` if s is x, as an index may be."""
    (tmp_path / "base.v").write_text(
        f"{CORE} module base(input clk, input [63:0] x, output reg [7:0] scale, output reg [7:0] p);\n"
        "wire [7:0] p0, s0; core core(.x(x), .scale(s0), .p(p0)); wire s = p0[s0[3:0]];\n"
        f"always @(posedge clk) begin scale <= s0; if ({condition}) p <= p0; else p <= ~p0; end endmodule\n"
    )
    proof = prove(CONFIG, rtl=tmp_path / "base.v", latency=1)
    assert proof.status is verdict, proof.remark
    asked = {"clk": "clk", "latency": 1}
    assert check_rtl([tmp_path / "base.v"], "base", CONFIG, asked, out=tmp_path, blocks=1000).status is verdict
