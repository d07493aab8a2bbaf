"""A scoreboard in plain SystemVerilog: it drives directed and random blocks into a design, and compares every result
with the model in C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..hdl import HardwareConfig
from ..sim.operations import drawn, of
from ..sim.stimuli.source import depth
from ..spec import Decode, Encode, Operation, Port, Role
from .configured import sides

MODULE = """\
// {name}_scoreboard: {name} against the golden model in C (DPI-C).
// It drives {directed} directed blocks and then random ones: +blocks=N, 10000 by default, and +seed=N.
// The last line is PASS or FAIL, and the exit status of a FAIL is not 0. Run it by make check.
// SPDX-License-Identifier: Apache-2.0
module {name}_scoreboard;
  import {name}_dpi_pkg::*;

  localparam int INPUTS = {inputs}, RESULTS = {results}, DIRECTED = {directed}, SHOWN = 10;
  bit [INPUTS-1:0] directed [DIRECTED];
  int blocks, total, differ;

{signals}
  {name} dut ({pins});

  // Random numbers by xorshift64, the same in every simulator.
  bit [63:0] state;

  function automatic bit [31:0] draw();
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state[31:0];
  endfunction

  function automatic bit [31:0] below(bit [31:0] limit);
    return draw() % limit;
  endfunction

  function automatic bit [INPUTS-1:0] random_block();
{declared}
{made}
    return {together};
  endfunction

  function automatic bit [INPUTS-1:0] block(int i);
    return i < DIRECTED ? directed[i] : random_block();
  endfunction

  function automatic bit [RESULTS-1:0] model(bit [INPUTS-1:0] given);
{declared}
{collected}
    {together} = given;
    {name}_model({arguments});
    return {results_together};
  endfunction

  task automatic check(int i, bit [INPUTS-1:0] given, bit [RESULTS-1:0] expected);
    if ({results_together} === expected) return;
    differ++;
    if (differ <= SHOWN) $display("block %0d: {names} is %h, not %h; given %h", i, {results_together}, expected, given);
  endtask

  task automatic finish();
    if (differ == 0) $display("PASS: %0d blocks", total);
    else begin
      $display("FAIL: %0d of %0d blocks", differ, total);
      $fatal(1, "the design and the model differ");
    end
    $finish;
  endtask

{run}
  task automatic start();
    blocks = 10000;
    state = 64'h9E3779B97F4A7C15;
    void'($value$plusargs("blocks=%d", blocks));
    void'($value$plusargs("seed=%d", state[62:0]));
    state ^= 64'h8000000000000000;  // never 0
    total = DIRECTED + blocks;
{rows}
  endtask
endmodule
"""

COMBINATIONAL = """\
  initial begin
    bit [INPUTS-1:0] given;
    start();
    for (int i = 0; i < total; i++) begin
      given = block(i);
      {together} = given;
      #1 check(i, given, model(given));
    end
    finish();
  end
"""

REGISTERED = """\
  // Inputs change at the falling edge, at random times; a block stays until it is taken.
  always #5 clk = ~clk;

  initial begin
    bit [INPUTS-1:0] given, waiting[$];
    bit is_taken;
    int sent, received, idle;
    start();
    clk = 0; rst = 1; i_valid = 0; o_ready = 0;
    sent = 0; received = 0; idle = 0;
    repeat (2) @(negedge clk);
    rst = 0;
    while (received < total && idle < 1000) begin
      if (!i_valid && sent < total && below(4) != 0) begin
        given = block(sent);
        {together} = given;
        i_valid = 1;
      end
      o_ready = below(4) != 0;
      #1;
      is_taken = i_valid && i_ready;
      idle++;
      if (o_valid && o_ready) begin
        idle = 0;
        if (waiting.size() == 0) begin
          differ++;
          $display("a result without a block");
        end else begin
          bit [INPUTS-1:0] oldest;
          oldest = waiting.pop_front();
          check(received, oldest, model(oldest));
        end
        received++;
      end
      if (is_taken) begin
        waiting.push_back(given);
        sent++;
      end
      @(negedge clk);
      if (is_taken) i_valid = 0;
    end
    if (received < total) begin
      differ += total - received;
      $display("%0d results are missing", total - received);
    end
    finish();
  end
