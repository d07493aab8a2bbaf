"""Scale and elements as they are worked out by hand: integer arithmetic on the fields of the largest magnitude, in
words, and rounding from guard and sticky bits.

For people to follow; `explain` holds every result against the exact definition.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction

from ..spec import Kind, NumberFormat, Numerics, Rounding, ScaleRule, Subnormals
from .exact import element_value, floor_log2, fp32, neighbours
from .rounding import largest_code

__all__ = ["fp32_pattern", "rounding_steps", "scale_derivation"]

FRACTION = 0x7FFFFF
TWO = Fraction(2)


def fp32_pattern(value: Fraction) -> int:
    """The bit pattern of a value >= 0 that is an FP32 number."""
    return struct.unpack(">I", struct.pack(">f", float(value)))[0]


def fp32_value(pattern: int) -> Fraction:
    """The value of a finite FP32 pattern."""
    return Fraction(struct.unpack(">f", struct.pack(">I", pattern))[0])


def scale_derivation(a: int, numerics: Numerics) -> tuple[int, str]:
    """Scale byte and its arithmetic in words, for a finite largest magnitude by its FP32 pattern.

    In the words e and m are the exponent field and the fraction of a, fl32 is rounding to FP32.

    >>> from mxcast.spec import numerics
    >>> scale_derivation(0x3FF00000, numerics("e4m3", "nvidia"))
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


def _ceil(a: int, e: int, m: int, element: NumberFormat) -> tuple[int, str]:
    if e == 0 and element.emax > 0:
        return 0, "e = 0: a is below destmax * 2^-127, byte 0"
    # destmax in units of the last bit of a: in a binade of its own, and below FP32's normal numbers
    limit = int((element.max_value / 2**element.emax - 1) * 2**23 if e else element.max_value * 2**22)
    return _clamped(f"e - emax + (m > 0x{limit:06X})", e, element.emax, m > limit)


def _rceil(a: int, e: int, m: int, element: NumberFormat) -> tuple[int, str]:
    reciprocal = fp32(1 / element.max_value)
    p = fp32_pattern(fp32(fp32_value(a) * reciprocal))
    limit = 0 if p >> 23 else 1 << 22  # the power of two below the smallest normal number is a subnormal one
    up = p & FRACTION > limit
    byte = min((p >> 23) + up, 254)
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
}
"""Byte and arithmetic of each rule from the pattern of the largest magnitude, its exponent field and its fraction."""


def _clamped(formula: str, field: int, less: int, more: bool | None = None) -> tuple[int, str]:
    total = field - less + bool(more)
    byte = min(max(total, 0), 254)
    numbers = f"{field} - {less}" + ("" if more is None else f" + {int(more)}")
    return byte, f"{formula} = {numbers} = {total}" + (f", clamped to {byte}" if byte != total else "")


def rounding_steps(quotient: Fraction, kind: str, numerics: Numerics, random: int) -> dict[str, object]:
    """How a quotient >= 0 becomes a magnitude code, ``rounded``, from the bits that a designer would look at."""
    element, rounding = numerics.block.element, numerics.rounding
    if quotient == 0:
        return {"action": "zero" if kind == "zero" else "flushed", "rounded": 0}
    largest = largest_code(element, rounding)
    cut, part = _cut_off(quotient, numerics)
    if cut is None:
        return {"action": "flushed", "rounded": 0}
    beyond = quotient > element_value(largest, element)
    if beyond and (cut > largest or part >= 1):
        return {"action": "saturated", "rounded": largest}
    guard, sticky = int(part >= Fraction(1, 2)), int(2 * part % 1 > 0)
    steps: dict[str, object] = {"cut": cut}
    if rounding is Rounding.SR:
        tail = math.floor(part * 2**numerics.random_bits)
        steps |= {"tail": tail, "random": random}
        up = tail + random >> numerics.random_bits
    else:
        steps |= {"guard": guard, "sticky": sticky}
        up = {
            Rounding.RTZ: 0,
            Rounding.RNE: guard & (sticky | cut & 1),
            Rounding.RNA: guard,
            Rounding.GUARD_HALF_UP: guard,
        }[rounding]
    rounded = min(cut + up, largest)
    action = "exact" if part == 0 and not up else "up" if up else "down"
    if guard and not sticky and rounding in (Rounding.RNE, Rounding.RNA, Rounding.GUARD_HALF_UP):
        action = f"tie {action}"
    flushes = numerics.element_subnormals is Subnormals.FLUSH and rounding is not Rounding.GUARD_HALF_UP
    if flushes and element.is_subnormal(rounded):
        action, rounded = "flushed", 0
    return steps | {"action": "saturated" if beyond else action, "rounded": rounded}


def _cut_off(quotient: Fraction, numerics: Numerics) -> tuple[int | None, Fraction]:
    """The code of a quotient > 0 cut off, and the part of a step that was; no code where the published recipe
    has none.
    """
    element = numerics.block.element
    published = numerics.rounding is Rounding.GUARD_HALF_UP and numerics.element_subnormals is Subnormals.FLUSH
    if not published or element.kind is Kind.FIXED or quotient >= TWO**element.emin:
        return neighbours(quotient, element)
    binade = floor_log2(quotient)
    if binade + element.bias < 0:
        return None, quotient
    cut, part = divmod((quotient / TWO**binade - 1) * 2**element.man_bits, 1)  # exponent field 0, fraction unshifted
    return int(cut), part
