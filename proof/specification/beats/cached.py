"""Statements about an NVFP4 encoder with a cache: the blocks on their way, and the rows that it stores."""

from __future__ import annotations

from ....hdl.nvfp4_cache.schedule import ROW_CYCLES
from ...netlist.beats.cached import CachedParts
from ...netlist.beats.cuts import seen
from .induction import Induction, joined, transitions

FLOW = (
    "i_ready is not: o_ready or no o_valid, and the row of the block at the cache is there",
    "a register in front of the cache, or the cache, does not move with i_ready",
    "a register behind the cache does not move with: o_ready or no o_valid",
    "another block enters the cache",
    "o_valid is not set when a block is there, or is set without one",
    "a memory is read at another place than the one that was written so many edges before",
)
"""Faults by the bits of ``wrong`` in `cached_flow.sv`."""


def flow(parts: CachedParts) -> Induction:
    """Blocks on their way, whatever the cache does."""
    top, before, behind = "mxcast_flow", list(parts.before), list(parts.behind)
    delays, bits = parts.delayed, max(1, parts.places.bit_length() - 1)
    valids = {place: f"valid_{place}_q" for place in (*before, "lookup", *behind)}
    reads = {name: f"read_{name}" for name in delays}
    wires = {f"seen_{place}": wire for place, wire in valids.items()}
    if delays:
        wires |= {"seen_write": "write_place", **{f"seen_read_{name}": wire for name, wire in reads.items()}}
    control = seen(parts.flow, wires)
    widths = {name: len(port["bits"]) for name, port in control["ports"].items()}
    pins = [name for name in control["ports"] if name not in INPUTS]
    edges = "".join(f"{count:02x}" for count in reversed(delays.values())) or "00"

    wrapper = f"""// SPDX-License-Identifier: Apache-2.0
module {top}(input clk, {", ".join(INPUTS[1:])}, output i_ready, o_valid, output [5:0] wrong, output assumed,
  output [2:0] related);
  {" ".join(f"wire [{widths[name] - 1}:0] {name};" for name in pins if name not in ("i_ready", "o_valid"))}
  {parts.design.top} design({", ".join(f".{name}({name})" for name in control["ports"])});
  mxcast_cached_flow #(.BEFORE({len(before)}), .BEHIND({len(behind)}), .HAS_DELAYS({int(bool(delays))}),
    .DELAYS({max(1, len(delays))}),
    .PLACE({bits}), .EDGES({8 * max(1, len(delays))}'h{edges})) flow(
    .clk(clk), .rst(rst), .i_valid(i_valid), .i_ready(i_ready), .o_valid(o_valid), .o_ready(o_ready),
    .waits(cache_waits), .done(cache_done), .enters(cache_i_valid), .moves(cache_moves),
    .back_enable(back_enable), .has_block(seen_lookup),
    .before({joined(["i_valid", *(f"seen_{place}" for place in before)])}),
    .behind({joined([f"seen_{place}" for place in behind])}),
    .write_place({"seen_write" if delays else f"{bits}'d0"}),
    .read_places({joined([f"seen_read_{name}" for name in delays]) if delays else f"{bits}'d0"}),
    .wrong(wrong), .assumed(assumed), .related(related));
endmodule
"""
    return Induction(
        name="flow",
        claim="blocks move in order, each behind the one before, and those in front of a block without a row wait",
        top=top,
        relation=transitions(parts.design, control, "cached_flow.sv", wrapper, top),
        related=3,
        wrong=FLOW,
        shown=dict.fromkeys(("rst", "i_valid", "i_ready", "o_valid", "o_ready", "cache_waits", "cache_done"), 1),
    )


ROWS = (
    "the cache gives another scale than its block has",
    "the row at the scale of a block is not the one of this scale and its constant",
    "a block without a row waits longer than a row takes",
    "a scale has a row that is not there",
    "a block waits although its row is there, or a row is forgotten",
)
"""Faults by the bits of ``wrong`` in `row_cache.sv`."""

OF_CACHE = ("i_valid", "moves", "scale", "d", "waits", "done", "block_scale")
"""Ports of the cache that its statements name."""


def rows(parts: CachedParts) -> Induction:
    """The rows that a cache gives, if the division gives the row of a scale and a constant in its last cycle but one.

    One scale is followed, and it is any one. Of each memory its word at this scale is known, and others are free.
    """
    top, control = "mxcast_rows", seen(parts.rows, {f"seen_{name}": name for name in ("has_d", "clears", "known_d")})
    widths = {name: len(port["bits"]) for name, port in control["ports"].items()}
    wires = [name for name in control["ports"] if name not in ("clk", "rst", "i_valid", "moves", "scale", "d")]
    named = {name: name for name in (*OF_CACHE, *(wire for wire in wires if wire not in OF_CACHE))}
    wrapper = f"""// SPDX-License-Identifier: Apache-2.0
module {top}(input clk, rst, i_valid, moves, input [{widths["scale"] - 1}:0] scale, input [{widths["d"] - 1}:0] d,
  input [6:0] followed, input computed_stored, output [{len(ROWS) - 1}:0] wrong, output assumed, output [8:0] related);
  {" ".join(f"wire [{widths[name] - 1}:0] {name};" for name in wires if name != "computed_stored")}
  {parts.design.top} design({", ".join(f".{name}({name})" for name in control["ports"])});
  mxcast_row_cache #(.CYCLES({ROW_CYCLES}), .BANKS({widths["rows_read"] // widths["rows_write"]})) rows(
    .clk(clk), .rst(rst), .followed(followed), .wrong(wrong), .assumed(assumed), .related(related),
    {", ".join(f".{name}({name})" for name in named)});
endmodule
"""
    return Induction(
        name="rows",
        claim="each block has the row of its scale and its constant when it moves, at the latest when one was computed",
        top=top,
        relation=transitions(parts.design, control, "row_cache.sv", wrapper, top),
        related=9,
        wrong=ROWS,
        shown={"rst": 1, "i_valid": 1, "moves": 1, "waits": 1, "done": 1, "scale": 8, "block_scale": 8, "followed": 7},
    )


INPUTS = ("clk", "rst", "i_valid", "o_ready", "cache_waits", "cache_done")
