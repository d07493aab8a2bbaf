"""The scale byte of an NVFP4 block in the orders that divide by a constant of the tensor (`spec.Order`)."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import E4M3, FP32
from ..config.nvfp4_encode import Nvfp4Config
from ..primitives.binary32.arithmetic import SIGNIFICAND, normalised
from ..primitives.binary32.limits import doubled, tripled
from .scale import LARGEST, NAN, sixth

ONE = E4M3.bias << E4M3.man_bits
SMALLEST_NORMAL = 1 << E4M3.man_bits
STEPS = E4M3.man_bits + 1
"""Digits of a quotient after the leading one that the rounding to a scale uses."""


@dataclass(frozen=True)
class Quotient:
    """A quotient of two numbers that are not zero, by its first digits: one, and `STEPS` digits behind the point.

    It is rounded twice. The first rounding, to binary32, matters to the second only if it reaches the last of these
    digits, from above or from below. A comparison of remainder and divisor decides that.
    """

    exponent: Signal
    digits: list[Signal]
    """The digits behind the point, the first one first."""
    at_digit: Signal
    """Does the rounding to binary32 leave nothing below the last digit?"""
    at_next: Signal
    """Does it reach the number after these digits?"""
    is_exact: Value
    """Is the quotient a power of two?"""


class RatioScale(wiring.Component):
    """The scale of a block in the orders ``ao`` and ``ao_single``: a sixth of the largest magnitude, divided by the
    constant k of the tensor, and limited to the normal scales.

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
        pattern = self.dividend(m)
        quotient = self.quotient(m, pattern, self.divisor(m, k))
        code, smallest, is_below = self.code(m, quotient)
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
            m.d.comb += self.scale.eq(smallest)
        with m.Else():
            m.d.comb += self.scale.eq(Mux(code > LARGEST, LARGEST, code))
        return m

    def dividend(self, m: Module) -> Value:
        """The pattern of binary32 that is divided, if the largest magnitude is finite."""
        return sixth(m, self.amax, self.rules.source)

    def divisor(self, m: Module, k: Value) -> Value:
        """The pattern of binary32 that divides it, if k is finite."""
        return k

    def quotient(self, m: Module, dividend: Value, divisor: Value) -> Quotient:
        a, b = normalised(m, "dividend", dividend, FP32), normalised(m, "divisor", divisor, FP32)
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
        far = SIGNIFICAND - 1 - STEPS + 1  # half a last place of binary32 is 2**-far of the last digit
        at_digit = Signal()
        at_next = Signal()
        m.d.comb += [at_digit.eq((remainder << far) <= divisor), at_next.eq(((divisor - remainder) << far) <= divisor)]
        exponent = Signal(Value.cast(a.exponent - b.exponent - 1).shape(), name="quotient_exponent")
        m.d.comb += exponent.eq(a.exponent - b.exponent - is_less)
        return Quotient(exponent, digits, at_digit, at_next, ~Cat(*digits, remainder).any())

    def code(self, m: Module, quotient: Quotient) -> tuple[Value, int, Value]:
        """The code of the quotient, without an upper limit. Then the scale of a zero quotient, and whether another
        quotient is so small that it has this scale too.
        """
        *fraction, guard = quotient.digits
        up = Mux(guard, ~quotient.at_digit | fraction[-1], quotient.at_next & fraction[-1])
        field = quotient.exponent + E4M3.bias
        beyond = (LARGEST >> E4M3.man_bits) + 1
        code = Signal(E4M3.bits, name="code")
        m.d.comb += code.eq(
            Cat(*reversed(fraction), Mux(field > beyond, beyond, field)[: E4M3.exp_bits + 1]).as_unsigned() + up
        )
        return code, SMALLEST_NORMAL, field < 1


class UnlimitedScale(RatioScale):
    """The scale of a block in the order ``modelopt``: the largest magnitude, divided by 6 times the constant k of the
    tensor, and not below the smallest scale. It is 1 where the quotient is zero.
    """

    def dividend(self, m: Module) -> Value:
        return Cat(Const(0, FP32.man_bits - self.rules.source.man_bits), self.amax)

    def divisor(self, m: Module, k: Value) -> Value:
        return doubled(m, "sixfold", tripled(m, "threefold", k))[: len(k)]

    def code(self, m: Module, quotient: Quotient) -> tuple[Value, int, Value]:
        exponent, least, most = quotient.exponent, E4M3.emin - E4M3.man_bits, E4M3.emax + 1
        size = STEPS + 2  # bits of the first digits, and of the number after them
        digits = Signal(size)
        places = Signal(range(E4M3.man_bits + 1))  # that a subnormal scale lacks
        binade = Signal(range(most - E4M3.emin + 1))
        moved = Signal(size + E4M3.man_bits)
        kept, guard, rest = moved[E4M3.man_bits + 1 :], moved[E4M3.man_bits], moved[: E4M3.man_bits].any()
        code = Signal(E4M3.bits, name="code")
        up = guard & (kept[0] | rest | ~(quotient.at_digit | quotient.at_next))
        m.d.comb += [
            digits.eq(Cat(*reversed(quotient.digits), Const(1, 1)) + quotient.at_next),
            places.eq(Mux(exponent < E4M3.emin, (E4M3.emin - exponent)[: len(places)], 0)),
            moved.eq(Cat(Const(0, E4M3.man_bits), digits) >> places),
            binade.eq(Mux(exponent < E4M3.emin, 0, Mux(exponent > most, most, exponent) - E4M3.emin)),
            code.eq((binade << E4M3.man_bits) + kept + up),
        ]
        underflow = FP32.emin - FP32.man_bits - 1  # the quotient 2**-150 is a tie, and becomes zero
        is_zero = (exponent < underflow) | ((exponent == underflow) & quotient.is_exact)
        return Mux(exponent < least, 1, code), ONE, is_zero
