"""Binary32 results within the limits of the format: magnitudes as patterns, subnormal numbers and Inf among them.

Operations return a pattern with a longer exponent field. Patterns from Inf on are numbers above the largest finite one,
until `saturated` replaces them by Inf.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed

from ....spec import FP32
from .arithmetic import SIGNIFICAND, Number

PATTERN = FP32.bits - 1
"""Bits of a magnitude."""
INF = FP32.inf_field
MOST_PLACES = SIGNIFICAND + 1
"""The largest shift down. Nothing is left of a result then, and it is below half of the smallest number."""


def limited(m: Module, name: str, number: Number) -> Value:
    """A number rounded to nearest even, as a pattern. The first bit of its significand is set, unless the number is
    zero or has the smallest exponent.
    """
    bits = max(len(number.exponent), FP32.exp_bits) + 1
    above = Signal(signed(bits), name=f"{name}_above")  # the exponent of the smallest normal number
    below = Signal(range(MOST_PLACES + 1), name=f"{name}_below")
    field = Signal(FP32.exp_bits + 1, name=f"{name}_field")
    moved = Signal(len(number.significand) + MOST_PLACES, name=f"{name}_moved")
    kept, rest = moved[-SIGNIFICAND:], moved[:-SIGNIFICAND]
    pattern = Signal(PATTERN + 1, name=f"{name}_pattern")
    m.d.comb += [
        above.eq(number.exponent - FP32.emin),
        below.eq(Mux(above[-1], Mux(above < -MOST_PLACES, MOST_PLACES, -above), 0)),
        field.eq(Mux(above[-1] | number.is_zero, 0, above)),
        moved.eq(Cat(Const(0, MOST_PLACES), number.significand) >> below),
        # the first bit of a normal number adds one to its field
        pattern.eq(Cat(Const(0, FP32.man_bits), field) + kept + (rest[-1] & (kept[0] | rest[:-1].any()))),
    ]
    return pattern


def saturated(m: Module, name: str, pattern: Value) -> Value:
    """The binary32 pattern: Inf if the pattern overflows."""
    result = Signal(PATTERN, name=name)
    m.d.comb += result.eq(Mux(pattern >= INF, INF, pattern))
    return result


def opened(pattern: Value) -> Number:
    """The number of a finite binary32 pattern. The significand of a subnormal number begins with zeros, and its
    exponent is the smallest normal one.
    """
    field = pattern[FP32.man_bits :]
    return Number(Cat(pattern[: FP32.man_bits], field.any()), Mux(field.any(), field, 1) - FP32.bias)


def doubled(m: Module, name: str, pattern: Value) -> Value:
    """Twice a finite number."""
    return _chosen(m, name, pattern[FP32.man_bits :].any(), pattern + (1 << FP32.man_bits), pattern << 1)


def halved(m: Module, name: str, pattern: Value) -> Value:
    """Half of a finite number."""
    small = pattern[:SIGNIFICAND]  # a multiple of the smallest number, and so is its rounded half
    is_small = ~pattern[SIGNIFICAND:].any()
    return _chosen(m, name, is_small, (small >> 1) + (small[0] & small[1]), pattern - (1 << FP32.man_bits))


def tripled(m: Module, name: str, pattern: Value) -> Value:
    """Three times a finite number.

    Half and double of the result are the number times 1.5 and 6, rounded once. Halving rounds only an odd multiple of
    the smallest number, and a result so small was not rounded before.
    """
    number = opened(pattern)
    exact = Signal(SIGNIFICAND + 2, name=f"{name}_exact")
    places = Signal(2, name=f"{name}_places")
    kept = Signal(SIGNIFICAND, name=f"{name}_kept")
    up = Signal(name=f"{name}_up")
    field = pattern[FP32.man_bits :]
    first = Signal(len(field) + 1, name=f"{name}_field")
    result = Signal(PATTERN + 1, name=name)
    m.d.comb += [
        exact.eq(number.significand + (number.significand << 1)),
        places.eq(Mux(exact[-1], 2, exact[-2])),
        kept.eq(Mux(exact[-1], exact[2:], Mux(exact[-2], exact[1:-1], exact[:-2]))),
        up.eq(Mux(exact[-1], exact[1] & (exact[2] | exact[0]), exact[-2] & exact[0] & exact[1])),
        first.eq(field - field.any() + places),
        result.eq(Cat(Const(0, FP32.man_bits), first) + kept + up),
    ]
    return result


def _chosen(m: Module, name: str, condition: Value, one: Value, other: Value) -> Value:
    result = Signal(PATTERN + 1, name=name)
    m.d.comb += result.eq(Mux(condition, one, other))
    return result
