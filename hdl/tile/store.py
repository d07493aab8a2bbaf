"""Stores of a tile: of its numbers and results by rows, and of codes that are written by rows and read by columns."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, MemoryData, MemoryInstance, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..lanes.store import BlockStore


class ResultStore(BlockStore):
    """The store of row blocks, and of the scales of columns, while the codes of the columns are transposed."""


class TurningStore(wiring.Component):
    """A square of codes that is written by rows and read by columns, one of each in a cycle.

    Row r, column c is in bank r ^ c, so all codes of a row, and all codes of a column, are in different banks. The next
    square replaces columns that are read by its rows: it is stored transposed. So one square of memory suffices,
    and squares are stored alternately by rows (address r in each bank) and transposed (address c). An address is the
    number of the row or column, or its exclusive or with the number of the bank.

    Parameters
    ----------
    side : rows and columns, a power of two
    bits : bits of a code

    Ports
    -----
    enable : in, whether a row is written
    write_row, write_transposed : in, its number, and whether its square is stored transposed
    row : in, its codes, column 0 in the low bits
    read_column, read_transposed : in, the column that is read, and whether its square is stored transposed
    column : out, its codes, row 0 in the low bits
    """

    def __init__(self, side: int, bits: int) -> None:
        self.side, self.bits = side, bits
        number = (side - 1).bit_length()
        super().__init__(
            {
                "enable": In(1),
                "write_row": In(number),
                "write_transposed": In(1),
                "row": In(side * bits),
                "read_column": In(number),
                "read_transposed": In(1),
                "column": Out(side * bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        written = self.exchanged(m, "row", self.row, self.write_row)
        stored = Signal(self.side * self.bits)
        for bank in range(self.side):
            number = Const(bank, len(self.write_row))
            m.submodules[f"bank{bank}"] = memory = MemoryInstance(
                data=MemoryData(shape=self.bits, depth=self.side, init=[])
            )
            memory.write_port(
                domain="sync",
                addr=self.write_row ^ (number & self.write_transposed.replicate(len(number))),
                data=written.word_select(bank, self.bits),
                en=self.enable,
            )
            memory.read_port(
                domain="comb",
                addr=self.read_column ^ (number & ~self.read_transposed.replicate(len(number))),
                data=stored.word_select(bank, self.bits),
                en=Const(1),
                transparent_for=(),
            )
        m.d.comb += self.column.eq(self.exchanged(m, "column", stored, self.read_column))
        return m

    def exchanged(self, m: Module, name: str, codes: Value, number: Value) -> Value:
        """Codes in the order in which code i is at place i ^ ``number``. Each bit of the number exchanges neighbours at
        a distance, so that two of these steps are one four-to-one multiplexer.
        """
        for place, bit in enumerate(number):
            crossed = Cat(codes.word_select(i ^ 1 << place, self.bits) for i in range(self.side))
            after = Signal(len(codes), name=f"{name}_exchanged{place}")
            m.d.comb += after.eq(Mux(bit, crossed, codes))
            codes = after
        return codes
