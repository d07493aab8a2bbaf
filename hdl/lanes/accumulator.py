"""The largest key of the beats of a block so far."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class KeyAccumulator(wiring.Component):
    """A register with the largest key of a block. The first beat replaces the key of the block before.

    So it holds the key of a whole block from its last beat to the first beat of the next block.

    Parameters
    ----------
    shape : the shape of a key

    Ports
    -----
    enable : in, whether a beat is taken
    is_first : in, whether it is the first of its block
    key : in, its largest key
    amax : out, the largest key of all beats that are taken
    """

    def __init__(self, shape: ShapeLike) -> None:
        super().__init__({"enable": In(1), "is_first": In(1), "key": In(shape), "amax": Out(shape)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        key = Value.cast(self.key)
        amax_q = Signal(len(key), reset_less=True)
        with m.If(self.enable & (self.is_first | (key > amax_q))):
            m.d.sync += amax_q.eq(key)
        m.d.comb += self.amax.eq(amax_q)
        return m


class KeyHolder(wiring.Component):
    """`KeyAccumulator` with a second register for the key of a complete block, while the next block is compared.

    Ports
    -----
    enable, is_first, key : in, as of `KeyAccumulator`
    is_last : in, whether the beat is the last of its block
    amax : out, the largest key of the last complete block
    """

    def __init__(self, shape: ShapeLike) -> None:
        super().__init__({"enable": In(1), "is_first": In(1), "is_last": In(1), "key": In(shape), "amax": Out(shape)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        key = Value.cast(self.key)
        largest_q = Signal(len(key), reset_less=True)
        amax_q = Signal(len(key), reset_less=True)
        largest = Signal(len(key))
        m.d.comb += [largest.eq(Mux(self.is_first | (key > largest_q), key, largest_q)), self.amax.eq(amax_q)]
        with m.If(self.enable):
            m.d.sync += largest_q.eq(largest)
            with m.If(self.is_last):
                m.d.sync += amax_q.eq(largest)
        return m
