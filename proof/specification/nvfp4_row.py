"""The table row with the thresholds of a factor, which software computes, as a statement of SMT-LIB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...spec import FP32, FloatFormat
from .encode import bits, extended
from .nvfp4 import SIGNIFICAND, signed

CELL_BITS = 3
CELLS = 1 << CELL_BITS
"""Eighths of a binade."""
FIRST = -3
"""The lowest binade of products, from 2**-3 on, in which a code other than 0 can begin: the first boundary is 0.25."""
START = FP32.exp_bits + 2


def is_row(thresholds: Mapping[int, str], exponent: str, source: FloatFormat, row: Sequence[str]) -> str:
    """Is ``start``, ``cells`` and ``thresholds`` the row of a factor with this exponent?

    The threshold of each mark is a whole number of 25 bits; the top bit is set in the upper of two binades. The cell of
    a mark is the eighth of a binade that contains its threshold. A source with fewer bits takes its next number, which
    may be in the next cell. The entry of a cell has the number of marks in the cells before it, in three bits, and a
    bit that is set if the cell contains a mark.
    """
    low = source.man_bits - CELL_BITS
    start, cells, lasts = row
    uppers, places, ends, claims = [], [], [], []
    for number, x in enumerate(thresholds.values()):
        top = f"((_ extract {SIGNIFICAND} {SIGNIFICAND}) {x})"
        half = f"((_ extract {SIGNIFICAND - 1} 1) (bvadd {x} {bits(1, SIGNIFICAND + 1)}))"
        own = f"((_ extract {SIGNIFICAND - 2} 0) {x})"
        fraction = f"(ite (= {top} #b1) ((_ extract {SIGNIFICAND - 2} 0) {half}) {own})"
        dropped, wide = FP32.man_bits - source.man_bits, FP32.man_bits + 1
        next_one = f"(bvadd {extended(fraction, FP32.man_bits, wide)} {bits((1 << dropped) - 1, wide)})"
        shorter = f"((_ extract {wide - 1} {dropped}) {next_one})"
        uppers.append(extended(top, 1, CELL_BITS))
        places.append(f"((_ extract {FP32.man_bits - 1} {FP32.man_bits - CELL_BITS}) {fraction})")
        ends.append(f"((_ extract {source.man_bits} {low}) {shorter})")
        claims.append(
            f"(= ((_ extract {low * number + low - 1} {low * number}) {lasts}) ((_ extract {low - 1} 0) {shorter}))"
        )
    upper = f"(bvadd {' '.join(uppers)})"
    some = f"(distinct {upper} {bits(0, CELL_BITS)})"
    for cell in range(CELLS):
        here = bits(cell, CELL_BITS)
        passed = " ".join(f"(ite (bvult {place} {here}) #b001 #b000)" for place in places)
        count = f"(bvadd {passed} (bvneg {upper}) (ite {some} #b100 #b000))"
        has = " ".join(
            f"(and (= {place} {here}) (= {end} {bits(cell, CELL_BITS + 1)}))" for place, end in zip(places, ends)
        )
        entry = f"((_ extract {4 * cell + 3} {4 * cell}) {cells})"
        claims.append(f"(= {entry} (concat (ite (or {has}) #b1 #b0) {count}))")
    begins = f"(bvsub (bvadd {signed(FP32.bias + FIRST, START)} (ite {some} {bits(1, START)} {bits(0, START)})) "
    begins += f"((_ sign_extend {START - FP32.exp_bits - 1}) {exponent}))"
    return f"(and (= {start} {begins}) {' '.join(claims)})"


def is_row_of_infinity(row: Sequence[str]) -> str:
    """Is this the row of the factor Inf, under which all numbers but zero become the largest?"""
    start, _, _ = row
    return f"(= {start} {signed(-(1 << START - 1), START)})"


def is_row_of_zero(row: Sequence[str]) -> str:
    """Is this the row of the factor zero, under which all finite numbers become 0?"""
    start, cells, _ = row
    return f"(and (= {start} {bits(FP32.max_code + 1 >> FP32.man_bits, START)}) (= {cells} {bits(0, 4 * CELLS)}))"
