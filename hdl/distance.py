"""How far a number is below the top of its block: one subtraction, with all that is added to an exponent inside its LUTs."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .normalise import Normalised
from .table import fewest

__all__ = ["Distance", "distance"]


class Distance(wiring.Component):
    """``y``: the complement of (top - exponent - carry), and above it whether that is negative.

    ``carry`` is the AND of ``carries``; it enters below the lowest place, so that its AND costs no LUT of its own. The
    exponent of a number that has been ``moved`` is 0, to which what the choices say is added; the places above know nothing
    of a negative sum, so the bit above is turned round.
    """

    kind, whole = "distance", True

    def __init__(self, width: int, carries: int, moved: Normalised | None = None) -> None:
        self.moved = moved
        choices = {"choices": In(len(moved.choices))} if moved else {}
        super().__init__({"exponent": In(width), "not_top": In(width), "carries": In(carries), **choices, "y": Out(width + 1)})

    def elaborate(self, platform) -> Module:
        m = Module()
        m.d.comb += self.y.eq(distance(self.exponent, self.not_top, self.carries, self.moved, getattr(self, "choices", None)))
        return m


def distance(exponent, not_top, carries, moved: Normalised | None = None, choices=None):
    """See `Distance`."""
    if moved:
        added = [_added(moved, place, choices) for place in range(len(exponent) + 1)]
        exponent = Cat(Cat(exponent, Const(0, 1))[place] | bit for place, bit in enumerate(added))
        not_top = Cat(not_top, Const(0, 1))
        return (Cat(carries.all(), exponent) + Cat(Const(1, 1), not_top))[1:len(exponent) + 1]
    return (Cat(carries.all(), exponent) + Cat(Const(1, 1), not_top))[1:]


def _added(moved: Normalised, place: int, choices):
    """A bit of the exponent of a number that has moved."""
    def bit(*bits):
        exponent = moved.exponent(*bits)
        return None if exponent is None else bool(exponent >> place & 1)

    inputs, truth = fewest(bit, len(moved.choices))
    return (Const(truth, 1 << len(inputs)) >> Cat(choices[i] for i in inputs))[0] if inputs else Const(truth, 1)