"""


def scoreboard(config: HardwareConfig, name: str, seed: int = 0) -> str:
    """The text of ``<name>_scoreboard.sv``."""
    operation = config.numerics
    entering, leaving = sides(operation)
    given = drawn(operation, of(operation).sample(seed), seed)
    body = (REGISTERED if config.latency else COMBINATIONAL).format(together=_together(entering))
    values = (given.values(operation.ports, "input", row) for row in range(len(given)))
    rows = (f"{sum(port.width for port in entering)}'h{_joined(entering, row):x}" for row in values)
    return MODULE.format(
        name=name,
        directed=len(given),
        inputs=sum(port.width for port in entering),
        results=sum(port.width for port in leaving),
        signals="\n".join(f"  {SIDES[pin.direction]} {_ranged(pin)};" for pin in config.pins),
        pins=", ".join(f".{pin.name}({pin.name})" for pin in config.pins),
        declared="\n".join(f"    bit {_ranged(port)};" for port in entering),
        collected="\n".join(f"    bit {_ranged(port)};" for port in leaving),
        made="\n".join(line for port in entering for line in _random(operation, port)),
        together=_together(entering),
        results_together=_together(leaving),
        names=_together(leaving),
        arguments=", ".join(port.name for port in [*entering, *leaving]),
        run=body,
        rows="\n".join(f"    directed[{number}] = {row};" for number, row in enumerate(rows)),
    )


SIDES = {"input": "logic", "output": "wire "}
"""Kinds of signals at the pins of the design."""


def _ranged(port: Port) -> str:
    return f"[{port.width - 1}:0] {port.name}"


def _together(ports: list[Port]) -> str:
    return "{" + ", ".join(port.name for port in ports) + "}"


def _joined(ports: list[Port], values: dict[str, int]) -> int:
    """The value of `_together`, with the first port in the high bits."""
    joined = 0
    for port in ports:
        joined = joined << port.width | values[port.name]
    return joined


def _random(operation: Operation, port: Port) -> list[str]:
    """Statements that draw the lanes of an input."""
    draw = DRAWN.get((type(operation), port.role), _any)
    return draw(operation, port)


def _any(operation: Operation, port: Port) -> list[str]:
    """Any bits."""
    return [
        f"    for (int i = 0; i < {port.lanes}; i++) "
        f"{port.name}[i * {port.bits} +: {port.bits}] = {port.bits}'(draw());"
    ]


def _numbers(operation: Encode, port: Port) -> list[str]:
    """Any bits; or numbers of similar exponents with any fractions, with fractions at ties, and next to ties."""
    source, kept = operation.source, operation.block.element.fraction_bits + 1
    dropped = max(source.man_bits - kept, 0)
    return [
        f"    int kind = int'(below(4)), top = int'(below({1 << source.exp_bits}));",
        f"    for (int i = 0; i < {port.lanes}; i++) begin",
        f"      bit [{port.bits - 1}:0] number = {port.bits}'(draw());",
        f"      int exponent = top - int'(below({depth(operation)}));",
        f"      bit [{source.man_bits - 1}:0] fraction = number[{source.man_bits - 1}:0];",
        f"      if (kind > 1) fraction = fraction >> {dropped} << {dropped};",
        "      if (kind == 3) fraction = fraction + (number[0] ? 1 : -1);",
        f"      if (kind != 0) number = {{number[{port.bits - 1}], {source.exp_bits}'(exponent < 0 ? 0 : exponent), "
        "fraction};",
        f"      {port.name}[i * {port.bits} +: {port.bits}] = number;",
        "    end",
    ]


def _scale(operation: Decode, port: Port) -> list[str]:
    """Any byte, or one at the ends of the range."""
    return [f"    {port.name} = 8'(below(4) == 0 ? below(4) - 2 : draw());"]


DRAWN: dict[tuple[type[Operation], Role], Callable[[Any, Port], list[str]]] = {
    (Encode, Role.NUMBERS): _numbers,
    (Decode, Role.SCALE): _scale,
}
"""Inputs of which random blocks do not draw any bits alone."""
