"""Exact conversion of FP16 to a format in which every FP16 number is normal."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config.encode import ConverterConfig
from ..encode.operand import operand_config, operand_layout


class Widen(wiring.Component):
    """Convert ``x``, a source number, to ``wide``, the same number with more exponent bits; combinational.

    Subnormal numbers are shifted up until their leading one is the hidden bit. NaN and Inf keep their fraction.
    """

    def __init__(self, config: ConverterConfig) -> None:
        self.narrow, self.target = config.numerics, operand_config(config).numerics.source
        super().__init__({"x": In(self.narrow.source.bits), "wide": Out(self.target.bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, target = self.narrow.source, self.target
        number = data.View(operand_layout(self.narrow), self.x)
        is_subnormal = Signal()
        m.d.comb += is_subnormal.eq(~number.exponent.any())

        fraction, places = number.fraction, []  # places, largest first
        for i in reversed(range(source.man_bits.bit_length())):
            step = Signal(name=f"up{1 << i}")
            moved = Signal(source.man_bits, name=f"fraction{i}")
            m.d.comb += [
                step.eq(~fraction[-(1 << i) :].any()),
                moved.eq(Mux(step, Cat(Const(0, 1 << i), fraction[: -(1 << i)]), fraction)),
            ]
            fraction = moved
            places.append(step)
        # the leading one, if any, is now at the top of the fraction, one place below the hidden bit
        rebias = target.bias - source.bias
        exponent = Signal(target.exp_bits)
        m.d.comb += exponent.eq(
            Mux(
                is_subnormal,
                Mux(fraction[-1], rebias - Cat(reversed(places)), 0),
                Mux(number.exponent.all(), (1 << target.exp_bits) - 1, number.exponent + rebias),
            )
        )
        m.d.comb += self.wide.eq(
            Cat(
                Const(0, target.man_bits - source.man_bits),
                Mux(is_subnormal, Cat(Const(0, 1), fraction[:-1]), number.fraction),
                exponent,
                number.sign,
            )
        )
        return m
