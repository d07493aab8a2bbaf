"""The factor of the numbers of an NVFP4 block, by the binary32 operations of an order (`spec.Order`)."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import E4M3, FP32, Order
from ..config.nvfp4_encode import Nvfp4Config
from ..primitives.binary32.arithmetic import (
    SIGNIFICAND,
    Number,
    carried,
    divided,
    normalised,
    product,
    reciprocal,
    rounded,
)
from ..primitives.register import Stage, enable_port, held

EXPONENT = signed(FP32.exp_bits + 1)
"""Shape of the exponent of a factor."""

SUBNORMAL_PLACES = 2
"""The most leading zeros of a number with a reciprocal in the binary32 range."""

ERROR = signed(SIGNIFICAND + 1)
"""Shape of the error of a product with a companion."""

FACTOR = {"significand": Out(SIGNIFICAND), "exponent": Out(EXPONENT)}


def divisor_of(m: Module, part: wiring.Component, s: Number, d: Number, is_late: bool = False) -> tuple[Number, Stage]:
    """fl(s * d), which is exact if its reciprocal is in the binary32 range, and the stage after it. With ``is_late``,
    where s and d stay, the places of a subnormal product have a register, and the carry of the rounded significand is
    added to the exponent behind registers.
    """
    exponents = {"s_exponent": s.exponent, "d_exponent": d.exponent}
    rows = {}
    if "rows" in part.config.microarchitecture.registered_after:
        whole = [Mux(bit, d.significand, 0) for bit in s.significand]
        rows = {"low": whole[0] + (whole[1] << 1), "high": whole[2] + (whole[3] << 1)}
    now = Stage(m, part).crossed("rows", s=s.significand, d=d.significand, **exponents, **rows)
    s, d = Number(now.s, now.s_exponent), Number(now.d, now.d_exponent)
    exact = product(m, "v", s, d, now.low + (now.high << 2) if rows else None)
    now = now.crossed("denominator", significand=exact.significand, exponent=exact.exponent)
    exact = Number(now.significand, now.exponent)
    below = Signal(range(SUBNORMAL_PLACES + 1), name="v_below")  # bits that a subnormal product lacks
    for places in range(1, SUBNORMAL_PLACES + 1):
        with m.If(exact.exponent == FP32.emin - places):
            m.d.comb += below.eq(places)
    places = held(m, Const(1), "places", {"below": below})["below"] if is_late else below
    cut = Signal(len(exact.significand) + SUBNORMAL_PLACES, name="v_cut")
    m.d.comb += cut.eq(Cat(Const(0, SUBNORMAL_PLACES), exact.significand) >> places)
    now = now.crossed("divisor_cut", cut=cut, exponent=exact.exponent, below=places)
    exact = Number(now.cut, now.exponent)
    if is_late:
        significand, carry = carried(m, "v", exact)
        late = {"carry": carry}
    else:
        v = rounded(m, "v", exact)
        significand, exact, late = v.significand, v, {}
    now = now.crossed("divisor_rounded", significand=significand, exponent=exact.exponent, below=now.below, **late)
    v, below = Number(now.significand, now.exponent + now.carry if late else now.exponent), now.below
    again = Signal(SIGNIFICAND, name="v_significand")
    zeros = Signal(range(SUBNORMAL_PLACES + 1), name="v_zeros")
    m.d.comb += [again.eq(v.significand << zeros), zeros.eq(Mux(v.significand[-1], 0, Mux(v.significand[-2], 1, 2)))]
    exponent = Mux(below.any(), FP32.emin - zeros, v.exponent)
    now = now.crossed("divisor", significand=again, exponent=exponent)
    return Number(now.significand, now.exponent), now


class ReciprocalFactor(wiring.Component):
    """min(1 / (s * d), max), in the orders ``te`` and ``paper``: s is the scale, d the constant of the tensor.

    Products below 2**-128 have a reciprocal above the binary32 range. Subnormal products from 2**-128 on lose one or
    two bits.

    Ports
    -----
    scale : in, the scale byte
    d : in, the constant of the tensor
    significand, exponent : out, the factor, which can be a subnormal number if ``scale_max`` is below 448
    companion, error : out, a number whose product with the significand is 2**47 and this error
    """

    def __init__(self, config: Nvfp4Config) -> None:
        companion = {"companion": Out(SIGNIFICAND + 1), "error": Out(ERROR)}
        self.config = config
        enable = enable_port(config, config.reciprocal_stages)
        super().__init__({"scale": In(E4M3.bits), "d": In(FP32.bits), **enable, **FACTOR, **companion})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        s = normalised(m, "s", self.scale[:-1], E4M3)
        d = normalised(m, "d", self.d[:-1], FP32, places=SUBNORMAL_PLACES)
        v, now = divisor_of(m, self, s, d)
        is_power = Signal()
        m.d.comb += is_power.eq(~v.significand[:-1].any())
        now = Stage(m, self, values={"exponent": v.exponent, "is_one": is_power})

        def crossed(boundary: str, values: dict[str, Value]) -> Mapping[str, Value]:
            nonlocal now
            now = now.crossed(boundary, exponent=now.exponent, is_one=now.is_one, **values)
            return {name: now.values[name] for name in values}

        # the divisor under the scale 448 is below the largest magnitude of a tensor / 6, unless scale_max is smaller
        may_be_short = self.config.numerics.scale_max < E4M3.max_value
        is_short = v.exponent == -FP32.emin if may_be_short else None
        quotient, error = reciprocal(m, "reciprocal", v.significand, crossed, is_short)
        v, is_power = Number(now.divisor, now.exponent), now.is_one
        lowest = -FP32.bias - 1
        is_beyond = v.is_zero | (v.exponent < lowest) | ((v.exponent == lowest) & is_power)
        largest = (1 << SIGNIFICAND) - 1
        now = now.crossed(
            "reciprocal",
            significand=Mux(is_beyond, largest, Mux(is_power, 1 << SIGNIFICAND - 1, quotient)),
            exponent=Mux(is_beyond, FP32.emax, Mux(is_power, -v.exponent, -v.exponent - 1)),
            companion=Mux(is_beyond, 1 << SIGNIFICAND - 1, Cat(v.significand, Const(0, 1)) << is_power),
            error=Mux(is_beyond, -(1 << SIGNIFICAND - 1), error),
        )
        m.d.comb += [getattr(self, name).eq(value) for name, value in now.values.items()]
        return m


class QuotientFactor(wiring.Component):
    """d / s, in the orders ``ao`` and ``ao_single``. The constant d of the tensor is 0, a normal number, Inf or NaN,
    and the scale s is a normal number or NaN.

    Ports
    -----
    scale : in, the scale byte
    d : in, the constant of the tensor
    significand, exponent : out, the factor, if it is a normal number
    is_zero, is_infinite, is_nan : out, flags of another factor
    """

    def __init__(self, config: Nvfp4Config) -> None:
        flags = dict.fromkeys(("is_zero", "is_infinite", "is_nan"), Out(1))
        super().__init__({"scale": In(E4M3.bits), "d": In(FP32.bits), **FACTOR, **flags})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        magnitude = self.d[:-1]
        d = normalised(m, "d", magnitude, FP32, places=0)
        s = normalised(m, "s", self.scale[:-1], E4M3, places=0)
        is_less = Signal()
        shift = SIGNIFICAND - 1 - E4M3.man_bits
        m.d.comb += is_less.eq(d.significand < s.significand << shift)
        dividend = Signal(SIGNIFICAND + E4M3.man_bits + 1, name="dividend")
        m.d.comb += dividend.eq(d.significand << Mux(is_less, E4M3.man_bits + 1, E4M3.man_bits)[:3])
        quotient, remainder = divided(m, "factor", dividend, s.significand)
        quotient, twice = quotient[:SIGNIFICAND], remainder << 1
        up = (twice > s.significand) | ((twice == s.significand) & quotient[0])
        total = Signal(SIGNIFICAND + 1, name="total")
        m.d.comb += [
            total.eq(quotient + up),
            self.significand.eq(Cat(total[: SIGNIFICAND - 1], total[-1] | total[-2])),
            self.exponent.eq(d.exponent - s.exponent - is_less + total[-1]),
        ]
        is_special = magnitude[FP32.man_bits :].all()
        m.d.comb += [
            self.is_nan.eq(self.scale[:-1].all()),
            self.is_zero.eq(~magnitude.any()),
            self.is_infinite.eq(is_special | (self.exponent > FP32.emax)),
        ]
        return m


FACTOR_UNITS: dict[Order, type[ReciprocalFactor] | type[QuotientFactor]] = {
    Order.TE: ReciprocalFactor,
    Order.PAPER: ReciprocalFactor,
    Order.AO: QuotientFactor,
    Order.AO_SINGLE: QuotientFactor,
}
"""The unit for the factor, by order. Other orders divide numbers (`divisor`)."""
