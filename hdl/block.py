"""The block converter: tree, scale unit and one quantizer for each lane. The only place that knows lanes."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec import BlockFormat, ConverterConfig, converter_config
from .amax import AmaxTree, ReduceKey
from .element import ElementQuantizer
from .operand import lane_name, special_flags
from .scale import ScaleUnit
from .modules import placed

__all__ = ["BlockConverter"]


class BlockConverter(wiring.Component):
    """Convert ``x`` (element 0 in the low bits) to a scale byte ``scale`` and codes ``p`` (element 0 in the low bits).

    Takes a `ConverterConfig`, or a format with a profile and overrides as `spec.converter_config` does. Combinational.
    """

    def __init__(self, config: ConverterConfig | BlockFormat | str, profile: str | None = None, **overrides: object) -> None:
        self._MustUse__used = True  # a configuration that is refused leaves nothing that Amaranth should warn of
        self.config = converter_config(config, profile, **overrides)
        self._MustUse__used = False
        numerics = self.config.numerics
        super().__init__({"x": In(numerics.block_size * numerics.source.bits),
                          "scale": Out(numerics.block.scale.bits),
                          "p": Out(numerics.block_size * numerics.block.element.bits)})

    def elaborate(self, platform) -> Module:
        m = Module()
        config, numerics = self.config, self.config.numerics
        tree, unit = AmaxTree(config), ScaleUnit(config)
        m.submodules.amax_tree, m.submodules.scale_unit = placed(tree, platform), placed(unit, platform)
        m.d.comb += [tree.x.eq(self.x), self.scale.eq(unit.scale)]
        if tree.reduced:
            m.d.comb += unit.key.eq(tree.amax)
        else:
            key = ReduceKey(config)
            m.submodules.reduce_key = placed(key, platform)
            m.d.comb += [key.magnitude.eq(tree.amax), unit.key.eq(key.key)]
        width, bits = numerics.source.bits, numerics.block.element.bits
        for lane in range(numerics.block_size):
            element = ElementQuantizer(config)
            m.submodules[lane_name("element", lane, numerics)] = placed(element, platform)
            m.d.comb += [
                element.x.eq(self.x[width * lane:width * (lane + 1)]),
                element.scale.eq(unit.scale),
                *(getattr(element, flag).eq(getattr(unit, flag)) for flag in special_flags(numerics)),
                self.p[bits * lane:bits * (lane + 1)].eq(element.p),
            ]
        return m
