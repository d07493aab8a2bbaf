"""The divisor of the numbers of an NVFP4 block, in the orders that divide them (`spec.Order`), and its row of
thresholds (`threshold_row`).

A number X is divided by V, both significands. X / V is rounded to the mark m, in quarters, or above if 4 * X is not
below m * V minus half a last place of the quotient times V; this half is V / 2**22 quarters. For a tie that goes below
the mark, X must be beyond m * V plus this half. Both limits are short sums.
"""

from __future__ import annotations

from abc import abstractmethod

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import E4M3, FP32, Order
from ..config.nvfp4_encode import Nvfp4Config
from ..emission.modules import instantiated
from ..primitives.binary32.arithmetic import SIGNIFICAND, Number, divided, normalised, product
from ..primitives.binary32.limits import limited
from .row_unit import RowUnit
from .threshold_row import MARKS

EXPONENT = signed(FP32.exp_bits + 1)
"""Shape of the exponent of a divisor."""

UNDERFLOW = FP32.man_bits - FP32.emin + 1
"""A quotient is zero from 2**-150 down."""
NORMAL = FP32.emin + UNDERFLOW
"""The exponent of divisors that give a normal number then."""


class Divisor(wiring.Component):
    """The divisor v of the numbers, rounded to binary32, where it may be a subnormal number.

    Ports
    -----
    scale : in, the scale byte, which is not 0
    d : in, the constant of the tensor
    significand, exponent : out, the divisor, if it is neither zero nor Inf nor NaN
    by_zero, by_inf, is_nan : out, flags of another divisor
    """

    def __init__(self, config: Nvfp4Config) -> None:
        flags = dict.fromkeys(("by_zero", "by_inf", "is_nan"), Out(1))
        number = {"significand": Out(SIGNIFICAND), "exponent": Out(EXPONENT)}
        super().__init__({"scale": In(E4M3.bits), "d": In(FP32.bits), **number, **flags})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        s = normalised(m, "s", self.scale[:-1], E4M3)
        pattern = limited(m, "v", self.divisor(m, s))
        v = normalised(m, "divisor", pattern[: FP32.bits - 1], FP32)
        m.d.comb += [
            self.significand.eq(v.significand),
            self.exponent.eq(v.exponent),
            self.by_zero.eq(~pattern.any()),
            self.by_inf.eq(self.is_infinite()),
            self.is_nan.eq(self.scale[:-1].all()),
        ]
        return m

    @abstractmethod
    def divisor(self, m: Module, s: Number) -> Number:
        """The exact divisor, from the scale s; or its first bits, and a last one that is set if more are set."""

    @abstractmethod
    def is_infinite(self) -> Value:
        """Is the divisor Inf?"""


class ProductDivisor(Divisor):
    """s * d, in the order ``modelopt``."""

    def divisor(self, m: Module, s: Number) -> Number:
        return product(m, "v", s, normalised(m, "d", self.d[:-1], FP32))

    def is_infinite(self) -> Value:
        return self.d[FP32.man_bits : -1].all()


class QuotientDivisor(Divisor):
    """s / d, in the order ``compressed_tensors``. The constant d is 0 or a normal number."""

    def divisor(self, m: Module, s: Number) -> Number:
        d = normalised(m, "d", self.d[:-1], FP32, places=0)
        # the dividend is taken so that it is less than any significand
        dividend = Cat(Const(0, SIGNIFICAND - len(s.significand) - 1), s.significand)
        quotient, remainder = divided(m, "quotient", Const(0, SIGNIFICAND + 2), d.significand, dividend)
        is_less = ~quotient[-1]
        places = Cat(remainder.any(), Mux(is_less, quotient << 1, quotient)[: SIGNIFICAND + 2])
        return Number(places, s.exponent - d.exponent - is_less)

    def is_infinite(self) -> Value:
        return ~self.d[:-1].any()


DIVISORS: dict[Order, type[Divisor]] = {Order.MODELOPT: ProductDivisor, Order.COMPRESSED_TENSORS: QuotientDivisor}
"""The unit for the divisor, by order. Other orders multiply numbers with a factor."""


class DivisorUnit(RowUnit):
    """The `RowUnit` of the orders that divide numbers."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        divisor = DIVISORS[self.config.numerics.order](self.config)
        divisor.kind = "factor"
        m.submodules.factor = instantiated(divisor, platform)
        m.d.comb += [divisor.scale.eq(self.scale), divisor.d.eq(self.d)]
        m.d.comb += [getattr(self, flag).eq(getattr(divisor, flag)) for flag in self.flags]
        v = divisor.significand
        marks = []
        for quarters, is_beyond in MARKS:
            half = v[-2:]  # of a last place of the quotient, without its fraction
            limit = quarters * v + half + 1 if is_beyond else quarters * v - half
            marks.append(self.placed(m, f"mark{quarters}", limit[: SIGNIFICAND + 3]))
        self.row(m, marks, ~divisor.exponent)
        exponent, pattern = divisor.exponent, Signal(FP32.bits - 1, name="underflow_pattern")  # v * 2**-150
        with m.If(divisor.by_inf):
            m.d.comb += pattern.eq(FP32.max_code)
        with m.Elif(exponent >= NORMAL):
            m.d.comb += pattern.eq(Cat(v[:-1], (exponent - NORMAL + 1)[: FP32.exp_bits]))
        with m.Elif(exponent > 0):
            m.d.comb += pattern.eq(v >> (NORMAL - exponent)[: SIGNIFICAND.bit_length()])
        m.d.comb += self.underflow.eq(pattern[-len(self.underflow) :])
        return m
