"""A test bench in plain Verilog for an emitted converter, with blocks and expected results from the golden model in it:
it needs a simulator and nothing of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version

import numpy as np

from ..hdl import ConverterConfig, DecoderConfig
from ..models import quantize
from ..models.decode import decode_blocks
from ..models.source import DTYPES
from ..spec import Port, Role
from . import stimuli
from .decoder import decoder_rows, pairs
from .driver import data_ports
from .transactions import values

__all__ = ["bench"]

OF_EACH = 3
"""Blocks of each family of corners, in each mode."""
PAIRED = 500
"""About so many blocks of a decoder, two or more for each scale byte."""
RANDOM = 32
"""Random blocks, in each mode."""
PATIENCE = 20
"""Cycles of the clock beyond blocks and latency, after which a converter that gives nothing has failed."""

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


def bench(config: ConverterConfig | DecoderConfig, name: str, seed: int = 0) -> str:
    """The text of the module ``<name>_tb``. It prints PASS or FAIL in its last line, with the number of blocks.

    The blocks are directed ones of every family and random ones, in every mode; a converter with registers is given one
    in every cycle, and its results are taken at once.
    """
    ports = config.ports
    entering, leaving = data_ports(ports, "input"), data_ports(ports, "output")
    rows = _rows(config, seed) if isinstance(config, ConverterConfig) else _decoder_rows(config, seed)
    body = REGISTERED if config.latency else COMBINATIONAL
    body = body.format(
        drive=_together(entering), collect=_together(leaving), cycles=len(rows) + config.latency + PATIENCE
    )
    widths = {"blocks": _width(entering), "expected": _width(leaving)}
    sides = {"input": "reg ", "output": "wire"}
    lines = [
        f"// {name}_tb: {len(rows)} blocks for {name}, with what the golden model of mxcast {version('mxcast')} makes "
        "of them.",
        "// SPDX-License-Identifier: Apache-2.0",
        "`timescale 1ns / 1ps",
        f"module {name}_tb;",
        f"  localparam BLOCKS = {len(rows)};",
        *(f"  {sides[port.direction]} [{port.width - 1}:0] {port.name};" for port in ports),
        *(f"  reg  [{width - 1}:0] {memory} [0:BLOCKS-1];" for memory, width in widths.items()),
        "  integer errors, i" + (", j, cycle;" if config.latency else ";"),
        "",
        f"  {name} dut (" + ", ".join(f".{port.name}({port.name})" for port in ports) + ");",
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


def _rows(config: ConverterConfig, seed: int) -> Sequence[tuple[Mapping[str, int], Mapping[str, int]]]:
    """For each block the values of the inputs and those of the outputs, by port."""
    found = []
    for mode, numerics in enumerate(config.modes):
        patterns = np.concatenate(
            [stimuli.corner_blocks(numerics, OF_EACH), stimuli.random_blocks(numerics, RANDOM, seed + mode)]
        )
        random = stimuli.random_bits(numerics, patterns.shape, seed + mode)
        q = quantize(patterns.view(DTYPES[numerics.source.name]), numerics, random=random)
        for row, block in enumerate(patterns):
            given = {Role.NUMBERS: block, Role.MODE: [mode]} | ({} if random is None else {Role.RANDOM: random[row]})
            made = {Role.SCALE: q.scales[row], Role.CODES: q.codes[row]}
            found.append((values(config.ports, "input", given), values(config.ports, "output", made)))
    return found


def _decoder_rows(config: DecoderConfig, seed: int) -> Sequence[tuple[Mapping[str, int], Mapping[str, int]]]:
    """The same of a decoder: some blocks with every scale byte, and random ones."""
    found, rules = [], config.numerics
    chunks = list(pairs(rules, seed))
    step = sum(len(chunk.scales) for chunk in chunks) // PAIRED | 1
    chunks = [chunk.every(step) for chunk in chunks] + list(decoder_rows(rules, RANDOM, seed))
    for blocks in chunks:
        y = np.empty(blocks.codes.shape, DTYPES[rules.destination.name])
        decode_blocks(blocks.scales, blocks.codes, rules, y, blocks.random)
        for row, scale in enumerate(blocks.scales):
            drawn = {} if blocks.random is None else {Role.RANDOM: blocks.random[row]}
            given = {Role.CODES: blocks.codes[row], Role.SCALE: [scale], **drawn}
            made = {Role.NUMBERS: y.view(f"u{y.itemsize}")[row]}
            found.append((values(config.ports, "input", given), values(config.ports, "output", made)))
    return found


def _together(ports: Sequence[Port]) -> str:
    return "{" + ", ".join(port.name for port in ports) + "}"


def _width(ports: Sequence[Port]) -> int:
    return sum(port.width for port in ports)


def _joined(ports: Sequence[Port], found: Mapping[str, int]) -> int:
    """The value of `_together`, of which the first port has the high bits."""
    joined = 0
    for port in ports:
        joined = joined << port.width | found[port.name]
    return joined
