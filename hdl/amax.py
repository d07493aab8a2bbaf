"""The largest magnitude of a block, by a tree of two-input comparators."""

from __future__ import annotations

from fractions import Fraction

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..spec import AmaxKey, ConverterConfig, Numerics, ScaleRule, Specials, Subnormals
from .operand import lane_name, operand_layout, scale_key_layout
from .modules import placed

__all__ = ["AmaxTree", "ReduceKey", "magnitude_width"]


def magnitude_width(numerics: Numerics) -> int:
    """Width of a source number without its sign."""
    return numerics.source.bits - 1


class ReduceKey(wiring.Component):
    """Reduce a magnitude to what the scale depends on; see `operand.scale_key_layout`."""

    def __init__(self, config: ConverterConfig) -> None:
        self.numerics = config.numerics
        super().__init__({"magnitude": In(magnitude_width(self.numerics)), "key": Out(scale_key_layout(self.numerics))})

    def elaborate(self, platform) -> Module:
        m = Module()
        numerics, source = self.numerics, self.numerics.source
        fraction = self.magnitude[:source.man_bits]
        exponent = self.magnitude[source.man_bits:]
        m.d.comb += self.key.exponent.eq(exponent)
        flag = 0
        if numerics.scale_rule is ScaleRule.CEIL:
            flag = self.exceeds_largest(fraction, exponent)
        if numerics.specials is Specials.INF_SCALE:
            is_special = exponent == (1 << source.exp_bits) - 1
            flag = Mux(is_special, fraction.any(), flag)
        if len(self.key.flag):
            m.d.comb += self.key.flag.eq(flag)
        return m

    def exceeds_largest(self, fraction, exponent):
        """Is the magnitude above the largest element value, both scaled to the binade of the magnitude?

        Subnormal magnitudes are compared at the smallest scale. That comparison is constant unless the largest
        element value is below 2; otherwise any answer is clamped away by the scale unit.
        """
        numerics, element = self.numerics, self.numerics.block.element
        ulp = Fraction(1, 1 << numerics.source.man_bits)
        in_binade = (element.max_value / Fraction(2) ** element.emax - 1) / ulp
        at_bottom = element.max_value / 2 / ulp
        exceeds = fraction > int(in_binade)
        if element.emax < 1:
            exact = numerics.input_subnormals is Subnormals.EXACT
            exceeds = Mux(exponent.any(), exceeds, fraction > int(at_bottom) if exact else 0)
        return exceeds


class AmaxTree(wiring.Component):
    """The largest of ``block_size`` magnitudes, in log2(block_size) levels (FPGA paper, section III.A).

    ``x`` holds the source numbers, the first in the low bits; ``amax`` is the key of the largest magnitude, or the
    magnitude itself where the micro-architecture compares those. Combinational.
    """

    def __init__(self, config: ConverterConfig) -> None:
        self.config, self.numerics = config, config.numerics
        self.reduced = config.microarchitecture.amax_key is AmaxKey.REDUCED
        key = scale_key_layout(self.numerics) if self.reduced else unsigned(magnitude_width(self.numerics))
        super().__init__({"x": In(self.numerics.block_size * self.numerics.source.bits), "amax": Out(key)})

    def elaborate(self, platform) -> Module:
        m = Module()
        width = self.numerics.source.bits
        level = [self.leaf(m, platform, lane, self.x[width * lane:width * (lane + 1)])
                 for lane in range(self.numerics.block_size)]
        depth = 0
        while len(level) > 1:
            depth += 1
            pairs = list(zip(level[0::2], level[1::2]))
            amax = Value.cast(self.amax)
            level = [amax] if len(pairs) == 1 else [
                Signal(len(amax), name=f"level{depth}_{node}") for node in range(len(pairs))]
            m.d.comb += [winner.eq(Mux(a > b, a, b)) for winner, (a, b) in zip(level, pairs)]
        return m

    def leaf(self, m: Module, platform, lane: int, x) -> Signal:
        """What a lane brings to the tree."""
        number = data.View(operand_layout(self.numerics), x)
        magnitude = x[:-1]
        if self.numerics.specials is Specials.DROP:
            is_special = number.exponent.all()
            magnitude = Mux(is_special, 0, magnitude)
        leaf = Signal(len(Value.cast(self.amax)), name=f"level0_{lane}")
        if self.reduced:
            reduce_key = ReduceKey(self.config)
            m.submodules[lane_name("key", lane, self.numerics)] = placed(reduce_key, platform)
            m.d.comb += [reduce_key.magnitude.eq(magnitude), leaf.eq(reduce_key.key.as_value())]
        else:
            m.d.comb += leaf.eq(magnitude)
        return leaf
