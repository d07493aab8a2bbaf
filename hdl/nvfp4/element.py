"""NVFP4 elements, by one binary32 product each."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import E2M1, Order
from ..cast.number import NumberCast
from ..config.cast import cast_config
from ..config.nvfp4_encode import BY_DIVISOR, Nvfp4Config
from ..emission.modules import instantiated
from ..primitives.binary32.arithmetic import SIGNIFICAND, Number, normalised, packed, product, rounded
from .factor import EXPONENT

SUBNORMAL_PLACES = 4
"""Subnormal numbers with so many leading zeros become zero under every factor."""

FLAGS = {
    **dict.fromkeys((Order.AO, Order.AO_SINGLE), ("is_zero", "is_infinite", "is_nan", "nan_sign")),
    **dict.fromkeys(BY_DIVISOR, ("by_zero", "is_nan")),
}
"""Flags of a factor or a divisor that is not a normal number, for the orders that have such factors."""

LARGEST = E2M1.max_code
NAN_CODES = {"block": 0b0100, "zero": 0b1011}
"""NaN codes in the orders ``ao`` and ``ao_single``: for all elements under a NaN scale, with its sign, and for zero
times Inf.
"""

NAN_OF_BLOCK = {Order.MODELOPT: LARGEST, Order.COMPRESSED_TENSORS: 0}
"""The code of all elements under a NaN scale, in orders that divide numbers."""


def flags_of(config: Nvfp4Config) -> dict[str, type]:
    """The `FLAGS` of the order of a configuration, as ports of a lane."""
    return dict.fromkeys(FLAGS.get(config.numerics.order, ()), In(1))


def with_specials(lane: wiring.Component, config: Nvfp4Config, magnitude: Value) -> Value:
    """The code of an element: the magnitude with the sign of the number, or a NaN code."""
    source = config.numerics.source
    fraction, field, sign = lane.x[: source.man_bits], lane.x[source.man_bits : -1], lane.x[-1]
    code = Cat(magnitude, sign)
    if config.numerics.order in BY_DIVISOR:
        is_zero = lane.x[:-1] <= lane.underflow
        code = Mux(is_zero & ~lane.by_zero, 0, Cat(magnitude, sign & ~is_zero))  # zero by zero is a positive NaN
        return Mux(lane.is_nan, NAN_OF_BLOCK[config.numerics.order], code)
    if not flags_of(config):
        return Mux(field.all() & fraction.any(), LARGEST, code)
    code = Mux(lane.is_infinite & ~lane.x[:-1].any(), NAN_CODES["zero"], code)
    return Mux(lane.is_nan, Cat(NAN_CODES["block"] | lane.nan_sign << 3)[: E2M1.bits], code)


class ProductElement(wiring.Component):
    """One element: the number times the factor, rounded to binary32 and then to E2M1.

    Ports
    -----
    x : in, the number
    significand, exponent : in, the factor
    is_zero, is_infinite, is_nan, nan_sign : in, flags of the factor, in the orders ``ao`` and ``ao_single``
    p : out, the code
    """

    def __init__(self, config: Nvfp4Config) -> None:
        self.config = config
        factor = {"significand": In(SIGNIFICAND), "exponent": In(EXPONENT)}
        super().__init__({"x": In(config.numerics.source.bits), **factor, **flags_of(config), "p": Out(E2M1.bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source = self.config.numerics.source
        x = normalised(m, "x", self.x[:-1], source, places=SUBNORMAL_PLACES)
        y = rounded(m, "y", product(m, "y", x, Number(self.significand, self.exponent)))
        rounding = NumberCast(cast_config(E2M1))
        rounding.kind = "element_rounding"
        m.submodules.element_rounding = instantiated(rounding, platform)
        is_large, is_zero = self.x[source.man_bits : -1].all(), 0
        if flags_of(self.config):
            is_large, is_zero = is_large | self.is_infinite, self.is_zero
        magnitude = Signal(E2M1.bits - 1)
        m.d.comb += [
            rounding.x.eq(packed(y)),
            magnitude.eq(Mux(is_zero, 0, Mux(is_large, LARGEST, rounding.y))),
            self.p.eq(with_specials(self, self.config, magnitude)),
        ]
        return m
