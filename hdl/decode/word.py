"""The results of a decoder that rounds nothing, as integers, for all scale bytes and magnitudes of elements. The tables
of a lane are derived from them.
"""

from __future__ import annotations

from collections.abc import Callable

from ...spec import Decode, DecodedNan, DecodedOverflow, FloatFormat, Number, Subnormals
from .factor import exponent_of, flag_of

OVERFLOWS: dict[DecodedOverflow, Callable[[FloatFormat], int]] = {
    DecodedOverflow.INF: lambda to: to.inf_field,
    DecodedOverflow.SATURATE: lambda to: to.max_code,
}
"""The magnitude of a result above the largest number."""


def decoded_words(rules: Decode) -> list[int]:
    """The magnitude of the result for each pair of a scale byte and the magnitude of an element. Elements vary fastest.

    Raises ValueError if a product has to be rounded.
    """
    element = rules.block.element
    numbers = [(code, element.decode(code)) for code in range(element.sign_mask)]
    return [
        _word(rules, flag_of(rules, byte), exponent_of(rules, byte), code, number)
        for byte in range(1 << rules.block.scale.bits)
        for code, number in numbers
    ]


def _word(rules: Decode, flag: str | None, exponent: int, code: int, number: Number) -> int:
    to, is_zero = rules.destination, number.kind == "finite" and not number.magnitude
    if "nan" in (number.kind, flag) or (number.kind, flag) == ("inf", "zero") or (is_zero and flag == "inf"):
        return NANS[rules.nan](rules, code if number.kind == "nan" else 0)
    if "inf" in (number.kind, flag):
        return to.inf_field
    if is_zero or flag == "zero":
        return 0
    digits = number.magnitude.numerator
    exponent -= number.magnitude.denominator.bit_length() - 1
    top = digits.bit_length() - 1 + exponent
    if top > to.emax:
        return OVERFLOWS[rules.overflow](to)
    if top < to.emin and rules.subnormals is Subnormals.FLUSH:
        return 0
    field = max(top - to.emin, 0)  # one less for a normal number: its leading one is added to the field
    places = max(top, to.emin) - to.man_bits - exponent
    if digits & (1 << max(places, 0)) - 1:
        raise ValueError(f"a product of {rules.block.name} has more bits than {to.name}")
    return (field << to.man_bits) + (digits >> places if places > 0 else digits << -places)


def _quiet(rules: Decode, code: int) -> int:
    return rules.destination.inf_field | 1 << (rules.destination.man_bits - 1)


def _with_payload(rules: Decode, code: int) -> int:
    bits = rules.block.element.fields[-1]
    return _quiet(rules, code) | (code & (1 << bits) - 1) << (rules.destination.man_bits - bits)


NANS: dict[DecodedNan, Callable[[Decode, int], int]] = {
    DecodedNan.CANONICAL: _quiet,
    DecodedNan.ALL_ONES: lambda rules, code: rules.destination.magnitude_mask,
    DecodedNan.PAYLOAD: _with_payload,
}
"""The NaN of a result, for an element with a NaN code, or for code 0."""
