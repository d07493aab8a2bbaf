"""A cache of the rows of thresholds of a tensor."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import E4M3, FP32
from ..config.nvfp4_encode import Nvfp4Config
from ..emission.modules import instantiated
from ..lanes.store import BlockStore
from ..nvfp4.thresholds import row_shapes
from ..primitives.register import held
from .divider import RowDivider
from .schedule import ROW_CYCLES

ROWS = 1 << E4M3.bits - 1
"""Scales without a sign. A row takes more cycles, in which the rows of the tensor before are given up."""


BANKS = 4
"""Parts of a row, each in a memory of its own."""


def bank_widths(config: Nvfp4Config) -> list[int]:
    """Bits of the parts of a row."""
    width = sum(Shape.cast(shape).width for shape in row_shapes(config).values())
    size = -(-width // BANKS)
    return [min(size, width - place) for place in range(0, width, size)]


class RowStore(BlockStore):
    """A part of the rows. Of a store with registers next to it synthesis makes block RAM, whose results come late."""

    whole = True


class RowBank(wiring.Component):
    """A part of the rows, with its own registers of the scale. So no net reaches all memories.

    Ports
    -----
    enable, scale, word : in, whether a row is written, its scale, and this part of it
    moves, next_scale : in, whether the blocks move, and the scale of the next one
    stored : out, this part of the row of the block that is here
    """

    whole = True

    def __init__(self, width: int) -> None:
        self.width, self.kind = width, f"row_bank{width}"
        scale = (ROWS - 1).bit_length()
        written = {"enable": In(1), "scale": In(scale), "word": In(width)}
        super().__init__({**written, "moves": In(1), "next_scale": In(scale), "stored": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        store = RowStore(self.width, ROWS)
        store.kind = f"row_store{self.width}"
        m.submodules.store = instantiated(store, platform)
        m.d.comb += [
            store.enable.eq(self.enable),
            store.write_beat.eq(self.scale),
            store.word.eq(self.word),
            store.read_beat.eq(held(m, self.moves, "bank", {"scale": self.next_scale})["scale"]),
            self.stored.eq(store.stored),
        ]
        return m


class IsSame(wiring.Component):
    """Are two words the same? Synthesis keeps it apart, and of 32 bits it has three levels of LUTs with four inputs.

    Ports
    -----
    a, b : in
    y : out
    """

    whole = True

    def __init__(self) -> None:
        super().__init__({"a": In(FP32.bits), "b": In(FP32.bits), "y": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        same: list[Value] = [self.a[i : i + 2] == self.b[i : i + 2] for i in range(0, FP32.bits, 2)]
        while len(same) > 1:
            same = [Cat(same[i : i + 4]).all() for i in range(0, len(same), 4)]
        m.d.comb += self.y.eq(same[0])
        return m


class RowCache(wiring.Component):
    """The row of thresholds of each block. It is computed unless it was for a block before, since d changed.

    Ports
    -----
    i_valid, scale, d : in, a block with its scale and the constant of its tensor
    moves : in, whether the blocks move
    waits, done : out, whether the block that has come had no row, and whether it has it now
    block_scale, start, cells, thresholds : out, the scale of this block, and its row
    """

    def __init__(self, config: Nvfp4Config) -> None:
        self.config = config
        rows = {name: Out(shape) for name, shape in row_shapes(config).items()}
        told = {"i_valid": In(1), "moves": In(1), "scale": In(E4M3.bits), "d": In(FP32.bits)}
        super().__init__({**told, "waits": Out(1), "done": Out(1), "block_scale": Out(E4M3.bits), **rows})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        at = held(m, self.moves, "lookup", {"scale": self.scale, "d": self.d})
        scale, d = at["scale"], at["d"]
        computes = Signal()
        clears = Signal()  # all rows are of another constant: their bits are cleared, one in each cycle
        count = Signal((ROW_CYCLES - 1).bit_length())
        is_last = Signal()
        known_d = Signal(FP32.bits - 1, reset_less=True)
        has_d = Signal()
        computed = BlockStore(1, ROWS)
        computed.kind = "computed"
        divider, same = RowDivider(self.config), IsSame()
        m.submodules.computed = instantiated(computed, platform)
        m.submodules.divider = instantiated(divider, platform)
        m.submodules.same = instantiated(same, platform)
        stored = Cat(self.start, self.cells, self.thresholds)
        row = Signal(len(stored), name="row_q", reset_less=True)
        m.d.sync += row.eq(Cat(divider.start, divider.cells, divider.thresholds))
        place = 0
        for number, width in enumerate(bank_widths(self.config)):
            bank, part = RowBank(width), slice(place, place + width)
            place += width
            m.submodules[f"rows{number}"] = instantiated(bank, platform)
            m.d.comb += [
                bank.enable.eq(is_last),
                bank.scale.eq(scale[:-1]),
                bank.word.eq(row[part]),
                bank.moves.eq(self.moves),
                bank.next_scale.eq(self.scale[:-1]),
                stored[part].eq(bank.stored),
            ]
        m.d.comb += [
            computes.eq(self.waits & ~self.done),
            same.a.eq(Cat(self.d[:-1], Const(1, 1))),
            same.b.eq(Cat(known_d, has_d)),
            computed.read_beat.eq(self.scale[:-1]),
            computed.enable.eq(is_last | clears),
            computed.write_beat.eq(Mux(is_last, scale[:-1], count[:-1])),
            computed.word.eq(is_last),
            divider.scale.eq(scale),
            divider.d.eq(d),
            divider.count.eq(count),
            divider.enable.eq(computes),
            self.block_scale.eq(scale),
        ]
        goes_on = clears & ~(computes & count[:-1].all())
        m.d.sync += [  # without an enable, which would depend on the late ``moves``
            self.done.eq((computes & is_last) | (self.done & ~self.moves)),
            clears.eq(Mux(self.moves, self.i_valid & ~same.y, goes_on)),
        ]
        with m.If(self.moves):
            m.d.sync += self.waits.eq(self.i_valid & ~(computed.stored & same.y))
        with m.If(computes):
            m.d.sync += [
                count.eq(Mux(is_last, 0, count + 1)),
                is_last.eq(count == ROW_CYCLES - 2),
                known_d.eq(d[:-1]),
                has_d.eq(1),
            ]
        return m
