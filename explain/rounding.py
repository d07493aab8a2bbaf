"""Rounding of one magnitude from its guard, sticky and random bits, as hardware does it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from ..spec import CastRounding, Rounding, Rule


@dataclass(frozen=True, kw_only=True)
class Rounded:
    """A rounding of a code that was cut off."""

    up: int
    """1 if the rounding adds one to the code."""
    action: str
    """exact, down, up, tie down or tie up."""
    guard: int | None = None
    sticky: int | None = None
    """The first bit cut off, and whether any bit below it is set; None under stochastic rounding."""
    tail: int | None = None
    random: int | None = None
    """Under stochastic rounding the first random_bits bits cut off, and the random bits added to them."""

    @property
    def bits(self) -> dict[str, int | None]:
        """The fields that decided the rounding."""
        return {"guard": self.guard, "sticky": self.sticky, "tail": self.tail, "random": self.random}


NO_BITS: dict[str, int | None] = {"guard": None, "sticky": None, "tail": None, "random": None}
"""`Rounded.bits` of a number that was not rounded."""


@dataclass(frozen=True)
class Trace:
    """The way of one number to a code or pattern."""

    action: str
    magnitude: int = 0
    """The result without its sign."""
    cut: int | None = None
    """The result rounded toward zero; None if nothing is rounded, or beyond the largest number."""
    bits: dict[str, int | None] = field(default_factory=lambda: NO_BITS)


def rounded(code: int, part: Fraction, rounding: Rule, random: int, random_bits: int) -> Rounded:
    """Round a code that was cut off together with a part of a step."""
    guard, sticky, tail = int(2 * part >= 1), int(2 * part % 1 > 0), math.floor(part * 2**random_bits)
    up = INCREMENTS[rounding](guard, sticky, code & 1, tail + random >> random_bits)
    action = "exact" if part == 0 and not up else "up" if up else "down"
    if guard and not sticky and rounding in TIES:
        action = f"tie {action}"
    if rounding == Rounding.SR:
        return Rounded(up=up, action=action, tail=tail, random=random)
    return Rounded(up=up, action=action, guard=guard, sticky=sticky)


INCREMENTS: dict[Rule, Callable[[int, int, int, int], int]] = {
    Rounding.RNE: lambda guard, sticky, last, carry: guard & (sticky | last),
    Rounding.RNA: lambda guard, sticky, last, carry: guard,
    Rounding.RTZ: lambda guard, sticky, last, carry: 0,
    Rounding.SR: lambda guard, sticky, last, carry: carry,
    Rounding.GUARD_HALF_UP: lambda guard, sticky, last, carry: guard,
    Rounding.RNZ: lambda guard, sticky, last, carry: guard & sticky,
    CastRounding.RP: lambda guard, sticky, last, carry: guard | sticky,
}
"""Increment of the code under each rounding, from guard bit, sticky bit, last bit of the code and carry of the random
bits. Roundings of the same name are equal in all operations.
"""

TIES = (Rounding.RNE, Rounding.RNA, Rounding.GUARD_HALF_UP, Rounding.RNZ)
"""Roundings to nearest."""
