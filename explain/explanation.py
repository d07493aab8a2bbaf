"""Records of explanations, and the checks that every explanation makes.

Every number is exact in double precision, except relative errors and decibels. A field that does not apply is None.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from ..spec import FloatFormat, Number, NumberFormat, Operation

CLASSES = ("normal", "subnormal", "zero", "inf", "nan")
"""Classes of numbers, by exponent field and fraction."""


class Record:
    """A frozen dataclass of plain values."""

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return finite_fields(vars(self))


@dataclass(frozen=True, kw_only=True)
class StepByStep:
    """An operation step by step. Subclasses have the steps as fields."""

    numerics: Operation
    profile: str | None

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        own = {name: _plain(value) for name, value in vars(self).items() if name not in ("numerics", "profile")}
        return {"profile": self.profile, "numerics": self.numerics.to_dict(), **own}


def _plain(value: object) -> object:
    """A field for JSON: records become dictionaries, and tuples lists."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value.to_dict() if isinstance(value, Record) else value


def finite_fields(fields: dict[str, object]) -> dict[str, object]:
    """Fields for JSON, which lacks infinities and NaN: they become None."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in fields.items()}


def as_float(number: Number) -> float:
    """The value of a number, which can be inf or nan."""
    magnitude = float(number.magnitude) if number.kind == "finite" else float(number.kind)
    return -magnitude if number.negative else magnitude


def difference(a: float, b: float) -> float | None:
    """``a`` minus ``b``; None unless both are finite."""
    return a - b if math.isfinite(a) and math.isfinite(b) else None


def class_of(number: Number, code: int, format: NumberFormat) -> str:
    """One of `CLASSES`, for the number of a code."""
    if number.kind != "finite":
        return number.kind
    if number.magnitude == 0:
        return "zero"
    is_subnormal = isinstance(format, FloatFormat) and format.is_subnormal(code & format.magnitude_mask)
    return "subnormal" if is_subnormal else "normal"


def code_fields(code: int, format: NumberFormat) -> str:
    """The binary code with bars between its fields.

    >>> from mxcast.spec import E4M3, INT8
    >>> code_fields(0xFC, E4M3), code_fields(0x81, INT8)
    ('1|1111|100', '1|0000001')
    """
    digits = f"{code:0{format.bits}b}"
    ends = list(accumulate(format.fields, initial=0))
    return "|".join(digits[start:end] for start, end in pairwise(ends))


def require_codes(kind: str, codes: Sequence[int], format: NumberFormat, most: int | None = None) -> None:
    """Raise ValueError for a code outside its format, and for more than ``most`` codes in a block."""
    if most is not None and len(codes) > most:
        raise ValueError(f"a block has {most} elements, not {len(codes)}")
    for code in codes:
        if not 0 <= code < 1 << format.bits:
            raise ValueError(f"{kind} of {format.name} must be 0 to {(1 << format.bits) - 1}, not {code}")


def random_numbers(given: Sequence[int] | None, count: int, operation: Operation) -> list[int]:
    """The random bits of ``count`` numbers: the given ones, then zeros."""
    if given is None:
        return [0] * count
    if not operation.random_bits:
        raise ValueError(f"random bits are for the rounding sr, not for {operation.by_name()['rounding']}")
    if len(given) > count:
        raise ValueError(f"random must have one number for each element, at most {count}, not {len(given)}")
    for bits in given:
        if not 0 <= bits < 1 << operation.random_bits:
            raise ValueError(f"random must be numbers of {operation.random_bits} bits, not {bits}")
    return [*given, *[0] * (count - len(given))]


def require_same(fast: object, exact: object) -> None:
    """Raise AssertionError if the results of the two models differ, which is a defect of mxcast."""
    if fast != exact:
        raise AssertionError("the model disagrees with the exact definition")
