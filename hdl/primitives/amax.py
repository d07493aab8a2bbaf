"""The largest magnitude of a block, found by a tree of comparators."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec import Encode, Specials
from ..config.architecture import TOGETHER, AmaxKey, Quantizer
from ..config.encode import ConverterConfig
from ..emission.modules import instantiated
from ..encode.mode import by_mode, mode_port
from ..encode.operand import lane_name, operand_layout, scale_key_layout
from ..encode.threshold import Threshold
from .register import Stage, enable_port
from .table import table


def magnitude_width(numerics: Encode) -> int:
    """Width of a source number without its sign."""
    return numerics.source.bits - 1


class ReduceKey(wiring.Component):
    """Reduce a magnitude to the bits that decide the scale (`operand.scale_key_layout`)."""

    def __init__(self, config: ConverterConfig) -> None:
        self.config, self.numerics = config, config.numerics
        super().__init__(
            {"magnitude": In(magnitude_width(self.numerics)), **mode_port(config), "key": Out(scale_key_layout(config))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        numerics, source = self.numerics, self.numerics.source
        fraction = self.magnitude[: source.man_bits]
        exponent = self.magnitude[source.man_bits :]
        m.d.comb += self.key.exponent.eq(exponent)
        if not len(self.key.flag):
            return m
        flag = self.exceeds(m, platform, fraction, exponent)
        if numerics.specials is Specials.INF_SCALE:
            is_special = exponent == (1 << source.exp_bits) - 1
            flag = Mux(is_special, fraction.any(), flag)
        m.d.comb += self.key.flag.eq(flag)
        return m

    def exceeds(self, m: Module, platform: object, fraction: Value, exponent: Value) -> Value | int:
        """Does the fraction raise the scale by one?"""
        thresholds = [Threshold.of(mode) for mode in self.config.modes]
        never = (1 << len(fraction)) - 1

        def above(limits: list[int], where: str) -> Value | int:
            if set(limits) == {never}:
                return 0
            if self.config.microarchitecture.quantizer is Quantizer.TABLE:
                return self.above(m, platform, where, fraction, limits[0])
            return fraction > by_mode(self, limits)

        exceeds = above([t.in_binade for t in thresholds], "in_binade")
        if any(t.at_bottom != t.in_binade for t in thresholds):
            bottom, bottoms = above([t.at_bottom for t in thresholds], "at_bottom"), {t.bottom for t in thresholds}
            if bottoms == {0}:
                return Mux(exponent.any(), exceeds, bottom)
            return Mux(exponent == by_mode(self, [t.bottom for t in thresholds]), bottom, exceeds)
        return exceeds

    def above(self, m: Module, platform: object, where: str, fraction: Value, limit: int) -> Value:
        """``fraction > limit``. If they suffice, it is computed from the bits and the sticky bit that the element
        quantizer uses.
        """
        kept = self.numerics.block.element.fraction_bits + 1
        rest = len(fraction) - kept
        if rest <= 0 or limit & (1 << rest) - 1 not in (0, (1 << rest) - 1):
            return fraction > limit
        first, sticky = limit >> rest, [fraction[:rest].any()] if not limit & (1 << rest) - 1 else []

        def function(*bits: int) -> bool:
            number = sum(bit << i for i, bit in enumerate(bits[:kept]))
            return number > first or (number == first and any(bits[kept:]))

        return table(m, platform, self.config, f"exceeds_{where}", function, *fraction[rest:], *sticky)


def inner_stages(config: ConverterConfig) -> tuple[str, ...]:
    """Stage boundaries inside the tree. The last level is its output, so it is not one of them."""
    places = config.tree_stages
    return places[:-1] if config.microarchitecture.amax_key is AmaxKey.REDUCED else places[:-2]


def largest(numbers: list[Value]) -> Value:
    """The larger of two numbers, or the largest of four.

    Four numbers are compared each with each, so that no comparison waits for the winners of both halves.
    """
    if len(numbers) == 2:
        a, b = numbers
        return Mux(a > b, a, b)
    a, b, c, d = numbers
    left, right = a > b, c > d
    from_left = Mux(left, Mux(right, a > c, a > d), Mux(right, b > c, b > d))
    return Mux(from_left, Mux(left, a, b), Mux(right, c, d))


class AmaxTree(wiring.Component):
    """The largest of the magnitudes that enter together, in log2(lanes) levels (FPGA paper, section III.A), or in half
    as many levels of nodes that compare four. It is combinational without registers, which are between the levels only.

    Parameters
    ----------
    config : a `ConverterConfig` whose ``amax`` is ``compare`` or ``radix4``

    Ports
    -----
    x : in, ``config.lanes`` numbers of the source, element 0 in the low bits
    mode : in, the number of the mode; if the configuration has several and keys are reduced
    enable : in, enable of the registers inside
    amax : out, the key of the largest magnitude (`operand.scale_key_layout`), or the magnitude itself if the
        micro-architecture compares whole magnitudes
    """

    def __init__(self, config: ConverterConfig) -> None:
        self.config, self.numerics = config, config.numerics
        self.reduced = config.microarchitecture.amax_key is AmaxKey.REDUCED
        key = scale_key_layout(config) if self.reduced else unsigned(magnitude_width(self.numerics))
        super().__init__(
            {
                "x": In(config.lanes * self.numerics.source.bits),
                **(mode_port(config) if self.reduced else {}),
                **enable_port(config, inner_stages(config)),
                "amax": Out(key),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = self.numerics.source.bits
        level = [
            self.leaf(m, platform, lane, self.x[width * lane : width * (lane + 1)]) for lane in range(self.config.lanes)
        ]
        if self.reduced and len(level) > 1:  # the key of one number is the output
            nodes = {node.name: node for node in level}
            inverted = nodes if self.numerics.specials is not Specials.NAN_BLOCK else ()
            level = list(Stage(m, self).crossed("key", store_inverted=inverted, **nodes).values.values())
        together, depth = TOGETHER[self.config.microarchitecture.amax], 0
        while len(level) > 1:
            depth += 1
            groups = [level[first : first + together] for first in range(0, len(level), together)]
            amax = Value.cast(self.amax)
            level = (
                [amax]
                if len(groups) == 1
                else [Signal(len(amax), name=f"level{depth}_{node}") for node in range(len(groups))]
            )
            m.d.comb += [winner.eq(largest(group)) for winner, group in zip(level, groups)]
            if len(groups) > 1:
                crossed = Stage(m, self).crossed(f"level{depth}", **{node.name: node for node in level})
                level = list(crossed.values.values())
        if self.config.lanes == 1:
            m.d.comb += Value.cast(self.amax).eq(level[0])
        return m

    def leaf(self, m: Module, platform: object, lane: int, x: Value) -> Signal:
        """The input of a lane to the tree."""
        left_out = self.left_out(x)
        key = self.key(m, platform, lane, x[:-1] if left_out is None else Mux(left_out, 0, x[:-1]))
        leaf = Signal(len(key), name=f"level0_{lane}")
        m.d.comb += leaf.eq(key)
        return leaf

    def left_out(self, x: Value) -> Value | None:
        """Is the number left out of the maximum? None if no number is."""
        number = data.View(operand_layout(self.numerics), x)
        if self.numerics.specials is Specials.DROP:
            return number.exponent.all()
        if self.numerics.specials is Specials.TE:
            return number.exponent.all() & number.fraction.any()
        return None

    def key(self, m: Module, platform: object, lane: int, magnitude: Value) -> Value:
        """The bits of a magnitude that the tree compares."""
        if not self.reduced:
            return magnitude
        reduce_key = ReduceKey(self.config)
        m.submodules[lane_name("key", lane, self.numerics)] = instantiated(reduce_key, platform)
        m.d.comb += reduce_key.magnitude.eq(magnitude)
        if self.config.alternatives:
            m.d.comb += reduce_key.mode.eq(self.mode)
        return reduce_key.key.as_value()
