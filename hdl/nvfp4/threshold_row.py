"""Thresholds in place of products: the code of a number is the number of thresholds that it reaches.

For one factor, fl(x * factor) never decreases as x grows. So all numbers from some threshold on are rounded to an
element or above, and the threshold accounts for both roundings. The codes of E2M1 change at 0.25, 0.75, 1.25, 1.75,
2.5, 3.5 and 5, which are 1, 1.25, 1.5 and 1.75 times powers of two. These are four *marks* in every binade of products
from 0.25 on. So four thresholds with significands of 24 bits and unlimited exponents are enough, and the number of
marks that a number has passed gives its code (`CODES`). No two marks are in the same eighth of a binade, a *cell*. So a
lane compares the last bits of its number with the one mark in its cell.

This file defines a row, which lanes receive, and makes the table of rows that software writes for a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...spec import E4M3, FP32, FloatFormat, Nvfp4Encode, Order, Port, Role

MARKS = ((4, True), (5, True), (6, False), (7, False))
"""Marks in quarters, and whether a product must be above the mark. (A tie rounds to the even element.)"""

CODES = (0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7)
"""The code for each number of passed marks. The first mark is a product of 0.25."""

CELLS = 8
CELL_BITS = 4
"""Bits of a cell: three for the number of marks before it, whose last two select the next mark, and one that is set if
this mark is in the cell."""
START_BITS = FP32.exp_bits + 2

SIGNIFICAND = FP32.man_bits + 1
ALWAYS, NEVER = -(1 << START_BITS - 1), FP32.max_code >> FP32.man_bits
"""Exponents from which codes are nonzero, for the factors Inf and 0."""


@dataclass(frozen=True)
class Row:
    """The thresholds for one scale."""

    start: int
    """The exponent field from which codes are nonzero. In each binade above it, a number has passed four more marks,
    and the marks before its cell. It may be negative.
    """
    cells: tuple[int, ...]
    """The cell of each eighth of a binade, with `CELL_BITS` bits."""
    thresholds: tuple[int, ...]
    """The last bits of each mark: a source fraction without the three bits that select the cell."""


def row_ports(source: FloatFormat) -> tuple[Port, ...]:
    """The input ports of a row."""
    shapes = {
        Role.ROW_START: (START_BITS, 1),
        Role.ROW_CELLS: (CELL_BITS, CELLS),
        Role.ROW_THRESHOLDS: (source.man_bits - 3, len(MARKS)),
    }
    return tuple(
        Port(name=role.value, role=role, direction="input", bits=bits, lanes=lanes)
        for role, (bits, lanes) in shapes.items()
    )


def _rounded(value: Fraction) -> Fraction:
    """A positive number rounded to nearest even in binary32, without an upper limit."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent -= value < Fraction(2) ** exponent
    step = Fraction(2) ** (max(exponent, FP32.emin) - FP32.man_bits)
    return round(value / step) * step


def _reciprocal(s: Fraction, d: Fraction) -> Fraction:
    """min(1 / (s * d), max)."""
    v = _rounded(s * d) if s * d else Fraction(0)
    largest = FP32.max_value
    return min(_rounded(1 / v), largest) if v else largest


def _quotient(s: Fraction, d: Fraction) -> Fraction:
    """d / s. For a scale of 0, which these orders never produce, it is above the largest number."""
    return _rounded(d / s) if s else 2 * FP32.max_value


FACTORS: dict[Order, Callable[[Fraction, Fraction], Fraction]] = {
    Order.TE: _reciprocal,
    Order.PAPER: _reciprocal,
    Order.AO: _quotient,
    Order.AO_SINGLE: _quotient,
}
"""The factor of the numbers, from the scale and the constant d."""


def marks_of(significand: int) -> list[tuple[int, bool]]:
    """For a factor with this significand in [2**23, 2**24): the fraction of the threshold of each mark, and whether the
    threshold is in the upper of the two binades that contain thresholds of products in [1, 2).

    A product X * significand is rounded above m if it exceeds m by more than half a last place, and to m or above from
    half a last place below m on.
    """
    found = []
    for quarters, is_beyond in MARKS:
        limit = quarters << SIGNIFICAND - 2
        for is_upper in (False, True):
            scale = SIGNIFICAND - 1 - is_upper
            if is_beyond:
                x = ((limit + 1) << scale) // significand + 1
            else:
                x = -(-((limit - 1) << scale) // significand)
            if x >> SIGNIFICAND == 0:
                break
        found.append((x - (1 << SIGNIFICAND - 1), is_upper))
    return found


def row_of(marks: Sequence[tuple[int, bool]], exponent: int, source: FloatFormat) -> Row:
    """The row of a factor, from its marks and its exponent."""
    dropped, low = FP32.man_bits - source.man_bits, source.man_bits - 3
    upper = sum(is_upper for _, is_upper in marks)
    fractions = [-(-fraction >> dropped) for fraction, _ in marks]  # rounded up to a fraction of a shorter source
    cells = [fraction >> FP32.man_bits - 3 for fraction, _ in marks]
    start = FP32.bias - 3 - exponent + (upper > 0)
    passed = [sum(cell < number for cell in cells) - upper + 4 * (upper > 0) for number in range(CELLS)]
    has = [
        any(cell == fraction >> low == number for cell, fraction in zip(cells, fractions)) for number in range(CELLS)
    ]
    return Row(
        start=start,
        cells=tuple(count | has[number] << 3 for number, count in enumerate(passed)),
        thresholds=tuple(fraction & (1 << low) - 1 for fraction in fractions),
    )


def threshold_table(rules: Nvfp4Encode, d: int) -> tuple[Row, ...]:
    """The table that software writes for a tensor: the row of each scale byte from 0 to 0x7E.

    ``d`` is the pattern of the constant of the tensor (`Nvfp4Encode.ports`), which is not NaN. In the order
    ``ao_single`` it is the pattern of one.

    >>> from mxcast.spec import nvfp4_encoding
    >>> table = threshold_table(nvfp4_encoding("nvfp4", source="bf16"), 0x3B73CF3E)  # a tensor up to 10
    >>> row = table[0x71]  # a scale of 144
    >>> row.start, [f"{cell:04b}" for cell in row.cells], row.thresholds
    (124, ['1000', '0001', '1001', '0010', '1010', '0011', '0011', '1011'], (10, 12, 14, 1))
    """
    return tuple(row_under(rules, scale, d) for scale in range(E4M3.max_code + 1))


def row_under(rules: Nvfp4Encode, scale: int, d: int) -> Row:
    """A row of the table."""
    nothing = (0,) * CELLS, (0,) * len(MARKS)
    if d > FP32.max_code:
        return Row(ALWAYS, *nothing)
    s, constant = E4M3.decode(scale).magnitude, FP32.decode(d).magnitude
    if not constant:
        return Row(NEVER, *nothing)
    factor = FACTORS[rules.order](s, constant)
    if factor > FP32.max_value:
        return Row(ALWAYS, *nothing)
    exponent = factor.numerator.bit_length() - factor.denominator.bit_length()
    exponent -= factor < Fraction(2) ** exponent
    significand = int(factor / Fraction(2) ** (exponent - FP32.man_bits))
    return row_of(marks_of(significand), exponent, rules.source)
