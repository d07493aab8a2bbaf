"""A test bench in plain Verilog for an emitted converter. It contains blocks and their results by the golden model, so
it needs nothing but a simulator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...hdl import HardwareConfig
from ...hdl.emission.emit import GENERATOR
from ...spec import Port
from ..operations import drawn, golden, of, supplied
from ..run.axis import around_axis
from ..run.beats import in_beats
from ..stored import on_pins
from ..transactions import data_ports

Row = tuple[Mapping[str, int], Mapping[str, int]]
"""Values of the inputs and of the outputs, by port."""

PATIENCE = 20
"""Clock cycles beyond blocks and latency, after which a converter without results has failed."""

COMBINATIONAL = """\
  initial begin
    errors = 0;
    #1;
    for (i = 0; i < BLOCKS; i = i + 1) begin
      {drive} = blocks[i];
      #1;
      if ({collect} !== expected[i]) begin
        errors = errors + 1;
        $display("block %0d: %h, not %h", i, {collect}, expected[i]);
      end
    end
    finish;
  end
"""

REGISTERED = """\
  always #5 clk = ~clk;

  initial begin
    errors = 0; clk = 0; rst = 1; i_valid = 0; o_ready = 1; i = 0; j = 0;
    repeat (2) @(negedge clk);
    rst = 0;
    for (cycle = 0; j < BLOCKS && cycle < {cycles}; cycle = cycle + 1) begin
      i_valid = i < BLOCKS;
      if (i_valid) {drive} = blocks[i];
      #1;
      if (o_valid) begin
        if ({collect} !== expected[j]) begin
          errors = errors + 1;
          $display("block %0d: %h, not %h", j, {collect}, expected[j]);
        end
        j = j + 1;
      end
      if (i_valid && i_ready) i = i + 1;
      @(negedge clk);
    end
    if (j < BLOCKS) begin
      errors = errors + BLOCKS - j;
      $display("%0d results are missing", BLOCKS - j);
    end
    finish;
  end
"""

FINISH = """\
  task finish;
    begin
      if (errors == 0) $display("PASS: %0d blocks", BLOCKS);
      else $display("FAIL: %0d of %0d blocks", errors, BLOCKS);
      $finish;
    end
  endtask
"""


def bench(config: HardwareConfig, name: str, seed: int = 0) -> str:
    """The text of the module ``<name>_tb``. It prints PASS or FAIL in its last line, with the number of blocks.

    The blocks are directed ones of every family and random ones, in every mode. A converter with registers gets one in
    every cycle, and its results are taken at once.
    """
    if config.has_axis:
        around, top = around_axis(config, name)
        connected = ", ".join(f".{port.name}({port.name})" for port in config.ports)
        rows = _rows(config, seed)
        more = (not config.is_even) + _waiting(config)  # for words that complete no beat, or blocks that stop
        cycles = config.latency + more * len(rows)
        return bench_of(name, config.ports, rows, [f"{top} dut ({connected});"], cycles) + around
    pins = ", ".join(f".{pin.name}({pin.name})" for pin in config.pins)
    rows = _rows(config, seed)
    return bench_of(name, config.pins, rows, [f"{name} dut ({pins});"], config.latency + _waiting(config) * len(rows))


def _waiting(config: HardwareConfig) -> int:
    """Cycles for which a block may wait until it can enter, or inside."""
    return config.pause + config.interval - 1


def bench_of(name: str, ports: Sequence[Port], rows: Sequence[Row], instances: Sequence[str], latency: int) -> str:
    """The text of the module ``<name>_tb`` around ``instances``, which together have these ports, with blocks and their
    expected results; ``latency`` in cycles.

    Like the emitted modules it sets no time scale. If only some files set one, the order of files decides which modules
    have it, and simulators warn.
    """
    entering, leaving = data_ports(ports, "input"), data_ports(ports, "output")
    body = (REGISTERED if latency else COMBINATIONAL).format(
        drive=_together(entering), collect=_together(leaving), cycles=len(rows) + latency + PATIENCE
    )
    widths = {"blocks": _width(entering), "expected": _width(leaving)}
    sides = {"input": "reg ", "output": "wire"}
    lines = [
        f"// {name}_tb: {len(rows)} blocks for {name}, with what the golden model of mxcast {GENERATOR} makes of them.",
        "// SPDX-License-Identifier: Apache-2.0",
        f"module {name}_tb;",
        f"  localparam BLOCKS = {len(rows)};",
        *(f"  {sides[port.direction]} [{port.width - 1}:0] {port.name};" for port in ports),
        *(f"  reg  [{width - 1}:0] {memory} [0:BLOCKS-1];" for memory, width in widths.items()),
        "  integer errors, i" + (", j, cycle;" if latency else ";"),
        "",
        *(f"  {instance}" for instance in instances),
        "",
        FINISH,
        body,
        "  initial begin",
        *(
            f"    {memory}[{number}] = {widths[memory]}'h{_joined(side, found):x};"
            for number, row in enumerate(rows)
            for memory, side, found in zip(widths, (entering, leaving), row)
        ),
        "  end",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _rows(config: HardwareConfig, seed: int) -> Sequence[Row]:
    """For each block the values of the inputs and of the outputs, by port."""
    found = []
    for mode, rules in enumerate(config.modes):
        given = drawn(rules, of(rules).sample(seed + mode), seed + mode).in_mode(mode)
        made, given = golden(rules, given), supplied(config, given)
        if config.in_beats:
            given = in_beats(given, data_ports(config.ports, "input"), config.beats)
            made = in_beats(made, data_ports(config.ports, "output"), config.beats)
        for row in range(len(given)):
            sides = given.values(config.ports, "input", row), made.values(config.ports, "output", row)
            found.append((on_pins(config, sides[0]), on_pins(config, sides[1])))
    return found


def _together(ports: Sequence[Port]) -> str:
    return "{" + ", ".join(port.name for port in ports) + "}"


def _width(ports: Sequence[Port]) -> int:
    return sum(port.width for port in ports)


def _joined(ports: Sequence[Port], found: Mapping[str, int]) -> int:
    """The value of `_together`, with the first port in the high bits."""
    joined = 0
    for port in ports:
        joined = joined << port.width | found[port.name]
    return joined
