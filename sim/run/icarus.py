"""A Verilog text on Icarus, which has four states and follows sensitivity lists. It is slow: for few blocks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...host.cache import scratch
from ...host.errors import ToolError
from ...host.processes import TookTooLong, run
from ...spec import Port, Role
from ..transactions import Transactions, data_ports, fields, packed
from . import tools

BENCH = """
module {bench};
  reg [{input_bits}-1:0] blocks [0:{count}-1], block;
  reg clock, reset;
{wires}
  integer i;
  {top} dut ({pins});
  task tick;
    begin #1000000000 clock = 1; #1000000000 clock = 0; end
  endtask
  initial begin
    $readmemh("blocks.hex", blocks);
    clock = 0; reset = 1;
    repeat ({start}) tick;
    reset = 0;
    for (i = 0; i < {count}; i = i + 1) begin
      block = blocks[i];
      repeat ({edges}) tick;
      #1000000000 $display("mxcast {digits}", {outputs});
    end
    $finish;
  end
endmodule
"""

KNOWN, ONES = str.maketrans("01xzXZ", "110000"), str.maketrans("xzXZ", "0000")

PATIENCE = 30
"""Seconds for the simulation."""


START = 8
"""Edges of a clock before the first block, in reset if there is one."""

CONTROL = {(Role.CLOCK, "input"): "clock", (Role.RESET, "input"): "reset", (Role.VALID, "input"): "1'b1"}
CONTROL[Role.READY, "input"] = "1'b1"
"""Drivers of inputs that are not data, by role and direction."""


def on_icarus(
    text: str, top: str, ports: Sequence[Port], given: Transactions, expected: Transactions, edges: int = 0
) -> Transactions | None:
    """The results of the module ``top`` with these ports for transactions, each held for so many rising ``edges`` of
    its clock. None if Icarus is not installed, cannot read the text, or takes too long.

    An unknown bit is returned as the opposite of the ``expected`` one.
    """
    entering, leaving = (data_ports(ports, direction) for direction in ("input", "output"))
    words, pins, input_bits = [0] * len(given), [], 0
    for port in entering:
        pins.append(f".{port.name}(block[{input_bits} +: {port.width}])")
        words = [word | packed(row, port.bits) << input_bits for word, row in zip(words, given[port.role])]
        input_bits += port.width
    control = {port.name: CONTROL.get((port.role, port.direction)) for port in ports if not port.role.is_data}
    pins += [f".{name}({driver})" for name, driver in control.items() if driver]
    try:
        icarus = Path(tools.icarus())
    except ToolError:
        return None
    with scratch() as folder:
        (folder / "blocks.hex").write_text("\n".join(f"{word:x}" for word in words) + "\n")
        bench = "mxcast_bench"
        while bench in text:
            bench += "_"
        (folder / "bench.v").write_text(
            text
            + BENCH.format(
                bench=bench,
                input_bits=input_bits,
                count=len(words),
                start=START if any(port.role is Role.CLOCK for port in ports) else 0,
                edges=edges,
                wires="\n".join(f"  wire [{port.width}-1:0] {port.name};" for port in leaving),
                top=top,
                pins=", ".join([*pins, *(f".{port.name}({port.name})" for port in leaving)]),
                digits=" ".join(["%b"] * len(leaving)),
                outputs=", ".join(port.name for port in leaving),
            )
        )
        try:
            commands: list[list[str | Path]] = [
                [icarus, "-g2012", "-s", bench, "-o", "bench.vvp", "bench.v"],
                [icarus.with_name("vvp"), "bench.vvp"],
            ]
            for command in commands:
                done = run(command, cwd=folder, timeout=PATIENCE)
                if done.status:
                    return None
        except TookTooLong:
            return None
    lines = [line.removeprefix("mxcast ") for line in done.output.splitlines() if line.startswith("mxcast ")]
    if len(lines) != len(words):
        return None
    found = {
        port.role: np.array(
            [_known(digits, port, row) for digits, row in zip(column, expected[port.role])], expected[port.role].dtype
        )
        for port, column in zip(leaving, zip(*(line.split() for line in lines)))
    }
    return Transactions(found)


def _known(digits: str, port: Port, right: np.ndarray) -> list[int]:
    """The fields of a port; unknown bits are the opposite of the right ones."""
    wrong = packed(right, port.bits) ^ ((1 << port.width) - 1)
    ones, known = (int(digits.translate(table), 2) for table in (ONES, KNOWN))
    return fields(ones & known | wrong & ~known, port)
