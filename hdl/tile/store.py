"""Stores of a tile: of its rows, of its columns, and of their codes on the way to the transposed copy."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, MemoryData, MemoryInstance, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..lanes.store import BlockStore


class ResultStore(BlockStore):
    """The store of row blocks, and of the scales of columns, while the codes of the columns are transposed."""


class BankedStore(wiring.Component):
    """A square in banks of one word for each place. In a cycle all banks are read at one place, or crossed: bank b at
    this place ^ b. A row is written in the same way.

    The next square replaces words that are read. If it is written as the one before is read, one crossed and the other
    not, one square of memory is enough.

    Parameters
    ----------
    side : banks, and words of a bank, a power of two
    bits : bits of a word

    Ports
    -----
    enable : in, whether words are written
    write_place, write_crossed : in, their place, and whether it is crossed
    words : in, a word for each bank, bank 0 in the low bits
    read_place, read_crossed : in, the place that is read, and whether it is crossed
    stored : out, the words there
    """

    def __init__(self, side: int, bits: int) -> None:
        self.side, self.bits = side, bits
        place = (side - 1).bit_length()
        super().__init__(
            {
                "enable": In(1),
                "write_place": In(place),
                "write_crossed": In(1),
                "words": In(side * bits),
                "read_place": In(place),
                "read_crossed": In(1),
                "stored": Out(side * bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for bank in range(self.side):

            def address(place: Value, crossed: Value, number: int = bank) -> Value:
                return place ^ (Const(number, len(place)) & crossed.replicate(len(place)))

            m.submodules[f"bank{bank}"] = memory = MemoryInstance(
                data=MemoryData(shape=self.bits, depth=self.side, init=[])
            )
            memory.write_port(
                domain="sync",
                addr=address(self.write_place, self.write_crossed),
                data=self.words.word_select(bank, self.bits),
                en=self.enable,
            )
            memory.read_port(
                domain="comb",
                addr=address(self.read_place, self.read_crossed),
                data=self.stored.word_select(bank, self.bits),
                en=Const(1),
                transparent_for=(),
            )
        return m


class ColumnStore(BankedStore):
    """The numbers of a tile, with a bank for each column. At place t, column c gives row t ^ c."""


class CodeStore(BankedStore):
    """The codes of a tile under the scales of its columns, with a bank for each row."""


class Exchange(wiring.Component):
    """Move the word of each column c, which is of row ``place`` ^ c, to the place of its row.

    Each bit of ``place`` exchanges neighbours at a distance. Two of these steps are one four-to-one multiplexer.

    Ports
    -----
    place : in
    by_column : in, the word of each column, column 0 in the low bits
    by_row : out, the word of each row, row 0 in the low bits
    """

    def __init__(self, side: int, bits: int) -> None:
        self.side, self.bits = side, bits
        word = side * bits
        super().__init__({"place": In((side - 1).bit_length()), "by_column": In(word), "by_row": Out(word)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words: Value = self.by_column
        for step, bit in enumerate(self.place):
            crossed = Cat(words.word_select(i ^ 1 << step, self.bits) for i in range(self.side))
            exchanged = Signal(len(words), name=f"exchanged_{1 << step}")
            m.d.comb += exchanged.eq(Mux(bit, crossed, words))
            words = exchanged
        m.d.comb += self.by_row.eq(words)
        return m
