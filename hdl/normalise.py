"""Subnormal source numbers as normal ones with a smaller exponent, as far as an element format needs it."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal

__all__ = ["normalised"]


def normalised(m: Module, number, source, bits: int, places: int):
    """The first ``bits`` of the fraction behind the leading one, all bits after them, the biased exponent, whether there is
    no leading one within ``places`` below the hidden bit, and whether the exponent is negative, in two's complement.

    Nothing here depends on the other lanes. Moves four places at a time, then up to three.
    """
    is_normal = Signal()
    m.d.comb += is_normal.eq(number.exponent.any())
    coarse = -(-(places + 1) // 4)
    length = 4 * coarse + bits + 3  # hidden bit, and what can come into the window
    padded = Cat(Const(0, max(length - 1 - source.man_bits, 0)), number.fraction, is_normal)
    window = padded
    ones = [Signal(name=f"ones{step}") for step in range(coarse)]
    keep = 4 + bits
    m.d.comb += [one.eq(padded[len(padded) - 4 * (step + 1):len(padded) - 4 * step].any()) for step, one in enumerate(ones)]
    moved = Signal(len(padded), name="moved")
    value = Cat(Const(0, 4 * (coarse - 1)), padded[:len(padded) - 4 * (coarse - 1)])
    up_coarse = Const(coarse - 1, max((coarse - 1).bit_length(), 1))
    for step in reversed(range(coarse - 1)):
        value = Mux(ones[step], Cat(Const(0, 4 * step), padded[:len(padded) - 4 * step]), value)
        up_coarse = Mux(ones[step], step, up_coarse)
    m.d.comb += moved.eq(value)
    first = moved[-4:]
    fine = Signal(2, name="fine")
    m.d.comb += fine.eq(Mux(first[3], 0, Mux(first[2], 1, Mux(first[1], 2, 3))))
    window = Signal(len(moved) - 1, name="window")
    m.d.comb += window.eq((moved << fine)[:len(moved) - 1])
    up = Cat(fine, up_coarse)
    is_zero = Signal()
    is_negative = Signal()
    exponent = Signal(source.exp_bits, name="exponent")
    m.d.comb += [is_zero.eq(~first.any()), is_negative.eq(~is_normal & up[1:].any()),
                 exponent.eq(Mux(is_normal, number.exponent, 1 - up))]
    return window[-bits:], window[:-bits], exponent, is_zero, is_negative
