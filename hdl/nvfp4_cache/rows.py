"""A cache of the rows of thresholds of a tensor."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
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


class RowStore(BlockStore):
    """The rows. Of a store with registers behind it synthesis makes block RAM, whose results come late."""

    whole = True


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
        differs = Signal(reset_less=True)  # and all rows are of another constant than its own
        count = Signal((ROW_CYCLES - 1).bit_length())
        is_last = Signal()
        known_d = Signal(FP32.bits - 1, reset_less=True)
        has_d = Signal()
        is_same = Signal()
        computed = BlockStore(1, ROWS)
        rows = RowStore(sum(len(getattr(self, name)) for name in row_shapes(self.config)), ROWS)
        computed.kind = "computed"
        divider = RowDivider(self.config)
        m.submodules.computed = instantiated(computed, platform)
        m.submodules.divider = instantiated(divider, platform)
        m.submodules.rows = instantiated(rows, platform)
        row = Signal(len(rows.word), name="row_q", reset_less=True)
        m.d.sync += row.eq(Cat(divider.start, divider.cells, divider.thresholds))
        m.d.comb += [
            computes.eq(self.waits & ~self.done),
            is_same.eq(has_d & (self.d[:-1] == known_d)),
            computed.read_beat.eq(self.scale[:-1]),
            computed.enable.eq(computes & (is_last | (differs & ~count[-1]))),
            computed.write_beat.eq(Mux(is_last, scale[:-1], count[:-1])),
            computed.word.eq(is_last),
            divider.scale.eq(scale),
            divider.d.eq(d),
            divider.count.eq(count),
            divider.enable.eq(computes),
            rows.enable.eq(is_last),
            rows.write_beat.eq(scale[:-1]),
            rows.word.eq(row),
            rows.read_beat.eq(scale[:-1]),
            Cat(self.start, self.cells, self.thresholds).eq(rows.stored),
            self.block_scale.eq(scale),
        ]
        with m.If(self.moves):
            m.d.sync += [
                self.waits.eq(self.i_valid & ~(computed.stored & is_same)),
                differs.eq(~is_same),
                self.done.eq(0),
            ]
        with m.If(computes):
            m.d.sync += [
                count.eq(Mux(is_last, 0, count + 1)),
                is_last.eq(count == ROW_CYCLES - 2),
                self.done.eq(is_last),
                known_d.eq(d[:-1]),
                has_d.eq(1),
            ]
        return m
