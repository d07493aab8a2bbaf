"""The scale byte of a block as arithmetic on the fields of its largest magnitude.

The byte is the exponent field minus a constant, plus 1 if the fraction is above another constant. Both constants follow
from the exact definition of the scale rule.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache

from ..models.exact.scale import SCALE_RULES
from ..spec import E8M0, FP32, Encode, NumberFormat, ScaleRule

FRACTION = (1 << FP32.man_bits) - 1


def fp32_pattern(value: Fraction) -> int:
    """The bit pattern of a value >= 0 that is an FP32 number."""
    return struct.unpack(">I", struct.pack(">f", float(value)))[0]


def scale_trace(a: int, numerics: Encode) -> tuple[int, str]:
    """The scale byte for a finite largest magnitude ``a``, an FP32 pattern, and the arithmetic in words.

    In the words e and m are the exponent field and the fraction of a.

    >>> from mxcast.spec import numerics
    >>> scale_trace(0x3FF00000, numerics("e4m3", "nvidia"))
    (120, 'e - emax + (m > 0x600000) = 127 - 8 + 1 = 120')
    """
    if a == 0:
        return 0, "a = 0: byte 0"
    element, (e, m) = numerics.block.element, divmod(a, FRACTION + 1)
    less, limit = offset_and_limit(numerics.scale_rule, element, e)
    formula, numbers, total = f"e - {_name(less, element)}", f"{e} - {less}", e - less
    if limit is not None:
        formula += f" + (m > {f'0x{limit:06X}' if limit else 0})"
        numbers, total = f"{numbers} + {int(m > limit)}", total + (m > limit)
    byte = min(max(total, 0), E8M0.max_code)
    return byte, f"{formula} = {numbers} = {total}" + (f", clamped to {byte}" if byte != total else "")


@lru_cache(maxsize=1 << 12)
def offset_and_limit(rule: ScaleRule, element: NumberFormat, field: int) -> tuple[int, int | None]:
    """The constants of a scale rule for maxima with one exponent field.

    The byte, before it is clamped at the top, is the field minus the first constant, plus 1 if the fraction is above
    the second one. The second constant is None if the fraction does not matter.
    """

    def byte(fraction: int) -> int:
        a = FP32.decode(field << FP32.man_bits | fraction).magnitude
        return max(SCALE_RULES[rule](a, element) + E8M0.bias, 0) if a else 0

    first, last = byte(0), byte(FRACTION)
    if last == 0 and field != FP32.bias:  # clamped: show the constant of other binades
        return offset_and_limit(rule, element, FP32.bias)[0], None
    limit = None if first == last else bisect_left(range(FRACTION + 1), last, key=byte) - 1
    return field - first, limit


def _name(offset: int, element: NumberFormat) -> str:
    names = {element.emax + 1: "(emax + 1)", element.bias: "bias", element.emax: "emax"}
    return names.get(offset, str(offset))
