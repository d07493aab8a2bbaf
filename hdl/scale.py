"""The scale unit: from the largest magnitude of a block to its scale byte (the FPGA paper's ``div``)."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec import ConverterConfig, ScaleRule, Specials
from .operand import scale_key_layout, special_flags

__all__ = ["ScaleUnit"]


class ScaleUnit(wiring.Component):
    """Scale byte of a block from the key of its largest magnitude, and the flags of a special block.

    Combinational.
    """

    def __init__(self, config: ConverterConfig) -> None:
        self.numerics = config.numerics
        super().__init__({"key": In(scale_key_layout(self.numerics)), "scale": Out(self.numerics.block.scale.bits),
                          **{flag: Out(1) for flag in special_flags(self.numerics)}})

    def elaborate(self, platform) -> Module:
        m = Module()
        numerics, source = self.numerics, self.numerics.source
        element, scale = numerics.block.element, numerics.block.scale
        by_bias = numerics.scale_rule is ScaleRule.BIAS_FLOOR
        # biased exponent of the source -> scale byte: X = exponent - source bias - offset, byte = X + scale bias
        offset = (element.bias if by_bias else element.emax) + source.bias - scale.bias
        rounded = Signal(source.exp_bits + 1)  # the exponent, one up where the scale rule says so
        goes_up = self.key.flag if numerics.scale_rule is ScaleRule.CEIL else 0
        m.d.comb += rounded.eq(self.key.exponent + goes_up)
        clamped = Mux(rounded < offset, 0, rounded - offset) if offset else rounded
        largest_number = (1 << source.exp_bits) - 2 + (numerics.scale_rule is ScaleRule.CEIL)
        if largest_number - offset > scale.max_code:
            clamped = Mux(rounded > scale.max_code + offset, scale.max_code, clamped)

        is_special = self.key.exponent.all()
        if numerics.specials is Specials.NAN_BLOCK:
            m.d.comb += self.nan.eq(is_special)
            clamped = Mux(self.nan, scale.nan_code, clamped)
        if numerics.specials is Specials.INF_SCALE:
            m.d.comb += [self.nan.eq(is_special & self.key.flag), self.inf.eq(is_special & ~self.key.flag)]
            clamped = Mux(self.nan, scale.nan_code, Mux(self.inf, scale.max_code, clamped))
        m.d.comb += self.scale.eq(clamped)
        return m
