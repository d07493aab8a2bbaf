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
LIMB_NUMBER = (LIMBS - 1).bit_length()
"""Bits of the number of a limb."""
LIMB_SUM = LIMB + LEVELS + 1
"""Bits of a sum of limbs with its sign."""
WINDOW = {"bits": 2 * LIMB, "number": LIMB_NUMBER, "rest": 1, "sign": 1}
"""The bits of a `rounding.Window`, without ``is_first``."""
SPECIALS = 1 + 2 * RESULTS
"""Bits about the numbers of a block: is any NaN, which are Inf, and which are negative."""
