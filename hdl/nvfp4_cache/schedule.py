"""The cycles in which a row of thresholds is computed, one digit in each."""

from __future__ import annotations

from ...spec import FP32
from ..nvfp4.threshold_row import MARKS

DIGITS = FP32.man_bits + 2
"""Digits of a quotient."""
TURN = 32
"""Cycles of a division, which is ready after `DIGITS` of them."""
TURNS = 2 + len(MARKS)
"""Turns of a row: of the divisor, of the factor, and of each mark."""
ROW_CYCLES = TURN * TURNS
"""Cycles of a row."""
