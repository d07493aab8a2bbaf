"""Designs that lead a proof astray: text that tools read differently, values that Verilog leaves undefined, modules that stay closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxcast.hdl import verilog
from mxcast.proof import prove
from mxcast.proof.foreign import Check, check_rtl
from mxcast.proof.prove import Proof, Status
from mxcast.spec import converter_config

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
PIPELINE = "reg seldom; always @(posedge clk) begin scale <= s; p <= q ^ {7'h0, evil & seldom}; seldom <= rare; end "


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


KEPT = INNER.replace("\nmodule ", "\n(* keep_hierarchy *)\nmodule ").replace("  inner_amax_tree", "  (* keep_hierarchy *)\n  inner_amax_tree")


def test_modules_that_ask_to_be_kept_are_looked_into(tmp_path):
    assert KEPT.count("keep_hierarchy") > 4
    path = file(tmp_path, "wire evil = 1'b0;", inner=KEPT)
    assert proved(path).status is Status.PASS and checked(path).status is Status.PASS
    (tmp_path / "inner.v").write_text(KEPT)
    assert prove(CONFIG, rtl=tmp_path / "inner.v").way == "composed"
    assert prove(CONFIG, rtl=tmp_path / "inner.v", netlist="ecp5").status is Status.PASS
    wrong = KEPT.replace("key - 2'h2", "key - 2'h1")
    assert wrong != KEPT
    (tmp_path / "inner.v").write_text(wrong)
    assert prove(CONFIG, rtl=tmp_path / "inner.v").counterexample.confirmed
