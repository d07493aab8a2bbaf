"""Values as a person writes them: decimal numbers, bit patterns, or a slice of a tensor file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING

from ...spec import Encode, FloatFormat
from ...spec.catalogue import cut, excerpt
from ...tensors.containers.block_address import is_slice, read_slice
from .assignments import MOST_DIGITS

if TYPE_CHECKING:
    import numpy as np

ITEM = re.compile(r"(?P<value>[^*]+)(?:\*(?P<count>[0-9]+))?")
PATTERN = re.compile(r"0x(?P<digits>[0-9a-f]+)", re.IGNORECASE)
NUMBER = re.compile(r"(?P<mantissa>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:e(?P<exponent>[+-]?[0-9]+))?", re.IGNORECASE)
NOT_A_NUMBER = re.compile(r"(?P<sign>[+-]?)(?P<kind>nan|inf)", re.IGNORECASE)
BEYOND = 1000
"""Numbers with a larger decimal exponent are zero or Inf in every format, without arithmetic."""
FARTHEST = 10**9
"""An exponent larger than any number on a command line can have."""

MOST_CODES = 1024
"""Largest number of codes of a block, and of codes or numbers of a cast."""


@dataclass(frozen=True, kw_only=True)
class Values:
    """The numbers of one block for `explain.encode`, with remarks on their source and rounding."""

    block: list[int] | np.ndarray
    remarks: tuple[str, ...]


def read_values(text: str, numerics: Encode) -> Values:
    """The values of a text, at most one block: numbers (`read_numbers`), or ``FILE:TENSOR[ROW, BLOCK]``
    (`read_slice`). Raises ValueError for anything else.
    """
    if is_slice(text):
        block, where = read_slice(text, numerics)
        return Values(block=block, remarks=(where,))
    patterns, remarks = read_numbers(text, numerics.source, numerics.block_size)
    return Values(block=patterns, remarks=remarks)


def read_numbers(text: str, source: FloatFormat, most: int = MOST_CODES) -> tuple[list[int], tuple[str, ...]]:
    """Patterns of the source format, and a remark on numbers that were rounded.

    Items are separated by commas or blanks. An item is a decimal number, which is rounded to the source format, a
    pattern ``0x...`` with all of its digits, or ``nan`` or ``inf`` with or without sign. ``*COUNT`` repeats an item.
    Raises ValueError for anything else, and for more than ``most`` numbers.
    """
    patterns: list[int] = []
    rounded: list[tuple[str, int]] = []
    for item in _items(text, "--values"):
        match = ITEM.fullmatch(item)
        count = _count(match["count"] or "1") if match else 0
        if match is None or not count:
            raise ValueError(
                f"--values takes numbers, 0x patterns, nan and inf, each with *COUNT to repeat it, not {excerpt(item)}"
            )
        pattern, exact = _pattern(match["value"], source)
        if len(patterns) + count > most:
            raise ValueError(f"--values takes at most {most} numbers")
        patterns += [pattern] * count
        if not exact:
            rounded.append((match["value"], pattern))
    digits = source.bits // 4
    shown = ", ".join(f"{number} to 0x{pattern:0{digits}X}" for number, pattern in rounded[:3])
    more = f" and {len(rounded) - 3} more" if len(rounded) > 3 else ""
    return patterns, (f"rounded to {source.name}: {shown}{more}",) if rounded else ()


def read_random(text: str) -> list[int]:
    """Random numbers, decimal or hexadecimal after ``0x``, separated by commas or blanks."""
    return [_whole(item, "--random") for item in _items(text, "--random")]


def read_number(text: str, source: FloatFormat, option: str) -> int:
    """The pattern of one number (`read_numbers`). Raises ValueError, which names the option, for anything else."""
    try:
        return _pattern(text.strip(), source)[0]
    except ValueError as error:
        raise ValueError(f"{option} takes one number, such as 10 or 0x41200000, not {excerpt(text)}") from error


def read_constants(text: str) -> tuple[int, ...]:
    """Patterns of the constants k and d, and optionally a, separated by commas or blanks."""
    found = [_whole(item, "--constants") for item in _items(text, "--constants")]
    if len(found) not in (2, 3):
        raise ValueError(f"--constants takes two patterns, k and d, or with four_over_six also a, not {excerpt(text)}")
    return tuple(found)


def read_byte(text: str) -> int:
    """A scale byte, decimal or hexadecimal after ``0x``."""
    return _whole(text.strip(), "--scale")


def read_codes(text: str) -> list[int]:
    """Element codes, decimal or hexadecimal after ``0x``, separated by commas or blanks, each with ``*COUNT``."""
    codes: list[int] = []
    for item in _items(text, "--codes"):
        code, star, count = item.partition("*")
        times = _whole(count, "--codes") if star else 1
        if not 1 <= times <= MOST_CODES:
            raise ValueError(f"--codes repeats a code 1 to {MOST_CODES} times, not {excerpt(item)}")
        codes += [_whole(code, "--codes")] * times
    return codes


def _whole(text: str, option: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        few = f" of at most {MOST_DIGITS} digits" if len(text) > MOST_DIGITS else ""
        raise ValueError(f"{option} takes whole numbers{few}, not {excerpt(text)}") from None


def _count(digits: str) -> int:
    """The number of repetitions. Python refuses numbers with thousands of digits; a long one is too large anyway."""
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) <= MOST_DIGITS else 10**MOST_DIGITS


def _items(text: str, option: str) -> list[str]:
    parts = [part.split() for part in re.sub(r"\s*\*\s*", "*", text).split(",")]
    if not any(parts):
        raise ValueError(f"{option} is empty")
    if not all(parts[:-1]):
        raise ValueError(f"{option} has no value before a comma: {excerpt(text)}")
    return [item for part in parts for item in part]


def _pattern(text: str, source: FloatFormat) -> tuple[int, bool]:
    """The source pattern of one value, and whether it is exact."""
    if match := PATTERN.fullmatch(text):
        digits = -(-source.bits // 4)
        if len(match["digits"]) != digits:
            raise ValueError(
                f"patterns of {source.name} have {digits} hexadecimal digits after 0x, "
                f"{cut(text)} has {len(match['digits'])}"
            )
        return int(match["digits"], 16), True
    if match := NOT_A_NUMBER.fullmatch(text):
        sign = source.sign_mask if match["sign"] == "-" else 0
        infinity = source.max_code + 1
        return sign | infinity | (0 if match["kind"].lower() == "inf" else 1 << (source.man_bits - 1)), True
    if not (match := NUMBER.fullmatch(text)):
        raise ValueError(
            f"--values takes numbers, 0x patterns, nan and inf, each with *COUNT to repeat it, not {excerpt(text)}"
        )
    number = _decimal(match["mantissa"], match["exponent"] or "0")
    sign = source.sign_mask if number.is_signed() else 0
    if number and abs(number.adjusted()) > BEYOND:
        return sign | (source.max_code + 1 if number.adjusted() > 0 else 0), False
    magnitude = abs(Fraction(number))
    pattern = _nearest(magnitude, source)
    return sign | pattern, pattern <= source.max_code and _value(pattern, source) == magnitude


def _decimal(mantissa: str, exponent: str) -> Decimal:
    """The number, with an exponent that `Decimal` takes; the result is beyond every format either way."""
    try:
        return Decimal(f"{mantissa}e{exponent}")
    except InvalidOperation:  # an exponent of 19 digits
        return Decimal(f"{mantissa}e{-FARTHEST if exponent[0] == '-' else FARTHEST}")


def _nearest(magnitude: Fraction, source: FloatFormat) -> int:
    """The pattern nearest to a magnitude, ties to even; Inf beyond the largest number, by the rule of IEEE 754.

    Patterns have the order of their values, so bisection finds the last one that is not above.
    """
    low, high = 0, source.max_code + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _value(middle, source) <= magnitude else (low, middle)
    below, above = magnitude - _value(low, source), _value(high, source) - magnitude
    return high if above < below or (above == below and low & 1) else low


def _value(pattern: int, source: FloatFormat) -> Fraction:
    """The value of a pattern without sign; for Inf, the next number if the exponent range went on."""
    field, fraction = divmod(pattern, 1 << source.man_bits)
    significand = fraction + ((1 << source.man_bits) if field else 0)
    return significand * Fraction(2) ** (max(field, 1) - source.bias - source.man_bits)
