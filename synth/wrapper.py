"""A design between registers, on three pins: place and route has room for its ports, and a clock to time it.

    serial -> shift register -> design -> register -> XOR of fours, registered -> ... -> folded

Every input bit comes from a flip-flop and every output bit goes to one, so the longest path between registers is the
one through the design. The folds are one LUT4 deep.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

WRAPPER = "wrapper"
"""Module name of the wrapper."""
CLOCKS = ("clk", "aclk")
"""The ports of designs that get the clock; all others, a reset and handshakes too, are data."""
FOLD = 4


class PortOf(TypedDict):
    """A port of a design, as its JSON has it."""

    name: str
    direction: str
    width: int


def wrapper(top: str, ports: Iterable[PortOf]) -> str:
    """Verilog of the module `WRAPPER` around module ``top``, whose ports have ``name``, ``direction`` and ``width``.

    The design keeps its hierarchy, so no logic moves between it and the registers.
    """
    connections, taken = [], {"input": 0, "output": 0}
    for port in ports:
        name, direction, width = port["name"], port["direction"], port["width"]
        if name in CLOCKS:
            connections.append(f".{name}(clk)")
            continue
        start = taken[direction]
        taken[direction] += width
        connections.append(f".{name}({direction}s[{start + width - 1}:{start}])")
    if not all(taken.values()):
        raise ValueError(f"{top} must have data inputs and outputs to be measured between registers")
    stages: list[str] = []
    width, source = taken["output"], "captured"
    while width > 1:
        groups = -(-width // FOLD)
        padded = f"{{{{{groups * FOLD - width}{{1'b0}}}}, {source}}}" if groups * FOLD > width else source
        stage = f"fold{len(stages)}"
        stages.append(f"""  wire [{groups * FOLD - 1}:0] {stage}_in = {padded};
  reg [{groups - 1}:0] {stage};
  always @(posedge clk)
    for (i = 0; i < {groups}; i = i + 1) {stage}[i] <= ^{stage}_in[{FOLD}*i +: {FOLD}];
""")
        width, source = groups, stage
    joined = ",\n    ".join(connections)
    return f"""// {top} between registers
module {WRAPPER}(input clk, input serial, output folded);
  integer i;
  reg [{taken["input"] - 1}:0] inputs;
  always @(posedge clk) inputs <= {{inputs, serial}};
  wire [{taken["output"] - 1}:0] outputs;
  (* keep_hierarchy *) {top} measured (
    {joined}
  );
  reg [{taken["output"] - 1}:0] captured;
  always @(posedge clk) captured <= outputs;
{"".join(stages)}  assign folded = {source};
endmodule
"""
