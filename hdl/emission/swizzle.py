"""Scales in tiles of 128 rows and 4 blocks (`spec.ScaleOrder.TILES_128X4`): the offset of a scale, and back."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

TILES_DOWN = 9
"""Bits of the index of a row of tiles: 2**16 rows are 2**9 rows of tiles."""
SHAPE = {"rows": In(17), "columns": In(17)}
"""The shape of the scales: rows, and blocks in a row, 1 to 2**16 each."""


def _tiles_across(columns: Value) -> Value:
    return (columns + 3)[2:17]


def _is_padding(row: Value, column: Value, rows: Value, columns: Value) -> Value:
    """Is this place outside the array, in the padding of its tiles?"""
    return (row >= rows) | (column >= columns)


class SwizzleOffset(wiring.Component):
    """The byte offset of the scale of a row and a block; combinational.

    Ports
    -----
    rows, columns : in, the shape of the scales, 1 to 2**16 each
    row, column : in, a row and a block in it, from 0, in the array or in the padding of its tiles
    offset : out, 32 bits
    is_padding : out, whether this is padding, which is stored as zero
    """

    def __init__(self) -> None:
        super().__init__({**SHAPE, "row": In(16), "column": In(16), "offset": Out(32), "is_padding": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tile = Signal(23)
        m.d.comb += [
            tile.eq(self.row[7:] * _tiles_across(self.columns) + self.column[2:]),
            self.offset.eq(Cat(self.column[:2], self.row[5:7], self.row[:5], tile)),
            self.is_padding.eq(_is_padding(self.row, self.column, self.rows, self.columns)),
        ]
        return m


class SwizzlePlace(wiring.Component):
    """The row and the block of the scale at a byte offset, the inverse of `SwizzleOffset`; combinational.

    Ports
    -----
    rows, columns : in, the shape of the scales, 1 to 2**16 each
    offset : in, a byte offset in the tiles
    row, column : out, a row and a block in it, from 0
    is_padding : out, whether this is padding
    """

    def __init__(self) -> None:
        super().__init__({**SHAPE, "offset": In(32), "row": Out(16), "column": Out(16), "is_padding": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        across = Signal(15)
        m.d.comb += across.eq(_tiles_across(self.columns))
        left: Value = self.offset[9:]  # tiles before this one, minus whole rows of tiles
        down: list[Value] = []
        for bit in reversed(range(TILES_DOWN)):
            taken = Signal(name=f"down_{bit}")
            after = Signal(23, name=f"left_{bit}")
            m.d.comb += [taken.eq(left >= across << bit), after.eq(Mux(taken, left - (across << bit), left))]
            down.insert(0, taken)
            left = after
        m.d.comb += [
            self.row.eq(Cat(self.offset[4:9], self.offset[2:4], *down)),
            self.column.eq(Cat(self.offset[:2], left[:14])),
            self.is_padding.eq(_is_padding(self.row, self.column, self.rows, self.columns)),
        ]
        return m
