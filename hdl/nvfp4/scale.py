"""The scale byte of an NVFP4 block, by the binary32 operations of an order (`spec.Order`)."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import E4M3, FP32, FloatFormat, FourOverSix, Order
from ..cast.number import NumberCast
from ..config.cast import cast_config
from ..config.nvfp4_encode import SCALE_CAST, Nvfp4Config
from ..emission.modules import instantiated
from ..primitives.binary32.arithmetic import (
    ONE_AND_A_HALF,
    SIGNIFICAND,
    Number,
    divided,
    joined_products,
    leading_zeros,
    normalised,
    packed,
    partial_products,
    product,
    rounded,
)
from ..primitives.register import Stage, enable_port

LARGEST = E4M3.max_code
SMALLEST_NORMAL = 1 << E4M3.man_bits
assert E4M3.nan_code is not None
NAN = E4M3.nan_code
STEPS = E4M3.man_bits + 1
"""Digits of a quotient after the leading one that the rounding to a scale uses."""


def sixth(m: Module, magnitude: Value, source: FloatFormat) -> Value:
    """fl(b / 6), the binary32 pattern for a finite magnitude.

    The dividend is shifted up until the integer quotient has all bits of a significand, or its last place is the
    smallest subnormal number.
    """
    fraction, field = magnitude[: source.man_bits], magnitude[source.man_bits :]
    room = Signal(FP32.exp_bits, name="sixth_room")  # places from the last place of b to the smallest subnormal number
    places = Signal(2, name="sixth_places")
    dividend = Signal(SIGNIFICAND + 3, name="sixth_dividend")
    significand = Cat(Const(0, FP32.man_bits - source.man_bits), fraction, field.any())
    wanted = Mux(significand[-2:].all(), 2, 3)
    m.d.comb += [
        room.eq(Mux(field.any(), field - 1, 0)),
        places.eq(Mux(room < wanted, room, wanted)),
        dividend.eq(significand << places),
    ]
    quotient, remainder = divided(m, "sixth", dividend, 6)
    up = (remainder > 3) | ((remainder == 3) & quotient[0])
    pattern = Signal(FP32.bits - 1, name="sixth")
    m.d.comb += pattern.eq(Cat(Const(0, FP32.man_bits), (room - places)[: FP32.exp_bits]) + quotient + up)
    return pattern


class Nvfp4Scale(wiring.Component):
    """The scale of a block in the orders ``te`` and ``paper``: the largest magnitude, or a sixth of it, times the
    constant k of the tensor, which is a normal number.

    Ports
    -----
    amax : in, the largest magnitude of the block, which is not NaN
    k : in, the constant of the tensor
    scale : out, the scale byte
    larger : out, the scale byte for 1.5 times the product; if the rules try both 4 and 6
    """

    def __init__(self, config: Nvfp4Config) -> None:
        self.rules = config.numerics
        scales = ("scale", *(["larger"] if self.rules.four_over_six is not FourOverSix.OFF else []))
        self.config = config
        enable = enable_port(config, config.scale_stages)
        told = {"amax": In(self.rules.source.bits - 1), "k": In(FP32.bits), **enable}
        super().__init__({**told, **dict.fromkeys(scales, Out(E4M3.bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source = self.rules.source
        now = Stage(m, self, control=("amax", "k"))
        is_inf = now.amax[source.man_bits :].all()
        magnitude, format = now.amax, source
        if self.rules.order is Order.PAPER:
            now = now.crossed("sixth", control=("k",), b=sixth(m, now.amax, source), is_inf=is_inf)
            magnitude, format, is_inf = now.b, FP32, now.is_inf
        registered = self.config.microarchitecture.registered_after
        zeros = {"zeros": leading_zeros(m, "b", magnitude[: format.man_bits])} if "leading" in registered else {}
        now = now.crossed("leading", control=("k",), b=magnitude, is_inf=is_inf, **zeros)
        is_inf, b = now.is_inf, normalised(m, "b", now.b, format, zeros=now.values.get("zeros"))
        k = normalised(m, "k", now.k[:-1], FP32, places=0)
        exponents = {"b_exponent": b.exponent, "k_exponent": k.exponent}
        now = now.crossed("normalised", control=(), is_inf=is_inf, b=b.significand, k=k.significand, **exponents)
        parts = partial_products(now.b, now.k) if "partials" in registered else {}
        now = now.crossed("partials", **now.values, **parts)
        b, k = Number(now.b, now.b_exponent), Number(now.k, now.k_exponent)
        exact = product(m, "t", b, k, joined_products(now.values) if parts else None)
        now = now.crossed("ratio", is_inf=now.is_inf, significand=exact.significand, exponent=exact.exponent)
        t = rounded(m, "t", Number(now.significand, now.exponent))
        now = now.crossed("nearest", is_inf=now.is_inf, significand=t.significand, exponent=t.exponent)
        t = Number(now.significand, now.exponent)
        ratios = {"scale": t}
        if "larger" in self.signature.members:
            ratios["larger"] = rounded(m, "larger_t", product(m, "larger_t", t, ONE_AND_A_HALF))
        patterns = {name: Mux(now.is_inf, FP32.max_code, packed(ratio)) for name, ratio in ratios.items()}
        for name, pattern in now.crossed("packed", **patterns).values.items():
            cast = [stage for stage in SCALE_CAST if f"scale_{stage}" in registered]
            rounding = NumberCast(cast_config(E4M3, registered_after=cast))
            rounding.kind = "scale_rounding"
            m.submodules[f"{name}_rounding"] = instantiated(rounding, platform)
            m.d.comb += [rounding.x.eq(pattern), getattr(self, name).eq(rounding.y)]
            if cast:
                m.d.comb += rounding.enable.eq(self.enable)
        return m


class RatioScale(wiring.Component):
    """The scale of a block in the orders ``ao`` and ``ao_single``: a sixth of the largest magnitude, divided by the
    constant k of the tensor, and limited to the normal scales.

    The quotient is rounded twice. The first rounding, to binary32, matters to the second only if it reaches the last
    digit that the second uses, from above or from below. A comparison of remainder and divisor decides that.

    Ports
    -----
    amax : in, the largest magnitude of the block; NaN is above Inf
    k : in, the constant of the tensor
    scale : out, the scale byte
    """

    def __init__(self, config: Nvfp4Config) -> None:
        self.rules = config.numerics
        super().__init__({"amax": In(self.rules.source.bits - 1), "k": In(FP32.bits), "scale": Out(E4M3.bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source = self.rules.source
        k = self.k[:-1]
        pattern = sixth(m, self.amax, source)
        code, is_below = self.quotient(m, pattern, k)
        b_fraction, b_special = self.amax[: source.man_bits].any(), self.amax[source.man_bits :].all()
        k_fraction, k_special = k[: FP32.man_bits].any(), k[FP32.man_bits :].all()
        no_b, no_k = ~pattern.any() & ~b_special, ~k.any()
        with m.If((b_special & b_fraction) | (k_special & k_fraction)):
            m.d.comb += self.scale.eq(NAN)
        with m.Elif((b_special & k_special) | (no_b & no_k)):  # invalid operations return a NaN with a sign
            m.d.comb += self.scale.eq(E4M3.sign_mask | NAN)
        with m.Elif(b_special | no_k):
            m.d.comb += self.scale.eq(LARGEST)
        with m.Elif(k_special | no_b | is_below):
            m.d.comb += self.scale.eq(SMALLEST_NORMAL)
        with m.Else():
            m.d.comb += self.scale.eq(Mux(code > LARGEST, LARGEST, code))
        return m

    def quotient(self, m: Module, pattern: Value, k: Value) -> tuple[Value, Value]:
        """The code of the quotient, without an upper limit, and whether it is below the smallest normal scale."""
        a, b = normalised(m, "dividend", pattern, FP32), normalised(m, "divisor", k, FP32)
        divisor = b.significand
        is_less = Signal()
        m.d.comb += is_less.eq(a.significand < divisor)
        remainder = Signal(SIGNIFICAND + 1, name="remainder_0")
        m.d.comb += remainder.eq(Mux(is_less, a.significand << 1, a.significand) - divisor)  # the leading digit is one
        digits = []
        for number in range(1, STEPS + 1):
            twice, digit = Signal(SIGNIFICAND + 1, name=f"twice_{number}"), Signal(name=f"digit_{number}")
            left = Signal(SIGNIFICAND + 1, name=f"remainder_{number}")
            m.d.comb += [
                twice.eq(remainder << 1),
                digit.eq(twice >= divisor),
                left.eq(Mux(digit, twice - divisor, twice)),
            ]
            digits.append(digit)
            remainder = left
        *fraction, guard = digits
        far = SIGNIFICAND - 1 - STEPS + 1  # half a last place of binary32 is 2**-far of the last digit
        at_digit = Signal()
        at_next = Signal()
        m.d.comb += [at_digit.eq((remainder << far) <= divisor), at_next.eq(((divisor - remainder) << far) <= divisor)]
        last = fraction[-1]
        up = Mux(guard, ~at_digit | last, at_next & last)
        exponent = Signal(Value.cast(a.exponent - b.exponent - 1).shape(), name="quotient_exponent")
        m.d.comb += exponent.eq(a.exponent - b.exponent - is_less)
        field = exponent + E4M3.bias
        beyond = (LARGEST >> E4M3.man_bits) + 1
        code = Signal(E4M3.bits, name="code")
        m.d.comb += code.eq(
            Cat(*reversed(fraction), Mux(field > beyond, beyond, field)[: E4M3.exp_bits + 1]).as_unsigned() + up
        )
        return code, field < 1


SCALE_UNITS: dict[Order, type[Nvfp4Scale] | type[RatioScale]] = {
    Order.TE: Nvfp4Scale,
    Order.PAPER: Nvfp4Scale,
    Order.AO: RatioScale,
    Order.AO_SINGLE: RatioScale,
}
"""The unit for the scale, by order. Other orders have no hardware."""
