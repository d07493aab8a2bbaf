"""Objections of the gate: each faulty text comes with a right one that differs in one point."""

from __future__ import annotations

import pytest

from mxcast.proof.verilog.elaboration import elaborated
from mxcast.proof.verilog.gate import objections
from mxcast.proof.verilog.text import plain

DESIGN = """
module base(input [63:0] x, output [7:0] p);
  wire [7:0] p0 = x[7:0]; wire rare = x == 64'hCAFEBABE_DEADBEEF; wire [7:0] bad = p0 ^ 8'h01;
  {}
endmodule
"""

CALLS = "function [7:0] f0(input [7:0] a); f0 = a; endfunction " + " ".join(
    f"function [7:0] f{n}(input [7:0] a); f{n} = f{n - 1}(a); endfunction" for n in range(1, 201)
)
EARLY = "is used before its declaration, and an outer scope declares it too"
BEFORE = "is read before its block writes it"
STARTS = "no change is sure to start the block"
SAYS = "an assertion or a message writes something"
OUT = "reg [7:0] y; assign p = y;"
"""The output is a variable y."""
TEMP = f"{OUT} reg [7:0] t;"
"""With a temporary variable t."""
WRITER = f"{OUT} function [7:0] g(input [7:0] a); begin y = a; g = a; end endfunction"
"""With a function that writes y."""
MAYBE_X = "wire s = rare ? 1'bx : 1'b0;"
"""A wire that is x or 0."""
GIVES_X = "function automatic f(input r); f = r ? 1'bx : 1'b0; endfunction"
"""A function that returns x or 0."""
CASEZ = f"{OUT} always @* casez (s) 1'b0: y = p0; 1'b1: y = p0; default: y = bad; endcase"
EQUAL = "assign p = (s ^ s) === 1'b0 ? p0 : bad;"
TABLE = "reg [3:0] u[0:1];"
LOOKED_UP = "wire [3:0] w = u[rare]; assign p = w === 4'd0 ? p0 : bad;"
SIGNED = f"{OUT} wire signed [3:0] q = x[3:0];"
STRUCTURE = "typedef struct packed { logic [3:0] m, n; } pair;"
PAIR = f"{OUT} typedef struct packed {{ logic [7:0] a, b; }} pair; pair s;"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "reason, body",
    [
        # written on one path, in part, or in a turn that never happens
        (BEFORE, f"{TEMP} always @* begin if (!rare) t = p0; y = t; t = p0; end"),
        (BEFORE, f"{TEMP} always_comb begin if (!rare) t = p0; y = t; t = p0; end"),
        (BEFORE, f"{TEMP} always @(p0, rare) begin if (!rare) t = p0; y = t; t = p0; end"),
        (BEFORE, f"{TEMP} always @* begin case (rare) 1'b0: t = p0; default: ; endcase y = t; t = p0; end"),
        (BEFORE, f"{TEMP} always @* begin casez (x[1:0]) 2'b1?: t = p0; 2'b00: t = p0; endcase y = t; t = p0; end"),
        (BEFORE, f"{TEMP} always @* begin t[rare] = p0[0]; y = rare ? {{p0[7:1], t[0]}} : p0; t = p0; end"),
        (BEFORE, f"{TEMP} always @* begin t[0] = p0[0]; y = rare ? t : p0; t = p0; end"),
        (BEFORE, f"{OUT} always @* begin : blk reg [7:0] t; if (!rare) t = p0; y = t; t = p0; end"),
        (BEFORE, f"{PAIR} always @* begin s.a = p0; y = rare ? s.b : p0; s.b = p0; end"),
        (
            BEFORE,
            f"{TEMP} integer i; always @* begin for (i = 0; i < 0; i = i + 1) t = p0; y = rare ? t : p0; t = p0; end",
        ),
        (BEFORE, f"{TEMP} integer i; always @* begin for (i = 0; i < 7; i = i + 1) t[i] = p0[i]; y = t; t = p0; end"),
        (
            BEFORE,
            f"{TEMP} always_comb begin for (int i = 0; i < 8; i++) begin if (rare) break; t[i] = p0[i]; end y = t; "
            "t = p0; end",
        ),
        (BEFORE, f"{TEMP} always_comb begin foreach (t[i]) if (i != 3) t[i] = p0[i]; y = t; t = p0; end"),
        (BEFORE, f"{OUT} task k(inout [7:0] a); a = a ^ p0; endtask always @* begin k(y); end"),
        (
            "does not write all of f on every path",
            f"{OUT} function [7:0] f(input [7:0] a, input b); if (b) f = a; endfunction always @* y = f(p0, rare);",
        ),
        (None, f"{TEMP} always @* begin if (!rare) t = p0; else t = bad; y = t; t = p0; end"),
        (None, f"{TEMP} always @* begin t[3:0] = p0[3:0]; t[7:4] = p0[7:4]; y = t; t = p0; end"),
        (None, f"{TEMP} always @* begin case (rare) 1'b0: t = p0; 1'b1: t = p0; endcase y = t; t = p0; end"),
        (None, f"{TEMP} always @* begin casez (x[1:0]) 2'b1?: t = p0; 2'b0?: t = p0; endcase y = t; t = p0; end"),
        (None, f"{PAIR} always @* begin s.a = p0; y = s.a; s.b = p0; end"),
        (None, f"{TEMP} integer i; always @* begin for (i = 0; i < 8; i = i + 1) t[i] = p0[7 - i]; y = t; end"),
        (
            None,
            f"{OUT} reg [7:0] t [0:8]; always_comb begin t[0] = p0; for (int i = 0; i < 8; i++) t[i + 1] = t[i] ^ 1; "
            "y = t[8]; end",
        ),
        (
            None,
            f"{TEMP} always_comb begin for (int i = 0; i < 8; i++) if (i == 0) t = p0; else t = t ^ bad; y = t; end",
        ),
        (None, f"{TEMP} always_comb begin for (int i = 7; i >= 0; i--) t[i] = p0[i]; y = t; end"),
        (None, f"{TEMP} always_comb begin for (int i = -8; i < 0; i += 1) t[i + 8] = p0[0]; y = t; end"),
        (BEFORE, f"{TEMP} always_comb begin for (int i = 0; i < 8; i += x[3:0]) t[i] = p0[0]; y = t; t = p0; end"),
        (None, f"{TEMP} always_comb begin foreach (t[i]) t[i] = p0[i]; y = t; end"),
        (
            None,
            f"{OUT} function [7:0] f(input [7:0] a); if (a[0]) return a; else f = 0; endfunction always @* y = f(p0);",
        ),
        # messages and assertions with effects
        (SAYS, f'{WRITER} always_comb begin y = p0; assert (!rare) else $error("%d", g(bad)); end'),
        (SAYS, f'{WRITER} always_comb begin y = p0; assert (rare) $display("%d", g(bad)); end'),
        (SAYS, f'{WRITER} always_comb begin y = p0; assert final (!rare) else $error("%d", g(bad)); end'),
        (SAYS, f'{WRITER} always @* begin y = p0; if (rare) $strobe("%d", g(bad)); end'),
        (SAYS, f'{WRITER} always @* y = p0; initial $monitor("%d", rare ? g(bad) : 8\'d0);'),
        (
            "an assertion does something",
            "reg k = 0; reg [7:0] r; always @(posedge x[0]) begin r <= p0 ^ k; a: assert property (!rare) else k = 1; "
            "end assign p = r;",
        ),
        ("calls $random", f'{OUT} integer s; always @* begin y = p0; $display("%d", $random(s)); end'),
        (None, f'{OUT} always_comb begin y = p0; assert (!rare) else $error("%d at %t", y, $time); end'),
        # blocks that wait for a change that may never come
        (STARTS, f"{OUT} reg [3:0] t = 5; reg [3:0] k; always @* k = t; always @* y = p0 ^ k;"),
        (STARTS, f"{OUT} reg [3:0] t [0:1]; initial t[0] = 5; reg [3:0] k; always @* k = t[0]; always @* y = p0 ^ k;"),
        (STARTS, f"{OUT} reg [3:0] t = 5; reg [3:0] k; always @(t) k = t; always @* y = p0 ^ k;"),
        (STARTS, f"{OUT} bit [7:0] t; always @* t = p0; always @* y = ~t;"),
        (STARTS, f"{OUT} always @* y = 8'd0;"),
        (STARTS, f"{OUT} wire [3:0] t = 5; always @* y = t;"),
        (STARTS, f"{OUT} wire [3:0] t; assign t = 5; reg [3:0] k; always @(t) k = t; always @* y = p0 ^ k;"),
        (STARTS, "sub u(2'd1, p); endmodule module sub(input [1:0] i, output reg [7:0] o); always @* o = i;"),
        (None, f"{OUT} wire [3:0] t = 5; always @* y = p0 ^ t;"),
        (None, "sub u(2'd1, p); endmodule module sub(input [1:0] i, output reg [7:0] o); always_comb o = i;"),
        (
            STARTS,
            f"{OUT} reg k = 0; always @(posedge x[0]) k <= rare; reg n; always @* n = ~k; always @* y = {{8{{n}}}};",
        ),
        (STARTS, f"{OUT} reg k; initial k = 0; always @(posedge x[0]) k <= rare; always @* y = {{8{{k}}}};"),
        (
            STARTS,
            f"{OUT} struct {{ bit a; logic b; }} s; assign s.a = 0; assign s.b = rare; always @* y = {{8{{s.a}}}};",
        ),
        (None, f"{OUT} reg k = 0; always @(posedge x[0]) k <= rare; always_comb y = {{8{{k}}}};"),
        (None, f"{OUT} reg k; always @(posedge x[0]) k <= rare; always @* y = {{8{{k}}}};"),
        (None, f"{OUT} reg [3:0] t = 5; reg [3:0] k; always_comb k = t; always @* y = p0 ^ k;"),
        (None, f"{OUT} reg [7:0] t; always @* t = p0; always @* y = ~t;"),
        # an initial block that may come after the first change
        ("y is written by an initial block too", f"{OUT} initial y = 0; always @* y = p0;"),
        ("y is written by an initial block too", f"{OUT} initial y = 0; always @(p0) y = p0;"),
        (None, f"{OUT} initial y = 0; always_comb y = p0;"),
        (None, f"{OUT} initial y = 0; always @(posedge x[0]) y <= p0;"),
        # x without a literal
        ("may be x, is in a comparison", "wire [7:0] q = 8'd5 / {7'd0, rare}; assign p = (q ^ q) === 8'd0 ? p0 : bad;"),
        ("may be x, is in a comparison", "wire s = p0[x[11:8]]; assign p = s === 1'b0 ? p0 : bad;"),
        (
            "may be x, is in the expression of a casez",
            f"{OUT} wire [9:0] v = x[9:0]; wire s = v[x[3:0]]; "
            "always @* casez (s) 1'b0: y = p0; default: y = bad; endcase",
        ),
        (
            "may be x, is in a comparison",
            "sub u(1'bx, p); endmodule module sub(input a, output [7:0] p); assign p = a === 1'b0;",
        ),
        (None, "wire s = p0[x[10:8]]; assign p = s === 1'b0 ? p0 : bad;"),
        (None, "wire [7:0] q = p0 / 8'd5; assign p = q === 8'd0 ? p0 : bad;"),
        # labels with wildcards other than bare literals
        (None, f"{OUT} always @* casez (x[3:0]) 3'b1??: y = p0; default: y = bad; endcase"),
        (None, f"{OUT} localparam L = 4'b1???; always @* casez (x[3:0]) L: y = p0; default: y = bad; endcase"),
        (None, f"{OUT} always @* casez (x[3:0]) {{2'b1?, 2'b??}}: y = p0; default: y = bad; endcase"),
        ("there is a z", f"{OUT} always @* casez (x[3:0]) {{2'b1?, x[5:4]}}: y = p0; default: y = bad; endcase"),
        (BEFORE, f"{TEMP} always_comb begin case (p0) inside [t:8'd9]: y = p0; default: y = bad; endcase t = p0; end"),
        # the number of a time depends on the time scale; delays do not matter
        ("there is a time", "localparam real L = 1ns; localparam e = L > 0.5; assign p = e ? p0 : bad;"),
        (None, "assign #1ns p = p0;"),
        (None, "localparam integer L = 2.5; assign p = L == 3 ? p0 : bad;"),
        # other modules that write into the design
        ("reaches into the design from above", "assign p = p0; endmodule module other; base u(); assign base.p = 0;"),
        # x through functions, tasks and files, and from bits that nobody writes
        ("may be x", f"function f(input r); return r ? 1'bx : 1'b0; endfunction wire s = f(rare); {CASEZ}"),
        (None, f"function f(input r); return r; endfunction wire s = f(rare); {CASEZ}"),
        ("may be x", f"reg s; task t(output o, input a); o = a; endtask always @* t(s, rare ? 1'bx : 1'b0); {CASEZ}"),
        (None, f"reg s; task t(output o, input a); o = a; endtask always @* t(s, rare); {CASEZ}"),
        (
            "may be x",
            "reg s; task t(inout o, input a); o = a ? 1'bx : o; endtask always @* begin s = 0; t(s, rare); end "
            f"{CASEZ}",
        ),
        ("may be x", f"{TABLE} initial u[0] = 0; {LOOKED_UP}"),
        ("may be x", f"{TABLE} {LOOKED_UP}"),
        ("may be x", f'{TABLE} initial $readmemh("short.hex", u); {LOOKED_UP}'),
        (None, f"{TABLE} initial begin u[0] = 0; u[1] = 0; end {LOOKED_UP}"),
        (None, f"{TABLE} always @* begin u[0] = p0[3:0]; u[1] = p0[7:4]; end {LOOKED_UP}"),
        # ports that are expressions: the gate does not follow them
        *(
            ("a port of sub is an expression", f"wire [7:0] q = p0; sub u(q, p); endmodule module sub{ports}")
            for ports in (
                "(.i(a[7:0]), b); input [8:0] a; output [7:0] b; assign b = a[8] === 1'b1 ? 8'd0 : a;",
                "(input .i(a), output [7:0] b); wire [7:0] a; assign b = a;",
            )
        ),
        (
            None,
            "sub u({p0, rare}, p); endmodule module sub({a, r}, b); input [7:0] a; input r; output [7:0] b; "
            "assign b = a;",
        ),
        # arrays whose indices run in different ways, for Icarus; writes beyond a vector, for Verilator
        (
            "run the other way",
            "wire [7:0] m [0:1], n [1:0]; assign m[0] = p0, m[1] = bad; assign n = m; assign p = n[1];",
        ),
        (None, "wire [7:0] m [0:1], n [2:3]; assign m[0] = p0, m[1] = bad; assign n = m; assign p = n[2];"),
        ("may lie beyond y", f"{OUT} always @* begin y = p0; y[x[3:0]] = 1'b1; end"),
        ("may lie beyond y", f"{OUT} always @* begin y = p0; y[x[2:0] +: 2] = 2'b01; end"),
        ("may lie beyond y", f"{OUT} wire signed [2:0] k = x[2:0]; always @* begin y = p0; y[k] = 1'b1; end"),
        (None, f"{OUT} always @* begin y = p0; y[x[2:0]] = 1'b1; y[{{x[1:0], 1'b0}}] = 1'b1; end"),
        (None, f"{OUT} integer k; always @* for (k = 0; k < 4; k = k + 1) y[2 * k +: 2] = p0[2 * k +: 2];"),
        # powers: Verilator has other values for many of them
        ("there is a power", "wire signed [1:0] z = {1'b0, rare}; assign p = (z ** -2'sd1) === 2'd0 ? p0 : bad;"),
        ("there is a power", "wire [3:0] z = x[3:0]; assign p = ((z <<< z) ** 2) == 0 ? p0 : bad;"),
        ("there is a power", "assign p = p0 ** 2;"),
        ("there is a power", "wire [32:0] z = x[3:0] + ((-1) ** 3); assign p = z[7:0];"),
        (None, "assign p = p0 + 2 ** 3;"),
        # operands of inside change the types of each other
        *(
            ("another operand of an inside changes", f"wire signed [3:0] q = x[3:0]; assign p = {inside} ? p0 : bad;")
            for inside in (
                "q inside {4'd7, [-3:2]}",
                "x[3:0] inside {7'hc, '1}",
                "(x[3:0] + x[7:4]) inside {5'd17}",
                "x[3:0] inside {x[7:4] + 4'd1, 5'd3}",
            )
        ),
        ("another operand of an inside changes", f"{SIGNED} always_comb case (q) inside 4'd7, [-3:2]: y = 1; endcase"),
        (None, "wire signed [3:0] q = x[3:0]; assign p = q inside {[-3:2], 7} ? p0 : bad;"),
        (None, "wire i = x[3:0] inside {7'hc, [1:3], x[5:4], 4'b1??0}; assign p = i ? p0 : bad;"),
        # constants that depend on a width in which tools differ
        *(
            ("a constant has another value in more bits", body)
            for body in (
                "localparam K = 4'd15 + 4'd1; assign p = p0 + K;",
                "if (4'd15 + 4'd1) assign p = bad; else assign p = p0;",
                "if (-1 < 4'd3) assign p = bad; else assign p = p0;",
                "sub #(3'd4 << 1) u(p0, p); endmodule module sub #(parameter K = 1) (input [7:0] a, output [7:0] b); "
                "assign b = a + K;",
            )
        ),
        ("a constant has another value", "if (4'b1x0z == 4'b1000) assign p = p0; else assign p = bad;"),
        ("x or z in the condition of a generate block", "if (4'b1x0z) assign p = p0; else assign p = bad;"),
        (None, "localparam real F = 0.1; if (F * 3 > 0.2) assign p = p0; else assign p = bad;"),
        (None, "localparam [7:0] K = 8'hA5; for (genvar g = 0; g < 8; g++) if (K[g]) assign p[g] = p0[g];"),
        (None, "localparam [7:0] K = ~0; localparam N = 5; if (K > N && (1 << N) - 1 == 31) assign p = p0 - K;"),
        ("without a size in a concatenation", "localparam K = {2{16}}; assign p = p0 + K;"),
        ("there is a string with an escape", 'if ("\\x41" == "A") assign p = p0; else assign p = bad;'),
        (None, 'if ("A" == 8\'h41) assign p = p0; initial $display("%d\\n", p0); if (0) $error("no\\n");'),
        # conversions of x to 0, and operators that skip x
        ("a conversion to a type without x", f"{MAYBE_X} bit k; assign k = s; assign p = k ? p0 : bad;"),
        ("a conversion to a type without x", f"{MAYBE_X} bit k; always_comb k = s; assign p = k ? p0 : bad;"),
        ("a conversion to a type without x", f"{MAYBE_X} assign p = bit'(s) ? p0 : bad;"),
        (
            "a conversion to a type without x",
            f"{MAYBE_X} function f(input bit a); f = a; endfunction assign p = f(s) ? p0 : bad;",
        ),
        (
            "a conversion to a type without x",
            f"{MAYBE_X} function bit f(input logic a); return a; endfunction assign p = f(s) ? p0 : bad;",
        ),
        (
            "a conversion to a type without x",
            f"{MAYBE_X} bit k; task t(output logic o, input a); o = a; endtask always_comb t(k, s); "
            "assign p = k ? p0 : bad;",
        ),
        (
            "a conversion to a type without x",
            f"{MAYBE_X} sub u(s, p); endmodule module sub(input bit a, output [7:0] p); assign p = a;",
        ),
        (
            "a conversion to a type without x",
            f"{MAYBE_X} bit k; sub u(s, k); assign p = k; endmodule module sub(input a, output o); assign o = a;",
        ),
        (None, "bit k; assign k = rare; assign p = k ? p0 : bad;"),
        ("is in $countones", f"{MAYBE_X} assign p = $countones({{s, ~s}}) == 1 ? p0 : bad;"),
        ("is in $onehot", f"{MAYBE_X} assign p = $onehot({{s, ~s}}) ? p0 : bad;"),
        (None, "assign p = $countones(x[3:0]) == 1 ? p0 : bad;"),
        (
            "is in an index of what is written",
            f"{MAYBE_X} {OUT} reg [1:0] v; always @* begin v = 2'd0; v[s] = 1'b1; y = ^v ? p0 : bad; end",
        ),
        # names that are used too early, at any place
        (EARLY, "localparam L = 1; if (1) begin if (L) assign p = p0; localparam L = 0; end"),
        (EARLY, "localparam L = 7; if (1) begin wire [L:0] t = p0; assign p = t; localparam L = 6; end"),
        (EARLY, f"localparam L = 7; {OUT} always @* begin : n reg [L:0] t; localparam L = 6; t = p0; y = t; end"),
        (EARLY, "localparam L = 7; if (1) begin assign p = L'(p0); localparam L = 8; end"),
        (EARLY, "assign p = L ? bad : p0; typedef enum {L, M} e; endmodule localparam L = 1; module other;"),
        (EARLY, "wire t = rare; if (1) begin sub u(.t); wire t = 0; end endmodule module sub(input t);"),
        (
            EARLY,
            "import k::*; assign p = L ? bad : p0; wire L = 0; endmodule package k; wire L = 1; endpackage module o;",
        ),
        (None, "if (1) begin assign p = p0 & L; localparam L = 255; end"),
        (None, "localparam L = 7; if (1) begin localparam L = 6; wire [L:0] t = p0; assign p = t; end"),
        (
            None,
            "localparam L = 7; wire [7:0] q = f(p0); assign p = s.L; struct packed { logic [7:0] L; } s; "
            "assign s.L = q; function [7:0] f(input [7:0] a); f = a; endfunction",
        ),
        (
            None,
            "wire t = rare; sub u(p0, p); endmodule module sub(input [7:0] a, output [7:0] o); assign o = t; "
            "wire t = a;",
        ),
        (
            EARLY,
            "wire [7:0] i = bad; if (1) begin sub u(.*); wire [7:0] i = p0; end endmodule module sub(input [7:0] i);",
        ),
        (EARLY, "localparam L = 1; if (1) begin assign p = L ? bad : p0; let L = 0; end"),
        (None, "wire [7:0] i = p0; if (1) begin sub u(.*); end endmodule module sub(input [7:0] i);"),
        # x on both sides of a case
        (
            "is in the expression and in a label of a case",
            f"{MAYBE_X} {OUT} always @* case (s) ~s: y = bad; default: y = p0; endcase",
        ),
        (None, f"{MAYBE_X} {OUT} always @* case (s) x[0]: y = bad; default: y = p0; endcase"),
        (None, f"{MAYBE_X} {OUT} always @* case (1'b1) s: y = bad; x[1]: y = p0; default: y = p0; endcase"),
        # variables that are not written yet
        ("may be x", f"reg s; always_latch if (!rare) s = 1'b0; {EQUAL}"),
        ("may be x", f"reg [1:0] v; always @* v[~rare] = 1'b0; wire s = v[1]; {EQUAL}"),
        ("may be x", f"reg k; always_comb if (0) k = 1'b0; wire s = rare & k; {EQUAL}"),
        ("may be x", f"function f(input r); reg k; f = r & k; endfunction wire s = f(rare); {EQUAL}"),
        (
            "may be x",
            f"function f(input r); reg [1:0] k; k[0] = 0; f = r & k[1]; endfunction wire s = f(rare); {EQUAL}",
        ),
        ("may be x", f"reg s; always @* begin : b reg k; s = rare & k; end {EQUAL}"),
        (None, f"reg s; always @* begin : b reg k; k = rare; s = rare & k; end {EQUAL}"),
        # another sign, another value
        ("may be x", f"wire [3:0] v = x[3:0]; wire [1:0] u = x[5:4]; wire s = v[signed'(u)]; {EQUAL}"),
        (None, f"wire [3:0] v = x[3:0]; wire [1:0] u = x[5:4]; wire s = v[unsigned'(u)]; {EQUAL}"),
        (
            "does not write all of f on every path",
            "typedef logic signed [1:0] t; function f(input [1:0] u); case (t'(u)) 0: f = 0; 1: f = 0; 2: f = 0; "
            "3: f = 0; endcase endfunction assign p = f(x[1:0]) ? bad : p0;",
        ),
        # values that reach a variable without an assignment
        (
            "the port s below the top is an inout",
            "wire s; sub u(s, p); endmodule module sub(inout s, output [7:0] p); assign p = s;",
        ),
        ("a conversion to a type without x", f"{MAYBE_X} bit k; buf(k, s); assign p = k ? p0 : bad;"),
        (None, "bit k; buf(k, rare); assign p = k ? p0 : bad;"),
        (
            "a conversion to a type without x",
            f"{MAYBE_X} typedef struct packed {{ bit a; logic b; }} t; t v; assign v = {{s, 1'b0}}; "
            "assign p = v.a ? p0 : bad;",
        ),
        ("reaches into the design from above", "assign p = p0; endmodule module tb; initial force base . p = 8'd0;"),
        ("reaches into the design from above", "assign p = p0; endmodule module tb; initial force \\base .p = 8'd0;"),
        ("which may be x", "wire [1:0] s; assign s[0] = rare; assign p = s === 2'b01 ? bad : p0;"),
        (None, "wire [1:0] s; assign s[0] = rare, s[1] = 1'b0; assign p = s === 2'b01 ? p0 : p0;"),
        (
            "which may be x",
            f"{MAYBE_X} reg a, b; always @* begin a = 1'b0; b = 1'b0; {{a, b}} += {{1'b0, s}}; end "
            "assign p = b === 1'b1 ? p0 : bad;",
        ),
        (
            "which may be x",
            "wire s; sub u(); assign p = u.y; endmodule module sub(input s, output [7:0] y); "
            "assign y = s === 1'b1 ? 8'd0 : 8'd1;",
        ),
        # two processes write one word of a memory, or two words
        ("two processes write m", "reg [7:0] m[0:1]; always @* m[0] = p0; always @* m[0] = bad; assign p = m[0];"),
        ("two processes write m", "reg [7:0] m[0:1]; always @* m[rare] = p0; always @* m[0] = bad; assign p = m[0];"),
        (None, "reg [7:0] m[0:1]; always @* m[0] = p0; always @* m[1] = bad; assign p = m[0];"),
        # an edge of an expression
        (
            "an edge of an expression",
            f"{OUT} function f(input z); f = rare; endfunction always @(posedge f(1'b0)) y <= p0;",
        ),
        (None, f"{OUT} always @(posedge x[0]) y <= p0;"),
        # a variable inside of a task, read from outside
        (
            "t.k is a variable inside of a task or block, named from outside",
            "task t; input [7:0] d; reg [7:0] k; k = d; endtask always @(posedge x[0]) t(p0); assign p = t.k;",
        ),
        (
            "t.d is a variable inside of a task or block, named from outside",
            "task t; input [7:0] d; reg [7:0] k; k = d; endtask always @(posedge x[0]) t(p0); assign p = t.d;",
        ),
        # a default that only x reaches
        (
            "which may be x, is in a case with a label for every value",
            f"{MAYBE_X} {OUT} always @* case (s) 1'b0: y = p0; 1'b1: y = p0; default: y = bad; endcase",
        ),
        (
            "which may be x, is in a case with a label for every value",
            f"{MAYBE_X} {OUT} always @* begin y = bad; case (s) 1'b0: y = p0; 1'b1: y = p0; endcase end",
        ),
        # x from a function, at its call
        (
            "x or z in the expression of a casez",
            f"{GIVES_X} {OUT} always @* casez (f(rare)) 1'b0: y = p0; default: y = bad; endcase",
        ),
        (
            "x or z in the expression of a case",
            f"{GIVES_X} {OUT} always @* case (f(rare)) 1'b0: y = p0; default: y = bad; endcase",
        ),
        ("x or z in $onehot", f"{GIVES_X} assign p = $onehot(f(rare)) ? bad : p0;"),
        ("x or z in a conversion", f"{GIVES_X} bit k; assign k = f(rare); assign p = k ? bad : p0;"),
        (
            "x or z in a conversion",
            f"{GIVES_X} wire q; sub u(f(rare), q); assign p = q ? bad : p0; endmodule "
            "module sub(input bit a, output q); assign q = a;",
        ),
        ("x or z in an index", f"{GIVES_X} {OUT} always @* begin y = p0; y[f(rare)] = bad[0]; end"),
        (
            "which may be x, is in a conversion",
            f"{MAYBE_X} function automatic f(input a); f = s; endfunction bit k; always_comb k = f(1'b0); "
            "assign p = k ? bad : p0;",
        ),
        (
            None,
            f"{OUT} function f(input a); f = ~a; endfunction always @* casez (f(rare)) 1'b0: y = p0; default: y = p0; "
            "endcase",
        ),
        # a target of several parts, some of them without x
        (
            "which may be x, is in a conversion",
            f"{MAYBE_X} bit k; logic l; assign {{k, l}} = {{s, 1'b0}}; assign p = k ? bad : p0;",
        ),
        (
            "which may be x, is in a conversion",
            f"{MAYBE_X} bit [1:0] k; always_comb {{>>{{k}}}} = {{s, s}}; assign p = k[0] ? bad : p0;",
        ),
        (
            "which may be x, is in a conversion",
            f"{MAYBE_X} bit k; logic l; sub u(s, {{k, l}}); assign p = k ? bad : p0; endmodule "
            "module sub(input s, output [1:0] q); assign q = {s, s};",
        ),
        (None, "bit k; logic l; assign {k, l} = {rare, 1'b0}; assign p = k ? p0 : p0;"),
        (None, f"{OUT} always @* case (rare) 1'b0: y = p0; 1'b1: y = p0; default: y = bad; endcase"),
        (None, f"{MAYBE_X} {OUT} always @* case (s) 1'b0: y = p0; default: y = p0; endcase"),
        # types that do not consist of bits, and expressions in no list
        ("of the type real", "localparam real R = 1.5; assign p = p0 & 8'(int'(R * 2));"),
        ("of the type string", 'localparam string R = "a"; assign p = R == "a" ? p0 : bad;'),
        ("min typ max", "assign p = p0 + (0:1:2);"),
        # the order of foreach is from the left bound to the right one
        (BEFORE, f"{TEMP} always_comb foreach (t[q]) begin y[q] = q == 0 ? p0[0] : t[q - 1]; t[q] = p0[q]; end"),
        (
            None,
            f"{OUT} reg [0:7] t; always_comb foreach (t[q]) begin t[q] = p0[q]; y[q] = q == 0 ? p0[0] : t[q - 1]; end",
        ),
        # several writes at once
        (
            "j is written and is an index",
            f"{OUT} reg [2:0] j; always @* begin y = p0; j = 0; {{j, y[j]}} = {{3'd1, p0[0]}}; end",
        ),
        (
            "j is written and is an index",
            f"{OUT} reg [2:0] j; always @* begin y = p0; j = 0; {{y[j], j}} = {{p0[0], 3'd1}}; end",
        ),
        (
            "j is written and is an index",
            f"{OUT} reg [2:0] j; function [2:0] g(input a); g = j; endfunction "
            "always @* begin y = p0; j = 0; {j, y[g(0)]} = {3'd1, p0[0]}; end",
        ),
        ("y is written twice at once", f"{OUT} always @* {{y, y}} = {{bad, p0}};"),
        ("y is written twice at once", f"{OUT} reg s; always @* {{y, s, y[0]}} = {{p0, 1'b0, ~p0[0]}};"),
        ("y is written twice at once", f"{OUT} always_comb {{>>{{y, y}}}} = {{bad, p0}};"),
        (
            "y is written twice at once",
            f"{OUT} task k(output [7:0] a, b, input [7:0] c); begin a = c; b = ~c; end endtask always @* k(y, y, p0);",
        ),
        (None, f"{OUT} always @* {{y[7:4], y[3:0]}} = p0;"),
        (None, f"{OUT} reg [2:0] j; always @* begin y = p0; j = 0; y[j] = p0[0]; j = j + 1; end"),
        (
            "j is an index of what is written, and a function changes it",
            f"{OUT} reg [2:0] j; function g(input a); begin j = 1; g = a; end endfunction "
            "always @* begin y = p0; j = 0; y[j] = g(p0[0]); end",
        ),
        (
            "j is an index of what is written, and a function changes it",
            f"{OUT} reg [2:0] j; task k(output o, input a); begin j = 1; o = a; end endtask "
            "always @* begin y = p0; j = 0; k(y[j], p0[0]); end",
        ),
        # a default of a pattern: of the whole element, or of each of its parts
        *(
            ("there is a default for the parts of elements", f"{STRUCTURE} {body} assign p = p0;")
            for body in (
                "pair q [2]; assign q = '{default: p0};",
                "pair q [2][2]; assign q = '{default: p0};",
                "logic [7:0] q [1][2]; assign q = '{default: '{default: p0}};",
                "logic [1:0][1:0][3:0] q; assign q = '{default: p0};",
                "struct packed { pair u, v; logic [7:0] w; } q; assign q = '{u: '{1, 2}, default: 3};",
                "struct { logic [7:0] u [2]; logic [3:0] v; } q; assign q = '{default: p0};",
            )
        ),
        *(
            (None, f"{STRUCTURE} {body} assign p = p0;")
            for body in (
                "pair q; assign q = '{default: p0};",
                "pair q [2]; assign q = '{default: '0};",
                "pair q [2][2]; assign q = '{default: '1};",
                "logic [7:0] q [1][2]; assign q = '{default: '{default: 0}};",
                "logic [7:0] q [1][2]; assign q = '{default: p0};",
                "logic [1:0][3:0] q; assign q = '{default: p0};",
            )
        ),
        # signs of the operands of a case
        *(
            ("a signed number is widened without its sign", f"{SIGNED} {body} default: y = bad; endcase")
            for body in (
                "always @* casez (q) 6'b11_1???: y = p0;",
                "always @* case (q) 5'd3: y = p0;",
                "always @* case (x[3:0]) 4'sd13: y = p0; 5'd3: y = p0;",
            )
        ),
        (None, f"{SIGNED} always @* case (q) -3: y = p0; 0: y = p0; default: y = bad; endcase"),
        (None, f"{SIGNED} always @* case (x[3:0]) 0: y = p0; 4'sd3: y = p0; default: y = bad; endcase"),
        # wildcards in a value
        ("may be x, is in a comparison", f"{MAYBE_X} assign p = 1'b1 inside {{s}} ? bad : p0;"),
        (None, "assign p = x[3:0] inside {x[7:4], 4'b1xx0} ? p0 : p0;"),
        # variables that the calls of a function share
        (
            "f calls itself, but not all",
            "function [7:0] f(input [7:0] v, input integer n); f = n == 0 ? 8'd1 : f(v + 8'd1, n - 1) + v; endfunction "
            "assign p = f(p0, 2);",
        ),
        (
            "f calls itself, but not all",
            "function [7:0] g(input [7:0] v); g = v[0] ? f(v >> 1) : 8'd0; endfunction "
            "function [7:0] f(input [7:0] v); f = g(v >> 1) + v; endfunction assign p = f(p0);",
        ),
        (
            "f, which is not automatic, is called for an argument",
            "function [7:0] f(input [7:0] a, b); f = a - b; endfunction assign p = f(p0, f(p0, 8'd3));",
        ),
        (
            "f, which is not automatic, is called for an argument",
            "function [7:0] f(input [7:0] a, b); f = a - b; endfunction function [7:0] g(input [7:0] a); g = f(a, 1); "
            "endfunction assign p = f(p0, g(p0));",
        ),
        (None, "function [7:0] f(input [7:0] a); f = ~a; endfunction assign p = f(f(p0));"),
        (None, "function automatic [7:0] f(input [7:0] a, b); f = a - b; endfunction assign p = f(p0, f(p0, 8'd3));"),
        # functions that only constants call
        (
            "t is static and has an initial value",
            "function automatic int f(input int n); static int t = 1; begin t += n; f = t; end endfunction "
            "localparam K = f(3); assign p = p0 + K;",
        ),
        (
            "t is static and has an initial value",
            "function automatic int f(input int n); static int t = 1; begin t += n; f = t; end endfunction "
            "wire [f(3):0] w = 0; assign p = p0 ^ w;",
        ),
        (
            "t is static and has an initial value",
            "assign p = p0 + u::K; endmodule package u; "
            "function automatic int f(input int n); static int t = 1; begin t += n; f = t; end endfunction "
            "localparam K = f(3); endpackage module other();",
        ),
        (
            "n, which may be x, is in the expression of a casex",
            "function [7:0] f(input [3:0] n); casex (n) 4'b1xxx: f = 3; 4'bx1xx: f = 1; default: f = 0; endcase "
            "endfunction localparam K = f(4'bx100); assign p = p0 + K;",
        ),
        (
            None,
            "function integer clog2(input integer v); begin v = v - 1; for (clog2 = 0; v > 0; clog2 = clog2 + 1) "
            "v = v >> 1; end endfunction localparam K = clog2(9); wire [clog2(200) - 1:0] w = p0; assign p = w + K;",
        ),
        # numbers whose value depends on the tool
        (
            "a number without a size that needs more than 32 bits",
            "localparam K = 4294967295; assign p = K < 0 ? p0 : bad;",
        ),
        ("a number without a size that needs more than 32 bits", "assign p = 'hF_0000_0000 >> 32;"),
        *(
            ("a number without a size that needs more than 32 bits", body)
            for body in (
                "wire [(4294967296 >> 32):0] w = 2'b11; assign p = p0;",
                "wire [7:0] t [0:(4294967296 >> 32)]; assign p = p0;",
                "enum logic [39:0] {A = 4294967295 + 1, B} e; assign p = p0;",
                "if (2147483648 > 0) assign p = p0; else assign p = bad;",
                "case (4294967297) 1: assign p = bad; default: assign p = p0; endcase",
                "wire [7:0] r = {1 + (4294967296 >> 32){4'd5}}; assign p = p0;",
                "defparam u.K = 2147483648; sub u(p0, p); endmodule module sub(input [7:0] a, output [7:0] b); "
                "parameter K = 1; assign b = K < 0 ? ~a : a;",
            )
        ),
        ("there is a shortreal", "localparam shortreal F = 0.1; if (F == 0.1) assign p = p0; else assign p = bad;"),
        (None, "assign p = p0 & 'h0_0000_00FF & 'b0_1111_1111 & 'o000000000377 & 'd255 & '1;"),
        (None, "localparam K = 2147483647; assign p = K < 0 ? bad : p0;"),
        (None, "assign p = ('hFFFF_FFFF >> 24) & p0;"),
        ("which does not consist of bits", "localparam int M = 0.0 / 0.0; assign p = p0 + M;"),
        (None, "localparam real F = 2.5; localparam int M = $rtoi(F * 2.0); assign p = p0 + M;"),
        # which slice of a stream is the short one
        ("in slices of 5", f"{OUT} always_comb begin {{<<5{{y}}}} = p0; end"),
        (None, f"{OUT} always_comb begin {{<<4{{y}}}} = p0; end"),
        # as deep as it is long, and no deeper
        (
            None,
            f"{OUT} always @* begin {' '.join(f'if (x[15:0] == {i}) y = p0; else' for i in range(500))} y = p0; end",
        ),
        ("nested too deeply", CALLS + " assign p = f200(p0);"),
        (None, CALLS + " assign p = f9(p0);"),
        (
            "nested too deeply",
            f"{OUT} always @* begin {'if (rare) begin y = p0;' * 400} {'end' + ' end' * 399} y = p0; end",
        ),
    ],
    ids=lambda value: str(value)[:70],
)
def test_objections(reason, body):
    """``reason`` is part of an objection, or None if the text is right."""
    found = [objection.reason for objection in objections(elaborated(plain(DESIGN.format(body)), "base"))]
    assert not found if reason is None else any(reason in text for text in found), found


