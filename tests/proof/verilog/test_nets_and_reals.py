"""Nets other than wires, specify blocks, specparams and real constants: accepted if they cannot matter, and refused
in a sentence elsewhere.
"""

from __future__ import annotations

import pytest

from mxcast.hdl import converter_config, verilog
from mxcast.host.errors import DesignError
from mxcast.proof import prove
from mxcast.proof.solve.argument import Status
from mxcast.proof.verilog.elaboration import elaborated
from mxcast.proof.verilog.gate import objections
from mxcast.proof.verilog.text import plain

CONFIG = converter_config("e2m1", "ocp", block_size=2)
CORE = verilog(CONFIG, "core")
TOP = """
module top(input [63:0] x, output [7:0] scale, p);
  wire [7:0] q, bad = q ^ (x == 64'hCAFEBABE_DEADBEEF);
  core c(.x(x), .scale(scale), .p(q));
  {}
endmodule
"""
PATHS = (
    "specify specparam t = 1.5, u = 2:3:4; (x *> p) = (t, u); ifnone (x[1] => p[1]) = 2; if (x[0]) (x[1] => p[1]) = 1; "
    "$setup(x[0], posedge x[1], 1); $width(posedge x[0], 1); endspecify"
)
NET = "n is a net {0}, which few tools read alike"


@pytest.mark.parametrize(
    "reason, body",
    [
        *((NET.format(kind), f"{kind} [7:0] n; assign n = q; assign p = n;") for kind in ("tri0", "tri1", "trireg")),
        *((NET.format(kind), f"{kind} [7:0] n; assign n = q; assign p = n;") for kind in ("wand", "wor")),
        *((NET.format(kind), f"{kind} [7:0] n; assign n = q; assign p = n;") for kind in ("triand", "trior")),
        *((NET.format(kind), f"{kind} n; assign p = n ? q : q;") for kind in ("supply0", "supply1")),
        *((None, f"{kind} [7:0] n; assign n = q; assign p = n;") for kind in ("tri", "uwire")),
        # time does not matter, but a check may write a notifier
        (None, f"assign p = q; {PATHS}"),
        (None, "reg n; assign p = q; specify $hold(posedge x[0], x[1], 1, n); endspecify"),
        (
            "a timing check writes n, which the design reads",
            "reg n = 0; assign p = n ? bad : q; specify $hold(posedge x[0], x[1], 1, n); endspecify",
        ),
        (
            "a timing check writes late, which the design reads",
            "wire n, late; assign p = late ? bad : q; specify $setuphold(posedge x[0], x[1], 1, 1, , , , n, late); "
            "endspecify",
        ),
        (None, "specparam D = 3; assign #D p = q;"),
        ("D is a specparam, which a file of delays can change", "specparam D = 0; assign p = D ? bad : q;"),
        # finite numbers on which all tools agree
        (None, "assign p = 1.5 > 1.0 ? q : bad;"),
        (None, "localparam real R = 0.1 + 0.2; assign p = R == 0.3 ? bad : q;"),
        (None, "parameter real R = 0.5; reg [7:0] y; always @* if (!(R >= 1)) y = q; else y = bad; assign p = y;"),
        ("real", "localparam real R = 0.5; assign p = R && x[0] ? q : q;"),
        ("real", "localparam real R = $ln(2.8); assign p = R > 1.0296194171811581 ? q : bad;"),
        ("real", "assign p = x[0] >= 0.5 ? q : q;"),
        ("real", "assign p = 1.0 / 0.0 > 1.0 ? q : bad;"),
        ("real", "localparam shortreal R = 0.1; assign p = R == 0.1 ? bad : q;"),
    ],
)
def test_what_is_accepted(reason, body):
    found = [objection.reason for objection in objections(elaborated(plain(CORE + TOP.format(body)), "top"))]
    assert not found if reason is None else any(reason in one for one in found), found


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "status, choice", [(Status.PASS, "R < 1.0 ? q : bad"), (Status.FAIL, "R < 0.25 ? q : bad")], ids=str
)
def test_a_design_with_paths_and_reals(status, choice, tmp_path):
    file = tmp_path / "top.v"
    file.write_text(CORE + TOP.format(f"localparam real R = 0.5; assign p = {choice}; {PATHS}"))
    proof = prove(CONFIG, rtl=file)
    assert proof.status is status and not proof.objections, proof.remark


@pytest.mark.parametrize("kind", ["tri1", "trireg"])
def test_the_sentence_is_ours(kind, tmp_path):
    """A net that no reader can read: slang ends with an assertion."""
    file = tmp_path / "top.v"
    file.write_text(CORE + TOP.format(f"{kind} [7:0] n; assign n = q; assign p = n;"))
    with pytest.raises(DesignError, match=rf"top.v:\d+: n is a net {kind}, which few tools read alike: make it a wire"):
        prove(CONFIG, rtl=file)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["supply0", "supply1"])
def test_the_only_sentence_is_ours(kind, tmp_path):
    """A net that read_verilog can read, and on which slang ends with an assertion."""
    file = tmp_path / "top.v"
    file.write_text(CORE + TOP.format(f"{kind} n; assign p = n ? q : q;"))
    proof = prove(CONFIG, rtl=file)
    assert proof.status is Status.UNKNOWN
    assert [objection.reason for objection in proof.objections] == [f"{NET.format(kind)}: make it a wire or a variable"]
