"""Counts of what leaves an encoder, as statements in a top module."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from amaranth.hdl import Const, Module, Mux, Signal, Value

from ...spec import NumberFormat
from .table import COUNTERS, WIDTH


def codes_of(element: NumberFormat, magnitude: Fraction) -> list[int]:
    """The codes of the numbers of this magnitude, of both signs.

    >>> from mxcast.spec.formats.number import E2M1
    >>> codes_of(E2M1, Fraction(6)), codes_of(E2M1, Fraction(0))
    ([7, 15], [0, 8])
    """
    numbers = ((code, element.decode(code)) for code in range(1 << element.bits))
    return [code for code, number in numbers if number.kind == "finite" and number.magnitude == magnitude]


def is_one_of(code: Value, codes: list[int]) -> Value:
    """Whether a code is one of a list."""
    found: Value = Const(0, 1)
    for one in codes:
        found = found | (code == one if one else ~code.any())
    return found


class Counters:
    """The counters of `table.COUNTERS`, three cycles behind the beats. They stop at their largest value.

    Parameters
    ----------
    events : for each counter the bits that are counted in a cycle
    clear : sets all counters to 0
    """

    def __init__(self, m: Module, events: Mapping[str, list[Value]], clear: Value) -> None:
        self.values: dict[str, Value] = {}
        for name in COUNTERS:
            seen = [Signal(name=f"{name}_seen{number}") for number in range(len(events[name]))]
            amount = Signal(len(seen).bit_length(), name=f"{name}_amount")
            total = Signal(WIDTH, name=f"{name}_total")
            added = Signal(WIDTH + 1, name=f"{name}_added")
            m.d.sync += [one.eq(event) for one, event in zip(seen, events[name])]
            m.d.sync += amount.eq(_sum(list(seen)))
            m.d.comb += added.eq(total + amount)
            m.d.sync += total.eq(Mux(clear, 0, Mux(added[WIDTH], (1 << WIDTH) - 1, added[:WIDTH])))
            self.values[name] = total


def _sum(bits: list[Value]) -> Value:
    """The number of set bits, by a tree of adders."""
    while len(bits) > 1:
        bits = [bits[at] + bits[at + 1] if at + 1 < len(bits) else bits[at] for at in range(0, len(bits), 2)]
    return bits[0]
