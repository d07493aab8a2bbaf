"""The bit trace of a block: its scale and its elements as a designer works them out by hand.

The scale comes from integer arithmetic on the fields of the largest magnitude, which is written out; the elements come
from guard and sticky bits. `explain` checks every result against the exact definition.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ..models.exact.encode import element_value, floor_log2, fp32, neighbours
from ..models.fast.rounding import largest_code
from ..spec import E8M0, Encode, Kind, NumberFormat, Rounding, ScaleRule, Subnormals

FRACTION = 0x7FFFFF
TWO = Fraction(2)


def fp32_pattern(value: Fraction) -> int:
    """The bit pattern of a value >= 0 that is an FP32 number."""
    return struct.unpack(">I", struct.pack(">f", float(value)))[0]


def fp32_value(pattern: int) -> Fraction:
    """The value of a finite FP32 pattern."""
    return Fraction(struct.unpack(">f", struct.pack(">I", pattern))[0])


def scale_trace(a: int, numerics: Encode) -> tuple[int, str]:
    """The scale byte for a finite largest magnitude ``a``, an FP32 pattern, and the arithmetic that leads to it.

    In this text e and m are the exponent field and the fraction of a; fl32 is rounding to FP32.

    >>> from mxcast.spec import numerics
    >>> scale_trace(0x3FF00000, numerics("e4m3", "nvidia"))
    (120, 'e - emax + (m > 0x600000) = 127 - 8 + 1 = 120')
    """
    element, rule = numerics.block.element, numerics.scale_rule
    e, m = a >> 23, a & FRACTION
    if a == 0:
        return 0, "a = 0: byte 0"
    return SCALE_RULES[rule](a, e, m, element)


def _floor(a: int, e: int, m: int, element: NumberFormat) -> tuple[int, str]:
    return _clamped("e - emax", e, element.emax)


def _bias_floor(a: int, e: int, m: int, element: NumberFormat) -> tuple[int, str]:
    return _clamped("e - bias", e, element.bias)


def _pow2_ceil(a: int, e: int, m: int, element: NumberFormat) -> tuple[int, str]:
    return _clamped("e - emax + (m > 0)", e, element.emax, m > 0)


def _even(a: int, e: int, m: int, element: NumberFormat) -> tuple[int, str]:
    half = 1 << (22 - element.fraction_bits)
    return _clamped(f"((a + 0x{half:X}) >> 23) - emax", (a + half) >> 23, element.emax)


def _even1(a: int, e: int, m: int, element: NumberFormat) -> tuple[int, str]:
    return _clamped("((a + 0x200000) >> 23) - emax", (a + 0x200000) >> 23, element.emax)


def _round_log2(a: int, e: int, m: int, element: NumberFormat) -> tuple[int, str]:
    # destmax is 2^emax * d: where d is above sqrt(2), the middle between two integers is in the binade below
    d = Fraction(element.max_value) / 2**element.emax
    if d**2 > 2:
        if e == 0:
            return 0, "e = 0: a is below destmax * 2^-126.5, byte 0"
        limit = math.isqrt(int(d**2 * 2**45)) - 2**23
        return _clamped(f"e - (emax + 1) + (m > 0x{limit:06X})", e, element.emax + 1, m > limit)
    if e == 0 and element.emax > 0:
        return 0, "e = 0: a is below destmax * 2^-127, byte 0"
    limit = math.isqrt(int(d**2 * 2**47)) - 2**23 if e else math.isqrt(int(d**2 * 2**45))
    return _clamped(f"e - emax + (m > 0x{limit:06X})", e, element.emax, m > limit)


def _ceil(a: int, e: int, m: int, element: NumberFormat) -> tuple[int, str]:
    return _holding(e, m, element, Fraction(element.max_value), "destmax")


def _midmax(a: int, e: int, m: int, element: NumberFormat) -> tuple[int, str]:
    return _holding(e, m, element, (element.max_value + TWO ** (element.emax + 1)) / 2, "mid")


def _holding(e: int, m: int, element: NumberFormat, largest: Fraction, name: str) -> tuple[int, str]:
    if e == 0 and element.emax > 0:
        return 0, f"e = 0: a is below {name} * 2^-127, byte 0"
    # it is in units of the last place of a: in its own binade, and where a is an FP32 subnormal
    limit = int((largest / 2**element.emax - 1) * 2**23 if e else largest * 2**22)
    return _clamped(f"e - emax + (m > 0x{limit:06X})", e, element.emax, m > limit)


def _linear_nearest(a: int, e: int, m: int, element: NumberFormat) -> tuple[int, str]:
    reciprocal = fp32(1 / element.max_value)
    p = fp32_pattern(fp32(fp32_value(a) * reciprocal))
    limit = 0x3FFFFF if p >> 23 else 1 << 22  # 2**-127 is the subnormal pattern 0x400000
    up = p & FRACTION > limit
    byte = min((p >> 23) + up, E8M0.max_code)
    return byte, (
        f"p = fl32(a * 0x{fp32_pattern(reciprocal):08X}) = 0x{p:08X}; of p e + (m > 0x{limit:06X}) "
        f"= {p >> 23} + {int(up)} = {byte}"
    )


def _rceil(a: int, e: int, m: int, element: NumberFormat) -> tuple[int, str]:
    reciprocal = fp32(1 / element.max_value)
    p = fp32_pattern(fp32(fp32_value(a) * reciprocal))
    limit = 0 if p >> 23 else 1 << 22  # the power of two below the normal numbers is a subnormal pattern
    up = p & FRACTION > limit
    byte = min((p >> 23) + up, E8M0.max_code)
    return byte, (
        f"p = fl32(a * 0x{fp32_pattern(reciprocal):08X}) = 0x{p:08X}; of p e + (m > {f'0x{limit:X}' if limit else 0}) "
        f"= {p >> 23} + {int(up)} = {byte}"
    )


SCALE_RULES: dict[ScaleRule, Callable[[int, int, int, NumberFormat], tuple[int, str]]] = {
    ScaleRule.FLOOR: _floor,
    ScaleRule.BIAS_FLOOR: _bias_floor,
    ScaleRule.CEIL: _ceil,
    ScaleRule.RCEIL: _rceil,
    ScaleRule.POW2_CEIL: _pow2_ceil,
    ScaleRule.EVEN: _even,
    ScaleRule.EVEN1: _even1,
    ScaleRule.ROUND_LOG2: _round_log2,
    ScaleRule.LINEAR_NEAREST: _linear_nearest,
    ScaleRule.MIDMAX: _midmax,
}
"""The byte and its arithmetic under each rule, given the largest magnitude's pattern, exponent field and fraction."""


