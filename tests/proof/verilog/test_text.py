"""The text that is proved: preprocessed for each tool, and without words that only some tools follow."""

from __future__ import annotations

import re

import pytest

from mxcast.proof.verilog.text import TOOLS, free_name, plain, readings

MODULE = "module t(input a, output b);\n{}\nendmodule\n"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("(* full_case *) assign b = a;", "assign b = a;"),
        ('(* note = "数 *) //", keep *) assign b = a; // (* all *)', "assign b = a;"),
        ("/* (* */ assign b = a; /* *) */", "assign b = a;"),
        ('initial $display("(* // */", /* gone */ 1);', 'initial $display("(* // */", 1);'),
        ("always_comb unique case (a) 0: b = 0; endcase", "always_comb case (a) 0: b = 0; endcase"),
        ("always_comb priority if (a) b = 0;", "always_comb if (a) b = 0;"),
        ("wire \\(*//*) ; assign b = (* x *) a;", "wire \\(*//*) ; assign b = a;"),
    ],
)
def test_what_is_left(text, expected):
    """Attributes, comments and promises are removed. Strings and escaped names stay, and so do all lines."""
    left = plain(MODULE.format(text))
    assert left.split() == MODULE.format(expected).split() and left.count("\n") == MODULE.format(text).count("\n")


@pytest.mark.parametrize(
    "body, define, macros",
    [
        ("assign b = a;", [], [""]),
        ("`ifdef VERILATOR\nassign b = a;\n`endif", [], ["VERILATOR defined", "VERILATOR not defined"]),
        ("`ifdef VERILATOR\nassign b = a;\n`endif", ["VERILATOR"], [""]),
        ("`ifdef VERILATOR\n // nothing but a comment\n`endif", [], [""]),
        ("`ifdef OTHER\nassign b = a;\n`endif", [], [""]),  # only -D defines this macro
        (
            "`ifndef SYNTHESIS\n`ifdef YOSYS\nassign b = a;\n`endif\n`endif",
            [],  # the inner one shows in one reading of the outer
            [
                "SYNTHESIS defined, YOSYS defined or SYNTHESIS defined, YOSYS not defined or SYNTHESIS not defined, "
                "YOSYS not defined",
                "SYNTHESIS not defined, YOSYS defined",
            ],
        ),
    ],
)
def test_readings(body, define, macros, tmp_path):
    file = tmp_path / "t.sv"
    file.write_text(MODULE.format(body))
    found = readings([file], define=define)
    assert sorted(sorted(reading.macros.split(" or ")) for reading in found) == sorted(
        sorted(text.split(" or ")) for text in macros
    )
    assert len({reading.text for reading in found}) == len(found)


