"""Binary32 arithmetic of magnitudes: a number is a significand and an exponent, and operations round to nearest even.

The exponent range has no limits here. Results equal binary32 if they are normal; the caller applies the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed

from ....spec import FP32, FloatFormat

SIGNIFICAND = FP32.man_bits + 1
"""Bits of a binary32 significand."""
TOP = FP32.max_code >> FP32.man_bits
"""The largest exponent field of a normal number."""


@dataclass(frozen=True)
class Number:
    """The number ``significand * 2**(exponent - len(significand) + 1)``. The first bit of the significand is set,
    unless the number is zero.
    """

    significand: Value
    exponent: Value

    @property
    def is_zero(self) -> Value:
        return ~self.significand[-1]


ONE_AND_A_HALF = Number(Const(3, 2), Const(0, signed(2)))


def normalised(
    m: Module, name: str, magnitude: Value, format: FloatFormat, places: int | None = None, zeros: Value | None = None
) -> Number:
    """A finite magnitude of a format as a `Number`; the parameters are as in `with_field`."""
    significand, field = with_field(m, name, magnitude, format, places, zeros)
    exponent = Signal(signed(format.exp_bits + 1), name=f"{name}_exponent")
    m.d.comb += exponent.eq(field - format.bias)
    return Number(significand, exponent)


def leading_zeros(m: Module, name: str, fraction: Value) -> Value:
    """Number of leading zeros of a fraction that is not zero."""
    zeros = Signal(range(len(fraction)), name=f"{name}_zeros")
    for count in reversed(range(len(fraction))):
        with m.If(fraction[len(fraction) - 1 - count]):
            m.d.comb += zeros.eq(count)
    return zeros


def with_field(
    m: Module, name: str, magnitude: Value, format: FloatFormat, places: int | None = None, zeros: Value | None = None
) -> tuple[Value, Value]:
    """Significand and exponent field of a finite magnitude. Subnormal numbers are normalised: their field is below 1.

    With ``places``, subnormal numbers with so many leading zeros or more become zero. ``zeros`` are the `leading_zeros`
    of the fraction, if they are computed already.
    """
    size = format.man_bits
    fraction, field = magnitude[:size], magnitude[size:]
    is_subnormal = Signal(name=f"{name}_is_subnormal")
    moved = Signal(size + 1, name=f"{name}_moved")
    below = Signal(signed(size.bit_length() + 1), name=f"{name}_below")
    m.d.comb += is_subnormal.eq(~field.any())
    if zeros is not None:
        m.d.comb += [moved.eq((fraction << zeros) << 1), below.eq(-zeros)]
    for count in reversed(range(0 if zeros is not None else size if places is None else min(places, size))):
        with m.If(fraction[size - 1 - count]):  # the last assignment wins: the one for the leading one
            m.d.comb += [moved.eq(Cat(Const(0, count + 1), fraction[: size - count])), below.eq(-count)]
    significand = Signal(size + 1, name=f"{name}_significand")
    found = Signal(signed(format.exp_bits + 1), name=f"{name}_field")
    m.d.comb += [
        significand.eq(Mux(is_subnormal, moved, Cat(fraction, Const(1, 1)))),
        found.eq(Mux(is_subnormal, below, field)),
    ]
    return significand, found


def rounded(m: Module, name: str, number: Number, sticky: Value | int = 0) -> Number:
    """A number rounded to nearest even, to a binary32 significand. ``sticky``: is any bit below its last bit set?"""
    missing = SIGNIFICAND - len(number.significand)
    if missing > 0:
        return Number(Cat(Const(0, missing), number.significand), number.exponent)
    rest = -missing
    kept, below = number.significand[rest:], number.significand[:rest]
    up = below[-1] & (kept[0] | below[:-1].any() | sticky) if rest else Const(0, 1)
    total = Signal(SIGNIFICAND + 1, name=f"{name}_total")
    exponent = Signal(signed(len(number.exponent) + 1), name=f"{name}_rounded_exponent")
    m.d.comb += [total.eq(kept + up), exponent.eq(number.exponent + total[-1])]
    return Number(Cat(total[: SIGNIFICAND - 1], total[SIGNIFICAND - 1] | total[SIGNIFICAND]), exponent)


def carried(m: Module, name: str, number: Number) -> tuple[Value, Value]:
    """The significand of a number that is `rounded`, and the carry to its exponent. The addition rounds half up, so it
    does not wait for the bits below: the last bit of a tie becomes 0, and an even number that becomes odd has no carry.
    """
    rest = len(number.significand) - SIGNIFICAND
    kept, below = number.significand[rest:], number.significand[:rest]
    total = Signal(SIGNIFICAND + 1, name=f"{name}_total")
    m.d.comb += total.eq(kept + below[-1])
    last = total[0] & ~(below[-1] & ~below[:-1].any())
    return Cat(last, total[1 : SIGNIFICAND - 1], total[SIGNIFICAND - 1] | total[SIGNIFICAND]), total[-1]


def partial_products(a: Value, b: Value) -> dict[str, Value]:
    """The four products of halves of two significands. Keys name the half of each: 0 is the lower one."""
    size = len(a) // 2
    halves = {"0": slice(None, size), "1": slice(size, None)}
    return {f"part{i}{j}": a[halves[i]] * b[halves[j]] for i in halves for j in halves}


def joined_products(parts: Mapping[str, Value]) -> Value:
    """The product of two significands from their `partial_products`."""
    size = len(parts["part00"]) // 2
    return Cat(parts["part00"], parts["part11"]) + ((parts["part01"] + parts["part10"]) << size)


def row_sums(a: Value, b: Value) -> list[Value]:
    """The products of b and two bits of a each, the lowest first."""
    rows = [Mux(bit, b, 0) for bit in a]
    return [low + (high << 1) for low, high in zip(rows[::2], rows[1::2])]


def joined_rows(sums: Sequence[Value], bits: int) -> list[Value]:
    """Half as many sums, from sums that have ``bits`` bits of a product each."""
    pairs = [low + (high << bits) for low, high in zip(sums[::2], sums[1::2])]
    return [*pairs, *sums[2 * len(pairs) :]]


def product(m: Module, name: str, a: Number, b: Number, significands: Value | None = None) -> Number:
    """The exact product, with the bits of both significands. ``significands`` is their product, if it is computed
    already."""
    exact = Signal(len(a.significand) + len(b.significand), name=f"{name}_exact")
    exponent = Signal(signed(max(len(a.exponent), len(b.exponent)) + 1), name=f"{name}_exponent")
    m.d.comb += [
        exact.eq(a.significand * b.significand if significands is None else significands),
        exponent.eq(a.exponent + b.exponent + exact[-1]),
    ]
    return Number(Mux(exact[-1], exact, Cat(Const(0, 1), exact[:-1])), exponent)


def divided(
    m: Module, name: str, dividend: Value, divisor: int | Value, remainder: Value | None = None
) -> tuple[Value, Value]:
    """Quotient and remainder of a whole number, digit by digit. A first ``remainder``, below the divisor, extends the
    dividend at the top.
    """
    size = divisor.bit_length() if isinstance(divisor, int) else len(divisor)
    digits = []
    remainder = Const(0, size) if remainder is None else remainder
    for place in reversed(range(len(dividend))):
        step = Signal(size + 1, name=f"{name}_step{place}")
        digit = Signal(name=f"{name}_digit{place}")
        left = Signal(size, name=f"{name}_left{place}")
        m.d.comb += [
            step.eq(Cat(dividend[place], remainder)),
            digit.eq(step >= divisor),
            left.eq(Mux(digit, step - divisor, step)),
        ]
        digits.append(digit)
        remainder = left
    return Cat(*reversed(digits)), remainder


def packed(number: Number) -> Value:
    """The pattern of a magnitude, for rounding to a shorter format: 0 below the normal numbers of binary32, and a
    pattern with the largest exponent above it.
    """
    field = number.exponent + FP32.bias
    is_small, is_large = number.is_zero | (field < 1), field > TOP
    return Mux(is_small, 0, Cat(number.significand[:-1], Mux(is_large, TOP, field)[: FP32.exp_bits]))[: FP32.bits - 1]


def reduced(remainder: Value, step: Value) -> Value:
    """The remainder minus the step, or plus the step if the remainder is negative."""
    adds = remainder[-1]
    size = len(remainder)
    padded = Cat(step, Const(0, size - len(step)))
    subtracted = Mux(adds, padded, ~padded)
    return (Cat(Const(1, 1), remainder) + Cat(~adds, subtracted))[1 : size + 1].as_signed()


def reciprocal(
    m: Module,
    name: str,
    divisor: Value,
    crossed: Callable[[str, dict[str, Value]], Mapping[str, Value]] = lambda boundary, values: values,
    is_short: Value | None = None,
) -> tuple[Value, Value]:
    """2**47 / divisor, rounded to nearest, for a significand, and the error: quotient * divisor - 2**47. There are no
    ties.

    The division is non-restoring: each step adds or subtracts the divisor. ``crossed`` receives the name of a stage
    boundary and all values that cross it, and returns them behind it. With ``is_short`` the result is a subnormal
    number with one bit less, so it is even.
    """
    size = SIGNIFICAND
    remainder: Value = Const(1 << size - 1, signed(size + 2))
    digits: dict[str, Value] = {}
    told = {} if is_short is None else {"is_short": is_short}
    for place in reversed(range(size)):
        after = Signal(signed(size + 2), name=f"{name}_remainder{place}")
        m.d.comb += after.eq(reduced(Cat(Const(0, 1), remainder[:-1]).as_signed(), divisor))
        digits[f"digit{place}"] = ~remainder[-1]
        later = crossed(f"digits{len(digits)}", {"divisor": divisor, "remainder": after, **told, **digits})
        divisor, remainder = later["divisor"], later["remainder"]
        digits, told = ({key: later[key] for key in known} for known in (digits, told))
    near = Cat(Const(1, 1), *list(digits.values())[:0:-1])  # an odd number next to the quotient; the first digit is one
    twice = Cat(Const(0, 1), remainder).as_signed()
    is_power = ~divisor[:-1].any()
    quotient = Signal(size + 1, name=f"{name}_quotient")
    error = Signal(signed(size + 1), name=f"{name}_error")
    up = Signal(name=f"{name}_up")
    down = Signal(name=f"{name}_down")
    goes_up, goes_down = twice > divisor, twice < -divisor
    if told:  # the even numbers next to an odd one
        goes_up = Mux(told["is_short"], ~remainder[-1], goes_up)
        goes_down = Mux(told["is_short"], remainder[-1], goes_down)
    m.d.comb += [up.eq(goes_up), down.eq(goes_down)]
    known = {"divisor": divisor, "remainder": remainder, "near": near, "up": up, "down": down, "is_power": is_power}
    divisor, remainder, near, up, down, is_power = crossed("compared", known).values()
    m.d.comb += [
        quotient.eq(Mux(is_power, 1 << size, Mux(up, near + 1, Mux(down, near - 1, near)))),
        error.eq(Mux(is_power, 0, Mux(up, divisor, Mux(down, -divisor, 0)) - remainder)),
    ]
    return quotient, error
