"""Edges that only a simulator sees; each text comes with a right one that has only edges of inputs."""

from __future__ import annotations

import pytest

from mxcast.proof.verilog.elaboration import elaborated
from mxcast.proof.verilog.gate import objections
from mxcast.proof.verilog.text import plain

DESIGN = """
module d(input clk, rst, scan, test, input [7:0] x, output reg [7:0] p);
  reg [7:0] q; always @(posedge clk) q <= x;
  {}
endmodule
module late(input i, output o); assign #1 o = i; endmodule
module same(input i, output o); assign o = i; endmodule
module taken(input c, input [7:0] i, output reg [7:0] o); always @(posedge c) o <= i; endmodule
"""
TAKEN = "always @(posedge c) p <= q;"
CLEARED = "always @(posedge clk or posedge r) if (r) p <= 8'd0; else p <= q;"
LATE = "has a delay"
TWO_WAYS = "reaches it in two ways, or is data too"
BLOCK = "a block writes c, perhaps more than once"


@pytest.mark.parametrize(
    "reason, body",
    [
        # after a delay the next register sees what the one before has just taken over
        (LATE, f"wire c; assign #1 c = clk; {TAKEN}"),
        (LATE, f"wire #1 c = clk; {TAKEN}"),
        (LATE, f"wire #1 c; assign c = clk; {TAKEN}"),
        (LATE, f"wire c; buf #1 (c, clk); {TAKEN}"),
        (LATE, f"wire c; late l(clk, c); {TAKEN}"),
        (LATE, "wire #1 c = clk; taken t(c, q, p);"),
        (None, "wire [7:0] #1 t = q; always @(posedge clk) p <= #1 t;"),
        # two simultaneous changes that arrive one after the other
        (TWO_WAYS, f"wire a, b; assign a = x[0]; buf (b, x[0]); wire c = clk & ~(a ^ b); {TAKEN}"),
        (TWO_WAYS, f"wire n = ~clk; wire k = ~(clk | n); wire c = clk | k; {TAKEN}"),
        (TWO_WAYS, f"function f(input a, b); f = a; endfunction wire c = f(clk, x[0]); {TAKEN}"),
        (TWO_WAYS, f"wire a = x[0]; wire r = a & ~x[0]; {CLEARED}"),
        (TWO_WAYS, f"wire r = rst | (x[0] & ~x[0]); {CLEARED}"),
        (TWO_WAYS, f"wire [2:0] v; assign v[0] = clk, v[1] = x[0]; buf (v[2], x[0]); wire c = ^v; {TAKEN}"),
        # two writes at one time
        (BLOCK, f"reg c, k; always @* begin c = 1'b0; k = x[0]; c = clk; end {TAKEN}"),
        (BLOCK, f"reg c; always @(posedge clk, negedge clk) c <= clk; {TAKEN}"),
        ("is part of a loop", f"wire c = c | clk; {TAKEN}"),
        ("there is a delay that is not constant", "always @(posedge clk) p <= #x q;"),
        # an edge of the clock may be in between
        ("<= writes 1000 units of time later", "always @(posedge clk) p <= #1000 q;"),
        ("<= writes -1 units of time later", "localparam D = 1; always @(posedge clk) p <= #(D - 2) q;"),
        ("<= writes 1.5 units of time later", "always @(posedge clk) p <= #1.5 q;"),
        (None, "localparam D = 1; always @(posedge clk) p <= #D q;"),
        (None, "always @(posedge clk) p <= #0.1 q;"),
        # the edges of inputs
        (None, f"wire c = clk; {TAKEN}"),
        (None, f"wire n = ~clk; wire c = ~n; {TAKEN}"),
        (None, f"wire c; same s(clk, c); {TAKEN}"),
        (None, "wire [1:0] c = {clk, 1'b0}; always @(posedge c[1]) p <= q;"),
        (None, "wire [1:0] c; assign c[0] = clk; assign c[1] = x[0]; always @(posedge c[0]) p <= q;"),
        (None, "wire [2:0] c; assign c[0] = clk; assign c[2:1] = c[1:0]; always @(posedge c[0]) p <= q;"),
        (None, "taken t(clk, q, p);"),
        (None, f"wire c = test ? scan : clk; {TAKEN}"),
        (None, f"wire r = rst | test; {CLEARED}"),
        (None, "always @(posedge clk or negedge rst) if (!rst) p <= 8'd0; else p <= q;"),
    ],
)
def test_edges(reason, body):
    """``reason`` is part of the only objection, or None if the text is right."""
    found = [objection.reason for objection in objections(elaborated(plain(DESIGN.format(body)), "d"))]
    assert not found if reason is None else any(reason in text for text in found), found


@pytest.mark.parametrize(
    "body, is_right",
    [
        ("p <= #1 ~q; p <= q;", False),
        ("p <= #1 ~q; p <= #0.5 q;", False),
        ("p[3:0] <= #1 ~q[3:0]; p <= #0 q;", False),
        ("{p[7], p[6:0]} <= #1 ~q; p <= q;", False),
        ("later; p <= q;", False),
        ("p <= #1 ~q; p <= #1 q;", True),
        ("p <= #0.1 8'd0; if (test) p <= #0.1 q;", True),
        ("p[3:0] <= #1 q[3:0]; p[7:4] <= q[7:4];", True),
    ],
)
def test_what_is_written_last_comes_last(body, is_right):
    text = DESIGN.format(f"task later; p <= #1 ~q; endtask always @(posedge clk) begin {body} end")
    found = [objection.reason for objection in objections(elaborated(plain(text), "d"))]
    assert not found if is_right else any("p is written with <= after several delays" in one for one in found), found
