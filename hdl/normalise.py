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
    windows = -(-(places + 1) // 4)  # of four bits, one of which has the leading one
    below = 4 * windows + bits + 3 - 1  # bits behind the hidden one that can come into a window
    padded = Cat(Const(0, max(below - source.man_bits, 0)), number.fraction, is_normal)

    def from_window(window: int):
        return Cat(Const(0, 4 * window), padded[:len(padded) - 4 * window])

    moved, coarse = from_window(windows - 1), Const(windows - 1, max((windows - 1).bit_length(), 1))
    for window in reversed(range(windows - 1)):
        is_here = Signal(name=f"ones{window}")
        m.d.comb += is_here.eq(padded[len(padded) - 4 * (window + 1):len(padded) - 4 * window].any())
        moved, coarse = Mux(is_here, from_window(window), moved), Mux(is_here, window, coarse)
    aligned = Signal(len(padded))  # the leading one is in the first four bits
    m.d.comb += aligned.eq(moved)
    first = aligned[-4:]
    fine = Signal(2)
    m.d.comb += fine.eq(Mux(first[3], 0, Mux(first[2], 1, Mux(first[1], 2, 3))))
    fraction = Signal(len(aligned) - 1)
    m.d.comb += fraction.eq((aligned << fine)[:len(aligned) - 1])

    up = Cat(fine, coarse)
    is_zero = Signal()
    is_negative = Signal()
    exponent = Signal(source.exp_bits)
    m.d.comb += [is_zero.eq(~first.any()), is_negative.eq(~is_normal & up[1:].any()),
                 exponent.eq(Mux(is_normal, number.exponent, 1 - up))]
    return fraction[-bits:], fraction[:-bits], exponent, is_zero, is_negative
