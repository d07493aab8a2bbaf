"""The distance from a number to the top of its block: one subtraction, which also adds to the exponent in its LUTs."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..primitives.normalise import Normalised
from ..primitives.table import fewest


class Distance(wiring.Component):
    """``y``: the complement of (top - exponent - carry), and in the bit above, whether the distance is negative.

    ``carry`` is the AND of ``carries``. It enters below the lowest place, so that the AND needs no LUT of its own. A
    normalised (``moved``) number has the exponent field 0; its exponent follows from the choices, and is inserted. It
    may be negative: with ``signed``, the bit above is inverted in this case.
    """

    kind, whole = "distance", True

    def __init__(self, width: int, carries: int, moved: Normalised | None = None, signed: bool = False) -> None:
        self.moved, self.signed = moved, signed
        choices = {"choices": In(len(moved.choices))} if moved else {}
        super().__init__(
            {"exponent": In(width), "not_top": In(width), "carries": In(carries), **choices, "y": Out(width + 1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.y.eq(
            distance(self.exponent, self.not_top, self.carries, self.moved, getattr(self, "choices", None), self.signed)
        )
        return m


def distance(
    exponent: Value,
    not_top: Value,
    carries: Value,
    moved: Normalised | None = None,
    choices: Value | None = None,
    signed: bool = False,
) -> Value:
    """See `Distance`."""
    if moved:
        size = len(exponent) + signed
        exponent = Cat(
            bit | _added(moved, place, choices) for place, bit in enumerate(Cat(exponent, Const(0, 1))[:size])
        )
        not_top = Cat(not_top, Const(0, 1))[:size]
    return (Cat(carries.all(), exponent) + Cat(Const(1, 1), not_top))[1:]


def _added(moved: Normalised, place: int, choices: Value) -> Value:
    """A bit of the exponent of a normalised number."""

    def bit(*bits: int) -> bool | None:
        exponent = moved.exponent(*bits)
        return None if exponent is None else bool(exponent >> place & 1)

    inputs, truth = fewest(bit, len(moved.choices))
    return (Const(truth, 1 << len(inputs)) >> Cat(choices[i] for i in inputs))[0] if inputs else Const(truth, 1)
