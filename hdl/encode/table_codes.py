"""The codes that the tables of an element format contain, computed on integers."""

from __future__ import annotations

from ...spec import Encode, Kind, Rounding, Subnormals
from ..primitives.rounding import rounds_up
from .scale import leaves_above


class Element:
    """The rounding of a floating-point element format under its rules, on integers."""

    def __init__(self, numerics: Encode) -> None:
        element = numerics.block.element
        assert element.kind is Kind.FLOAT  # fixed-point elements have a quantizer of their own
        self.rounding, self.man_bits = numerics.rounding, element.man_bits
        self.field = (1 << element.exp_bits) - 1  # all ones
        self.keeps_field_zero = (  # as published: field 0 keeps the unshifted fraction
            numerics.rounding is Rounding.GUARD_HALF_UP and numerics.element_subnormals is Subnormals.FLUSH
        )
        self.flushes = numerics.element_subnormals is Subnormals.FLUSH
        self.max_code = (
            (self.field << self.man_bits) - 1 if numerics.rounding is Rounding.GUARD_HALF_UP else element.max_code
        )
        self.has_sticky = numerics.rounding is Rounding.RNE
        self.carries = numerics.rounding is not Rounding.RTZ
        self.exceeds = leaves_above(numerics)
        self.last = self.field if self.keeps_field_zero else self.field + (0 if self.flushes else self.man_bits)
        """The largest distance of a nonzero code."""

    def is_power(self, kept: int) -> bool:
        """Do the first ``man_bits`` + 1 bits of a fraction round up to the next power of two?"""
        return self.carries and kept == (2 << self.man_bits) - 1

    def nearest(self, number: int, places: int, sticky: int) -> int:
        """``number`` without its last ``places`` bits, rounded."""
        below, rest = number >> places - 1 & 1, int(bool(number & (1 << places - 1) - 1) or sticky)
        return (number >> places) + rounds_up(self.rounding, number >> places & 1, below, rest, None)

    def fraction(self, kept: int, sticky: int) -> int:
        """Fraction bits of a normal code."""
        return self.nearest(kept, 1, sticky) & (1 << self.man_bits) - 1

    def subnormal(self, places: int, kept: int, sticky: int, bare: int = 0) -> int:
        """The code of a number ``places`` below field 0. The carry of its fraction (``kept`` and ``sticky``) is already
        in the distance.

        A ``bare`` number has no leading one, and a fraction that begins one place higher.
        """
        if self.is_power(kept):
            if places == self.man_bits:  # rounded up from below half of the smallest code
                return 0
            kept = sticky = bare = 0
        return (
            self.nearest(kept, 1 + places, sticky)
            if bare
            else self.nearest((2 << self.man_bits) + kept, 2 + places, sticky)
        )
