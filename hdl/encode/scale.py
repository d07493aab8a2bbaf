"""The scale unit: from the largest magnitude of a block to its scale byte (the FPGA paper's ``div``)."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import Encode, Rounding, ScaleRule, Specials
from ..config.encode import ConverterConfig
from .mode import by_mode, mode_port
from .operand import scale_key_layout, special_flags
from .threshold import exceeds_largest, exponent_offset, rounds_up


def scale_offset(numerics: Encode) -> int:
    """Biased exponent of the source minus scale byte: X = exponent - source bias - offset, byte = X + scale bias."""
    return exponent_offset(numerics) + numerics.source.bias - numerics.block.scale.bias


def starts_at_one(numerics: Encode) -> bool:
    """Whether an exponent equal to the offset gives byte 1, as the next exponent does. Under `ScaleRule.LINEAR_NEAREST`
    products between 2**-127 and 2**-126 are rounded up, because the first bit of their fractions is set.
    """
    is_nearest = numerics.scale_rule is ScaleRule.LINEAR_NEAREST
    return is_nearest and exponent_offset(numerics) > numerics.block.element.emax


def largest_scale(numerics: Encode) -> int:
    """The largest byte of a block that is not NaN."""
    if numerics.specials in (Specials.INF_SCALE, Specials.TE):
        return numerics.block.scale.max_code
    return min(_unlimited(numerics), numerics.block.scale.max_code)


def leaves_above(numerics: Encode) -> bool:
    """Can a number be above the largest element under its scale? It cannot if the rule uses the fraction and the scale
    format has the byte of the rule.
    """
    return (
        exceeds_largest(numerics.scale_rule)
        or numerics.specials is Specials.DROP
        or numerics.rounding is Rounding.GUARD_HALF_UP  # its largest code is smaller
        or _unlimited(numerics) > numerics.block.scale.max_code
    )


def _unlimited(numerics: Encode) -> int:
    """The scale byte of the largest number under the rule, without limits."""
    return (1 << numerics.source.exp_bits) - 2 + rounds_up(numerics.scale_rule) - scale_offset(numerics)


class ScaleUnit(wiring.Component):
    """Scale byte of a block from the key of its largest magnitude, and the flags of a special block; combinational.

    Parameters
    ----------
    config : a `ConverterConfig`

    Ports
    -----
    key : in, the key of the largest magnitude (`operand.scale_key_layout`)
    mode : in, the number of the mode; if the configuration has several
    scale : out, the scale byte
    nan, inf : out, whether the block is special, if `operand.special_flags` lists them
    """

    def __init__(self, config: ConverterConfig) -> None:
        self.config, self.numerics = config, config.numerics
        super().__init__(
            {
                "key": In(scale_key_layout(config)),
                **mode_port(config),
                "scale": Out(self.numerics.block.scale.bits),
                **{flag: Out(1) for flag in special_flags(self.numerics)},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        numerics, source, scale = self.numerics, self.numerics.source, self.numerics.block.scale
        added = [rounds_up(mode.scale_rule) for mode in self.config.modes]
        offsets = [scale_offset(mode) for mode in self.config.modes]
        offset = by_mode(self, offsets)
        rounded = Signal(source.exp_bits + 1)  # the exponent, one higher if the scale rule adds one
        m.d.comb += rounded.eq(self.key.exponent + (self.key.flag if any(added) else 0))
        clamped = Mux(rounded < offset, 0, rounded - offset) if any(offsets) else rounded
        at_one = [starts_at_one(mode) for mode in self.config.modes]
        if any(at_one):
            clamped = clamped | ((rounded == offset) & by_mode(self, list(map(int, at_one))))
        largest_number = (1 << source.exp_bits) - 2
        if any(largest_number + up - by > scale.max_code for up, by in zip(added, offsets)):
            clamped = Mux(rounded > scale.max_code + offset, scale.max_code, clamped)

        is_special = self.key.exponent.all()
        if numerics.specials is Specials.NAN_BLOCK:
            m.d.comb += self.nan.eq(is_special)
            clamped = Mux(self.nan, scale.nan_code, clamped)
        if numerics.specials is Specials.INF_SCALE:
            m.d.comb += [self.nan.eq(is_special & self.key.flag), self.inf.eq(is_special & ~self.key.flag)]
            clamped = Mux(self.nan, scale.nan_code, Mux(self.inf, scale.max_code, clamped))
        if numerics.specials is Specials.TE:  # the tree lets no NaN through, so this is Inf
            clamped = Mux(is_special, scale.max_code, clamped)
        m.d.comb += self.scale.eq(clamped)
        return m
