"""The largest key of a block by elimination: two bits at a time from the top, lanes with less drop out.

With the digits of the lanes that are still in, some lane has the high bit (``some_high``); then the low bit of the
largest digit is set if some lane has both, otherwise if some lane has it. No key is ever moved, so a step costs the three
ORs over all lanes and one function for each lane, less than the multiplexers of a tree.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec import Amax, ConverterConfig
from .amax import AmaxTree
from .modules import placed
from .table import table

__all__ = ["Elimination", "Some"]

LUT_INPUTS = 6


class Some(wiring.Component):
    """``y``: has some lane all its ``width`` bits set? On a carry chain, with as many lanes a position as a LUT takes."""

    whole = True

    def __init__(self, lanes: int, width: int) -> None:
        self.lanes, self.width, self.kind = lanes, width, f"some_{lanes}x{width}"
        super().__init__({"i": In(lanes * width), "y": Out(1)})

    def elaborate(self, platform) -> Module:
        m = Module()
        lanes = [self.i[self.width * lane:self.width * (lane + 1)].all() for lane in range(self.lanes)]
        together = max(LUT_INPUTS // self.width, 1)
        positions = [Cat(lanes[first:first + together]).any() for first in range(0, self.lanes, together)]
        chain = Signal(len(positions) + 1)  # a position that is set makes a carry, and all positions pass it on
        m.d.comb += [chain.eq(Cat(positions) + Const((1 << len(positions)) - 1, len(positions))), self.y.eq(chain[-1])]
        return m


class Elimination(AmaxTree):
    """`AmaxTree` by another method, with the same ports. Combinational."""

    kind = "amax_tree"

    def elaborate(self, platform) -> Module:
        m = Module()
        width, config = self.numerics.source.bits, self.config
        lanes = [self.x[width * lane:width * (lane + 1)] for lane in range(self.numerics.block_size)]
        still_in = [[] if (counts := self.counts(x)) is None else [counts] for x in lanes]
        flags, exponents = [], []
        for lane, x in enumerate(lanes):
            key = self.key(m, platform, lane, x[:-1])
            flags.append(key[:-self.numerics.source.exp_bits])
            exponents.append(x[self.numerics.source.man_bits:-1])
        found = []
        for high in range(self.numerics.source.exp_bits - 1, 0, -2):
            digits = [(exponent[high], exponent[high - 1]) for exponent in exponents]
            some_high = self.some(m, platform, f"some_high{high}", [[*now, digit[0]] for now, digit in zip(still_in, digits)])
            some_low = self.some(m, platform, f"some_low{high}", [[*now, digit[1]] for now, digit in zip(still_in, digits)])
            some_both = self.some(m, platform, f"some_both{high}", [[*now, *digit] for now, digit in zip(still_in, digits)])
            low = table(m, platform, config, "low_bit", lambda high, low, both: both if high else low,
                        some_high, some_low, some_both, signal=f"low_bit{high}")
            found = [low, some_high, *found]
            if high > 1:
                now_in = "stays_in" if still_in[0] else "is_in"
            elif len(flags[0]):  # at last, the flag too
                now_in, still_in = "raises", [[*now, flag] for now, flag in zip(still_in, flags)]
            else:
                break
            still_in = [[table(m, platform, config, now_in, lambda *bits: all(bits[:-4]) and bits[-4:-2] == bits[-2:],
                               *now, *digit, some_high, low, signal=f"{now_in}{high}_{lane}")]
                        for lane, (now, digit) in enumerate(zip(still_in, digits))]
        flag = [self.some(m, platform, "some_flag", still_in)] if len(flags[0]) else []
        m.d.comb += Value.cast(self.amax).eq(Cat(flag, found))
        return m

    def some(self, m: Module, platform, name: str, lanes: list[list[Value]]) -> Signal:
        """Has some lane all its bits set?"""
        some = Signal(name=name)
        if self.config.microarchitecture.amax is Amax.CHAINS:
            part = Some(len(lanes), len(lanes[0]))
            m.submodules[f"find_{name}"] = placed(part, platform)
            m.d.comb += [part.i.eq(Cat(lanes)), some.eq(part.y)]
        else:
            m.d.comb += some.eq(Cat(Cat(bits).all() for bits in lanes).any())
        return some
