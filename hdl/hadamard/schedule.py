"""The cycles of a Hadamard transform that adds limb by limb. Without Amaranth, for configurations."""

from __future__ import annotations

from ...spec import BF16, Hadamard

LIMB = 16
"""Bits of a limb."""
NUMBER = (BF16.max_code >> BF16.man_bits) - 1 + BF16.man_bits + 2
"""Bits of a number in units of the smallest one, with its sign."""
LEVELS = 4
SUM = NUMBER + LEVELS
"""Bits of a sum."""
LIMBS = -(-SUM // LIMB)
"""Limbs of a sum. A block enters in as many cycles."""
RESULTS = Hadamard().size
"""Results, which are rounded one by one."""
