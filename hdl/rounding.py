"""Rounding decisions, from the bits below the last place."""

from __future__ import annotations

from ..spec import Numerics, Rounding

__all__ = ["bits_below", "rounds_up"]


def bits_below(numerics: Numerics) -> int:
    """How many bits below the last place a rounding looks at, besides the OR of everything below them."""
    return max(numerics.random_bits, 1)


def rounds_up(rounding: Rounding, last, below, sticky, random):
    """Does a truncated magnitude go one up? ``last`` is its lowest bit, ``below`` are the bits below it, ``sticky`` is
    the OR of everything below those, and ``random`` as many random bits, or None."""
    if rounding is Rounding.RNE:
        return below & (last | sticky)
    if rounding in (Rounding.RNA, Rounding.GUARD_HALF_UP):
        return below
    if rounding is Rounding.RTZ:
        return 0
    if rounding is Rounding.SR:
        return (below + random)[-1]  # the carry
    raise ValueError(f"no hardware for rounding {rounding}")