def _clamped(formula: str, field: int, less: int, more: bool | None = None) -> tuple[int, str]:
    total = field - less + bool(more)
    byte = min(max(total, 0), E8M0.max_code)
    numbers = f"{field} - {less}" + ("" if more is None else f" + {int(more)}")
    return byte, f"{formula} = {numbers} = {total}" + (f", clamped to {byte}" if byte != total else "")


@dataclass(frozen=True, kw_only=True)
class RoundingTrace:
    """How one element was rounded. The fields but ``code`` are those of `ElementStep`."""

    action: str
    code: int
    """The magnitude of the code."""
    cut: int | None = None
    guard: int | None = None
    sticky: int | None = None
    tail: int | None = None
    random: int | None = None


def rounding_trace(quotient: Fraction, kind: str, numerics: Encode, random: int) -> RoundingTrace:
    """How a quotient >= 0 becomes the magnitude of a code, from the bits that hardware uses."""
    element, rounding = numerics.block.element, numerics.rounding
    if quotient == 0:
        return RoundingTrace(action="zero" if kind == "zero" else "flushed", code=0)
    largest = largest_code(element, rounding)
    cut, part = _cut_off(quotient, numerics)
    if cut is None:
        return RoundingTrace(action="flushed", code=0)
    beyond = quotient > element_value(largest, element)
    if beyond and (cut > largest or part >= 1):
        return RoundingTrace(action="saturated", code=largest)
    guard, sticky = int(part >= Fraction(1, 2)), int(2 * part % 1 > 0)
    tail = math.floor(part * 2**numerics.random_bits)
    up = INCREMENTS[rounding](guard, sticky, cut & 1, tail + random >> numerics.random_bits)
    code = min(cut + up, largest)
    action = "exact" if part == 0 and not up else "up" if up else "down"
    if guard and not sticky and rounding in TIES:
        action = f"tie {action}"
    flushes = numerics.element_subnormals is Subnormals.FLUSH and rounding is not Rounding.GUARD_HALF_UP
    if flushes and element.is_subnormal(code):
        action, code = "flushed", 0
    if beyond:
        action = "saturated"
    if rounding is Rounding.SR:
        return RoundingTrace(action=action, code=code, cut=cut, tail=tail, random=random)
    return RoundingTrace(action=action, code=code, cut=cut, guard=guard, sticky=sticky)


INCREMENTS: dict[Rounding, Callable[[int, int, int, int], int]] = {
    Rounding.RNE: lambda guard, sticky, last, carry: guard & (sticky | last),
    Rounding.RNA: lambda guard, sticky, last, carry: guard,
    Rounding.RTZ: lambda guard, sticky, last, carry: 0,
    Rounding.SR: lambda guard, sticky, last, carry: carry,
    Rounding.GUARD_HALF_UP: lambda guard, sticky, last, carry: guard,
    Rounding.RNZ: lambda guard, sticky, last, carry: guard & sticky,
}
"""What each rounding adds to the code that was cut off, given the guard and sticky bits, the last bit of the code and
the carry of the random bits.
"""

TIES = (Rounding.RNE, Rounding.RNA, Rounding.GUARD_HALF_UP, Rounding.RNZ)
"""Roundings to nearest, under which a tie is worth a word."""


def _cut_off(quotient: Fraction, numerics: Encode) -> tuple[int | None, Fraction]:
    """The code of a quotient > 0 rounded toward zero, and the part of a step that was cut off. The code is None where
    the published recipe of `Rounding.GUARD_HALF_UP` gives zero.
    """
    published = numerics.rounding is Rounding.GUARD_HALF_UP and numerics.element_subnormals is Subnormals.FLUSH
    element = numerics.block.element
    if not published or element.kind is Kind.FIXED:
        return neighbours(quotient, element)
    if quotient >= TWO**element.emin:
        return neighbours(quotient, element)
    binade = floor_log2(quotient)
    if binade + element.bias < 0:
        return None, quotient
    cut, part = divmod((quotient / TWO**binade - 1) * 2**element.man_bits, 1)  # exponent field 0, fraction unshifted
    return int(cut), part
