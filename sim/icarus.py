"""A written converter on Icarus: four states, and an ``always`` block runs when its list says so. Slow: for few
blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..host.cache import scratch
from ..host.errors import ToolError
from ..host.processes import TookTooLong, run
from ..spec import Port
from . import tools
from .transactions import Transactions, data_ports, fields, packed

__all__ = ["on_icarus"]

BENCH = """
module {bench};
  reg [{input_bits}-1:0] blocks [0:{count}-1], block;
{wires}
  integer i;
  {top} dut ({pins});
  initial begin
    $readmemh("blocks.hex", blocks);
    for (i = 0; i < {count}; i = i + 1) begin
      block = blocks[i];
      #1000000000 $display("mxcast {digits}", {outputs});
    end
    $finish;
  end
endmodule
"""

KNOWN, ONES = str.maketrans("01xzXZ", "110000"), str.maketrans("xzXZ", "0000")

PATIENCE = 30
"""Seconds for the simulation."""


def on_icarus(
    text: str, top: str, ports: Sequence[Port], given: Transactions, expected: Transactions
) -> Transactions | None:
    """What the module ``top`` with these ports and no clock makes of transactions, one after the other; None where
    Icarus is not installed, cannot read the text, or takes too long.

    A bit that is unknown there is returned as the one that is not ``expected``.
    """
    entering, leaving = (data_ports(ports, direction) for direction in ("input", "output"))
    words, pins, input_bits = [0] * len(given), [], 0
    for port in entering:
        pins.append(f".{port.name}(block[{input_bits} +: {port.width}])")
        words = [word | packed(row, port.bits) << input_bits for word, row in zip(words, given[port.role])]
        input_bits += port.width
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
    """The fields of a port, with those bits that are unknown the other way round."""
    wrong = packed(right, port.bits) ^ ((1 << port.width) - 1)
    ones, known = (int(digits.translate(table), 2) for table in (ONES, KNOWN))
    return fields(ones & known | wrong & ~known, port)
