"""The block converter: tree, scale unit and one quantizer for each lane. The only place that knows lanes."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec import Amax, BlockFormat, ConverterConfig, FixedFormat, Quantizer, converter_config
from .amax import AmaxTree, ReduceKey
from .element import ElementQuantizer
from .elimination import Elimination
from .mode import mode_port
from .modules import placed
from .operand import lane_name, operand_config, special_flags
from .scale import ScaleUnit
from .table_element import TableQuantizer
from .table_fixed import FixedQuantizer
from .widen import Widen

__all__ = ["BlockConverter"]


class BlockConverter(wiring.Component):
    """Convert ``x`` (element 0 in the low bits) to a scale byte ``scale`` and codes ``p`` (element 0 in the low bits).

    ``mode`` chooses the numerics where the configuration has several; ``random`` are the random bits of stochastic
    rounding, those of element 0 in the low bits. Takes a `ConverterConfig`, or a format with a profile and overrides as
    `spec.converter_config` does. Combinational.
    """

    def __init__(self, config: ConverterConfig | BlockFormat | str, profile: str | None = None, **overrides: object) -> None:
        self._MustUse__used = True  # a configuration that is refused leaves nothing that Amaranth should warn of
        self.config = converter_config(config, profile, **overrides)
        self._MustUse__used = False
        numerics = self.config.numerics
        random = {"random": In(numerics.block_size * numerics.random_bits)} if numerics.random_bits else {}
        super().__init__({"x": In(numerics.block_size * numerics.source.bits), **mode_port(self.config), **random,
                          "scale": Out(numerics.block.scale.bits),
                          "p": Out(numerics.block_size * numerics.block.element.bits)})

    def elaborate(self, platform) -> Module:
        m = Module()
        config = operand_config(self.config)
        numerics, lanes = config.numerics, range(config.numerics.block_size)
        micro = config.microarchitecture
        tree, unit = (AmaxTree if micro.amax is Amax.COMPARE else Elimination)(config), ScaleUnit(config)
        quantizer = ElementQuantizer if micro.quantizer is Quantizer.SHIFT else (
            FixedQuantizer if isinstance(config.numerics.block.element, FixedFormat) else TableQuantizer)
        x = self.operands(m, platform, lanes)
        elements = [quantizer(config) for _ in lanes]
        m.submodules.amax_tree, m.submodules.scale_unit = placed(tree, platform), placed(unit, platform)
        m.d.comb += [tree.x.eq(Cat(x)), self.scale.eq(unit.scale)]
        told = [unit, *elements]
        if tree.reduced:
            told.append(tree)
            m.d.comb += unit.key.eq(tree.amax)
        else:
            key = ReduceKey(config)
            told.append(key)
            m.submodules.reduce_key = placed(key, platform)
            m.d.comb += [key.magnitude.eq(tree.amax), unit.key.eq(key.key)]
        if config.alternatives:
            m.d.comb += [part.mode.eq(self.mode) for part in told]
        bits, count = numerics.block.element.bits, numerics.random_bits
        for lane, element in enumerate(elements):
            m.submodules[lane_name("element", lane, numerics)] = placed(element, platform)
            m.d.comb += [
                element.x.eq(x[lane]),
                element.scale.eq(unit.scale),
                *(getattr(element, flag).eq(getattr(unit, flag)) for flag in special_flags(numerics)),
                *([element.random.eq(self.random[count * lane:count * (lane + 1)])] if count else []),
                self.p[bits * lane:bits * (lane + 1)].eq(element.p),
            ]
        return m

    def operands(self, m: Module, platform, lanes: range) -> list:
        """The number of each lane, widened where the source asks for it."""
        numerics = self.config.numerics
        width = numerics.source.bits
        x = [self.x[width * lane:width * (lane + 1)] for lane in lanes]
        if operand_config(self.config) is self.config:
            return x
        width = operand_config(self.config).numerics.source.bits
        wide = Signal(numerics.block_size * width)
        numbers = [wide[width * lane:width * (lane + 1)] for lane in lanes]
        for lane in lanes:
            widen = Widen(self.config)
            m.submodules[lane_name("widen", lane, numerics)] = placed(widen, platform)
            m.d.comb += [widen.x.eq(x[lane]), numbers[lane].eq(widen.wide)]
        return numbers
