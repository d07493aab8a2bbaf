"""Rounding decisions, from the bits below the last place."""

from __future__ import annotations

from ..spec import Rounding

__all__ = ["rounds_up"]


def rounds_up(rounding: Rounding, last, guard, sticky):
    """Does a truncated magnitude go one up? ``last`` is its lowest bit, ``guard`` the bit below, ``sticky`` the OR
    of everything below that."""
    if rounding is Rounding.RNE:
        return guard & (last | sticky)
    if rounding is Rounding.GUARD_HALF_UP:
        return guard
    raise ValueError(f"no hardware for rounding {rounding}")