@pytest.mark.parametrize("written, is_right", [("=", False), ("<=", True)])
def test_an_output_that_a_clock_moves(written, is_right):
    """The readers at the same edge are outside of the design."""
    text = f"module base(input clk, input [7:0] d, output reg [7:0] p); always @(posedge clk) p {written} d; endmodule"
    found = [objection.reason for objection in objections(elaborated(plain(text), "base"))]
    assert not found if is_right else "what readers at that edge get is undefined" in found[0]


@pytest.mark.parametrize(
    ("written", "index"),
    [
        ("reg [7:0] words [0:3]; always @(posedge clk) words[at] <= x[7:0]; assign p = words[x[9:8]];", "at"),
        ("reg [3:0] bits; always @(posedge clk) bits[at] <= x[0]; assign p = bits;", ""),
        ("reg [7:0] words [0:3]; always @(posedge clk) words[0][at] <= x[0]; assign p = words[x[9:8]];", ""),
    ],
    ids=["word of a memory", "bit of a variable", "bit of a word"],
)
def test_only_addresses_of_memories_have_a_name(written, index):
    """A proof may show that an address is known after a reset. Of another index it says nothing."""
    text = f"""module base(input clk, input [63:0] x, output [7:0] p);
      reg [1:0] at; always @(posedge clk) at <= x[63] ? 2'd0 : x[62] ? at + 2'd1 : 2'hx;
      {written}
    endmodule"""
    found = [
        one for one in objections(elaborated(plain(text), "base")) if "in an index of what is written" in one.reason
    ]
    assert [one.index for one in found] == [index]