def test_what_stands_between_conditions_of_two_tools_in_an_included_file(tmp_path):
    """Neither macro by itself changes the usual text, but Yosys, which is not Verilator, reads another text."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "inner.svh").write_text("`ifdef YOSYS\n`ifndef VERILATOR\nassign b = !a;\n`endif\n`endif")
    (tmp_path / "outer.svh").write_text('`include "inner.svh"')
    file = tmp_path / "t.sv"
    file.write_text(MODULE.format('`include "outer.svh"'))
    assert [("b = !a" in reading.text) for reading in readings([file], [tmp_path, tmp_path / "more"])] == [False, True]


@pytest.mark.parametrize(
    "body",
    [
        # strings and names that contain text without effect elsewhere
        'localparam [55:0] S = "`line "; `ifdef SYNTHESIS assign b = a; `else assign b = !a; `endif',
        "wire \\`line ; `ifdef YOSYS assign b = a; `else assign b = !a; `endif",
        'localparam [31:0] S = `ifdef SYNTHESIS "A B" `else "A  B" `endif ; assign b = S[31];',
        # macros whose names other macros build, and that matter together
        "`define CAT(a,b) a``b\nassign b = `ifdef `CAT(YO,SYS) `ifdef `CAT(FOR,MAL) ! `endif `endif a;",
        "`define CAT(a,b) a``b\nassign b = `ifdef `CAT(YO,SYS) `ifndef `CAT(SYNTH,ESIS) `ifdef `CAT(V,CS) ! `endif "
        "`endif `endif a;",
        "assign b = `ifdef COCOTB_SIM ! `endif a;",
        # macros of the standard, on simulators other than Verilator
        "assign b = `ifndef VERILATOR `ifdef SV_COV_START ! `endif `endif a;",
        "assign b = `ifdef VERILATOR a `elsif SYSTEMVERILOG !a `else a `endif ;",
    ],
)
def test_texts_that_differ_are_two(body, tmp_path):
    file = tmp_path / "t.sv"
    file.write_text(MODULE.format(body))
    assert len(readings([file])) == 2


@pytest.mark.parametrize(
    "body",
    [
        "`define A(v, w = v) v & \\\n w\nassign b = `A(a);",
        "`define A a // the end\nassign b = `A; // \\\n",
        "`define B(v) v``b\n`define A `B(a)\nwire ab = a; assign b = `A;",
        '`include "inner.vh"\nassign b = a;',
        '`ifdef C\nassign b = `C;\n`endif always @* if (a) $error("%s:%0d", `__FILE__, `__LINE__);',
        "`ifdef SV_COV_START\nassign b = a;\n`endif\n`ifdef VERILATOR\nassign b = a;\n`endif",
    ],
)
def test_preprocessors_agree(body, tmp_path):
    (tmp_path / "inner.vh").write_text("`define D\n")
    (tmp_path / "t.sv").write_text(MODULE.format(body))
    assert readings([tmp_path / "t.sv"], [tmp_path], ["C=a"])


@pytest.mark.parametrize(
    "body, sentence",
    [
        (b'localparam [7:0] S = "\xe9"; assign b = a;', "bytes that are not UTF-8"),
        (b"assign b = // \r !\n a;", "t.sv has a carriage return within a line"),
        (b'`include "inner.vh"\nassign b = a;', "inner.vh has a carriage return within a line"),
        (b"if (1) begin : \\k\x0b/*c\n assign b = a; end else begin : \\l\x0b*/ \n end", r"the character '\\x0b'"),
        (b"assign b = \x0c a;", r"the character '\\x0c'"),
        # text that the preprocessor of Verilator drops
        (
            b"assign b = a;\0 assign b = !a;",
            r"t.sv has the character '\\x00' in line 2, which ends the file for some tools",
        ),
        (b"assign b = a; // \0 the end", r"the character '\\x00'"),
        (b"assign b = a;\n\x1a assign b = !a;", r"the character '\\x1a' in line 3"),
        (b"\xef\xbb\xbfassign b = a;", r"the character '\\ufeff'"),
        ("assign b = a;\u2028".encode(), r"the character '\\u2028' outside of strings and comments"),
        ("wire \\\u00e9 ; assign b = a;".encode(), r"the character '\\xe9' outside of strings and comments"),
        (b'assign b = `__FILE__ == "t.sv" ? a : !a;', "another path to the file gives another design"),
        (
            b"`define A a // not the end \\\n assign b = 0;\nassign b = `A;",
            "ends in .: tools differ in where the macro ends",
        ),
        (
            b"`define A a & \\\n a // not the end \\\n assign b = 0;\nassign b = `A;",
            "tools differ in where the macro ends",
        ),
        (
            b"`define A(v) v\nassign b = `A(\n`ifdef B\n1\n`else\na\n`endif\n);",
            "preprocessors give different texts .*: ; or a",
        ),
        (b"`define A(n) 4'bn & a\nassign b = `A(1);", "preprocessors give different texts .*: n or 1"),
    ],
)
def test_what_tools_read_differently_is_refused(body, sentence, tmp_path):
    (tmp_path / "inner.vh").write_bytes(b"// more \r wire c;\n")
    file = tmp_path / "t.sv"
    file.write_bytes(MODULE.encode().replace(b"{}", body))
    with pytest.raises(ValueError, match=sentence):
        readings([file], [tmp_path])


def test_what_is_in_no_text_of_verilog(tmp_path):
    """A byte order mark at the start, and any characters in messages and comments."""
    file = tmp_path / "t.sv"
    body = '/* \u00e9 \u202e */ initial $display("\u00e9"); assign b = a;'
    file.write_bytes(b"\xef\xbb\xbf" + MODULE.replace("{}", body).encode())
    assert len(readings([file])) == 1


@pytest.mark.parametrize(
    "body, found",
    [
        ('initial $system("touch here");', "$system"),
        ("initial $c(1);", "$c"),
        ("wire c = $c1 (1);", "$c1"),
        ('import  "DPI-C" function int system(input string s);', 'import "DPI-C"'),
    ],
)
def test_what_runs_other_programs_is_refused(body, found, tmp_path):
    """The command is refused before a simulator would run it."""
    file = tmp_path / "t.sv"
    file.write_text(MODULE.replace("{}", body))
    with pytest.raises(ValueError, match=re.escape(f"the design has {found}, which runs other programs")):
        readings([file])


def test_what_only_looks_like_it(tmp_path):
    file = tmp_path / "t.sv"
    file.write_text(MODULE.replace("{}", 'wire \\$system ; /* $system */ initial $display("$system", $clog2(4));'))
    assert len(readings([file])) == 1


def test_a_file_may_be_called_like_an_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-d.sv").write_text(MODULE.replace("{}", "assign b = a;"))
    assert len(readings(["-d.sv"])) == 1


def test_a_message_may_name_its_file(tmp_path):
    file = tmp_path / "t.sv"
    file.write_bytes(MODULE.encode().replace(b"{}", b'// \xe9\r\ninitial $display("%s", `__FILE__); assign b = a;'))
    assert len(readings([file])) == 1


def test_more_macros_than_can_be_tried(tmp_path):
    file = tmp_path / "t.sv"
    file.write_text(MODULE.format("\n".join(f"`ifdef {macro}\n`endif" for macro in TOOLS)))
    with pytest.raises(
        ValueError,
        match=rf"^the files must ask about at most 8 macros of tools, not {len(TOOLS)} \(SYNTHESIS, .*: preprocess",
    ):
        readings([file])
    assert len(readings([file], define=TOOLS[8:])) == 1


def test_the_usual_reading_is_first(tmp_path):
    file = tmp_path / "t.sv"
    file.write_text(MODULE.format("`ifdef SYNTHESIS\nassign b = a;\n`else\nassign b = !a;\n`endif"))
    assert [("b = a" in reading.text) for reading in readings([file])] == [True, False]


def test_a_free_name():
    assert free_name("top", "module design;") == "top" and free_name("top", "module top; wire top_1;") == "top_2"
