"""Pipelines are proved as pure delays; other designs are refused in one sentence."""

from pathlib import Path

import pytest

from mxcast.proof.netlist.design import Design
from mxcast.proof.netlist.pipeline import combinational
from mxcast.proof.netlist.structure import StructureError
from mxcast.proof.verilog.readers import readers

HEAD = "module top(input clk, input [3:0] a, b, output reg [3:0] y); reg [3:0] q, r; "


def reduced(tmp_path: Path, body: str, latency: int):
    """Both readers agree."""
    designs = [
        combinational(Design(f"{HEAD}{body} endmodule\n", "top", tmp_path / reader, reader), latency, settling=True)
        for reader in readers()
    ]
    assert len(designs) == 2 and designs[0][1] == designs[1][1]
    return designs[1]


@pytest.mark.parametrize(
    "body, latency, edges",
    [
        ("always @* y = a + b;", 0, 0),
        ("always @(posedge clk) y <= a + b;", 1, 0),
        ("always @(negedge clk) begin q <= a; r <= b; y <= q + r; end", 2, 0),
        ("always @(posedge clk) begin q <= 1; if (q[0]) y <= a; end", 1, 1),  # an enable that is always set
        ("always @(posedge clk or negedge q[3]) if (!q[3]) y <= 0; else y <= a; assign q = 15;", 1, 0),
        (
            "reg [3:0] rom [0:15]; initial for (int i = 0; i < 16; i++) rom[i] = i * 7; always @(posedge clk) y <= "
            "rom[a];",
            1,
            0,
        ),
    ],
)
def test_a_pipeline(tmp_path, body, latency, edges):
    design, settled = reduced(tmp_path, body, latency)
    assert settled == edges
    assert not any("FF" in cell["type"] or "dff" in cell["type"] for cell in design.modules["top"]["cells"].values())


@pytest.mark.parametrize(
    "body, latency, sentence",
    [
        ("always @(posedge clk) y <= a;", 0, "registers between a block and its result: 1, not 0"),
        ("always @(posedge clk) y <= a;", 2, "registers between a block and its result: 1, not 2"),
        (
            "always @(posedge clk) begin q <= a; y <= q + b; end",
            2,
            "registers between a block and its result: 1 or 2, not 2",
        ),
        ("always @(posedge clk) y <= y + a;", 1, "a register feeds back into itself: it is no pipeline"),
        ("always @(posedge clk) if (b[0]) y <= a;", 1, "a register feeds back into itself: it is no pipeline"),
        (
            "always @(posedge clk or posedge b[0]) if (b[0]) y <= 0; else y <= a;",
            1,
            "it has storage other than plain registers: a reset that is not tied",
        ),
        ("always @(posedge b[0]) y <= a;", 1, "it has a register on another clock than clk"),
        (
            "always @(posedge clk) q <= a; always @(negedge clk) y <= q;",
            2,
            "it has registers on both edges of the clock",
        ),
    ],
)
def test_no_pipeline(tmp_path, body, latency, sentence):
    with pytest.raises(StructureError) as error:
        reduced(tmp_path, body, latency)
    assert str(error.value) == sentence
