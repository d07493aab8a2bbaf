"""Shapes of signals."""

from __future__ import annotations

from amaranth.hdl import Shape, signed


def signed_range(low: int, high: int) -> Shape:
    """The shape of signed numbers from ``low`` to ``high``."""
    return signed(max(low.bit_length(), (~low).bit_length(), high.bit_length()) + 1)
