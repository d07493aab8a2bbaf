"""Rounding decisions, from the bits below the last place."""

from __future__ import annotations

from amaranth.hdl import Value

from ...spec import Operation, Rounding


def bits_below(rules: Operation) -> int:
    """Number of bits below the last place that a rounding uses, in addition to the OR of everything below them."""
    return max(rules.random_bits, 1)


def rounds_up(
    rounding: Rounding, last: Value | int, below: Value | int, sticky: Value | int, random: Value | None
) -> Value | int:
    """Is a truncated magnitude increased by one?

    ``last`` is its lowest bit, ``below`` are the bits below it, ``sticky`` is the OR of everything below these, and
    ``random`` as many random bits as ``below`` has, or None.
    """
    return ROUNDINGS[rounding](last, below, sticky, random)


ROUNDINGS = {
    Rounding.RNE: lambda last, below, sticky, random: below & (last | sticky),
    Rounding.RNA: lambda last, below, sticky, random: below,
    Rounding.GUARD_HALF_UP: lambda last, below, sticky, random: below,
    Rounding.RTZ: lambda last, below, sticky, random: 0,
    Rounding.SR: lambda last, below, sticky, random: (below + random)[-1],  # the carry
    Rounding.RNZ: lambda last, below, sticky, random: below & sticky,
}
