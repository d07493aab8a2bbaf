"""Binary32 sums and differences of magnitudes, rounded to nearest even, and quotients by constants.

Magnitudes are the patterns of `binary32_limits` with one more exponent bit, so that no result overflows. Patterns from
Inf on mean Inf, and remain Inf whatever is added.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from ....spec import FP32
from .arithmetic import SIGNIFICAND, divided, leading_zeros

LONG = FP32.bits
"""Bits of a magnitude with the longer exponent field."""
BELOW = 3
"""Bits below the last place that a rounding uses. The last one is the OR of everything below."""


def _aligned(m: Module, name: str, a: Value, b: Value) -> tuple[Value, Value, Value]:
    """The larger significand, the smaller one shifted to its places, both with `BELOW` more bits, and the exponent,
    which is 0 for subnormal numbers.
    """
    is_less = Signal(name=f"{name}_is_less")
    large, small = Signal(LONG, name=f"{name}_large"), Signal(LONG, name=f"{name}_small")
    m.d.comb += [is_less.eq(a < b), large.eq(Mux(is_less, b, a)), small.eq(Mux(is_less, a, b))]

    def taken_apart(pattern: Value, which: str) -> tuple[Value, Value]:
        field = pattern[FP32.man_bits :]
        exponent = Signal(len(field), name=f"{name}_{which}_exponent")
        m.d.comb += exponent.eq(field - field.any())
        return Cat(Const(0, BELOW), pattern[: FP32.man_bits], field.any()), exponent

    kept, exponent = taken_apart(large, "large")
    moved, below = taken_apart(small, "small")
    size = len(kept)
    places = Signal(len(exponent), name=f"{name}_places")
    m.d.comb += places.eq(exponent - below)
    for step in range((size - 1).bit_length()):
        before, moved = moved, Signal(size, name=f"{name}_moved{step}")
        down = 1 << step
        lower = Cat(before[: down + 1].any(), before[down + 1 :], Const(0, down))
        m.d.comb += moved.eq(Mux(places[step], lower, before))
    is_far = places[(size - 1).bit_length() :].any()
    return kept, Mux(is_far, moved.any(), moved)[:size], exponent


def _rounded(m: Module, name: str, significand: Value, exponent: Value) -> Value:
    """The pattern of a significand with `BELOW` more bits. Its first bit adds one to the exponent field."""
    result = Signal(LONG, name=name)
    up = significand[BELOW - 1] & (significand[: BELOW - 1].any() | significand[BELOW])
    m.d.comb += result.eq(Cat(Const(0, FP32.man_bits), exponent) + significand[BELOW:] + up)
    return result


def added(m: Module, name: str, a: Value, b: Value) -> Value:
    """The sum of two magnitudes."""
    large, small, exponent = _aligned(m, name, a, b)
    total = Signal(len(large) + 1, name=f"{name}_total")
    carried = Signal(len(large), name=f"{name}_carried")
    m.d.comb += [total.eq(large + small), carried.eq(Mux(total[-1], Cat(total[:2].any(), total[2:]), total[:-1]))]
    return _rounded(m, name, carried, exponent + total[-1])


def difference(m: Module, name: str, a: Value, b: Value) -> Value:
    """The magnitude of the difference of two magnitudes. Leading zeros are shifted out until the first bit is one or
    the number is subnormal.
    """
    large, small, exponent = _aligned(m, name, a, b)
    size = len(large)
    left, moved = Signal(size, name=f"{name}_left"), Signal(size, name=f"{name}_moved_up")
    last = Signal(size, name=f"{name}_last")  # the place at which the number becomes subnormal
    m.d.comb += [left.eq(large - small), last.eq(Const(1 << size - 1, size) >> exponent)]
    zeros = leading_zeros(m, name, left | last)
    m.d.comb += moved.eq(left << zeros)
    return _rounded(m, name, moved, Mux(moved[-1], exponent - zeros, 0)[: len(exponent)])


def quotient(m: Module, name: str, magnitude: Value, divisor: int) -> Value:
    """A finite binary32 magnitude divided by an even constant above two: 31 bits, without the longer field.

    The dividend is shifted up until the integer quotient has all bits of a significand, or its last place is the
    smallest subnormal number. The power of two in the divisor only decides which bits of the dividend are below the
    quotient.
    """
    even = (divisor & -divisor).bit_length() - 1
    fraction, field = magnitude[: FP32.man_bits], magnitude[FP32.man_bits :]
    most = divisor.bit_length()  # a sufficient shift
    limit = -(-(divisor << SIGNIFICAND - 1) >> most - 1)
    room = Signal(FP32.exp_bits, name=f"{name}_room")  # places from the last place to the smallest subnormal number
    wanted = Signal(range(most + 1), name=f"{name}_wanted")
    places = Signal(range(most + 1), name=f"{name}_places")
    significand = Cat(fraction, field.any())
    dividend = Signal(SIGNIFICAND + most, name=f"{name}_dividend")
    m.d.comb += [
        room.eq(field - field.any()),
        wanted.eq(Mux(significand >= limit, most - 1, most)),
        places.eq(Mux(room < wanted, room, wanted)),
        dividend.eq(significand << places),
    ]
    digits, over = divided(m, name, dividend[even:], divisor >> even)
    remainder = Cat(dividend[:even], over)
    up = (remainder > divisor // 2) | ((remainder == divisor // 2) & digits[0])
    result = Signal(FP32.bits - 1, name=name)
    m.d.comb += result.eq(Cat(Const(0, FP32.man_bits), (room - places)[: FP32.exp_bits]) + digits + up)
    return result
