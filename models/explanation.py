"""The steps of one block as a record: what `explain` returns, `mxcast explain` prints and its JSON holds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..spec import Numerics

__all__ = ["CLASSES", "Largest", "ScaleStep", "ElementStep", "Explanation"]

CLASSES = ("normal", "subnormal", "zero", "inf", "nan")


@dataclass(frozen=True, kw_only=True)
class Largest:
    """The largest magnitude of a block, a: where it is and its fields as an FP32 number."""

    lane: int
    pattern: int
    """Source pattern of the element, with its sign."""
    fp32: int
    """The FP32 pattern of the magnitude."""
    value: float

    def to_dict(self) -> dict[str, object]:
        return {"lane": self.lane, "pattern": self.pattern, "fp32": self.fp32, "exponent_field": self.fp32 >> 23,
                "fraction": self.fp32 & 0x7FFFFF, "value": self.value}


@dataclass(frozen=True, kw_only=True)
class ScaleStep:
    """The scale of the block under one rule, and what that rule costs the block."""

    rule: str
    arithmetic: str
    byte: int
    saturates: bool
    """Whether the largest element is beyond the largest magnitude that an element can have."""
    saturated: int
    """How many elements are."""
    relative_rms: float | None
    """Root of noise over signal of the finite elements; 0 without error, None without signal."""

    @property
    def exponent(self) -> int | None:
        """X; None for the NaN byte."""
        return None if self.byte == 0xFF else self.byte - 127

    @property
    def sqnr_db(self) -> float | None:
        return -20 * math.log10(self.relative_rms) if self.relative_rms else None

    def to_dict(self) -> dict[str, object]:
        return {**self.__dict__, "exponent": self.exponent, "sqnr_db": self.sqnr_db}


@dataclass(frozen=True, kw_only=True)
class ElementStep:
    """One element on its way. What does not apply is None: bits of an element that the specials decide, say."""

    lane: int
    pattern: int
    kind: str
    """One of `CLASSES`."""
    value: float | None
    """The input; None for NaN and Inf."""
    quotient: float | None
    """V / 2**X."""
    cut: int | None
    """Magnitude code of the quotient cut off, before rounding."""
    guard: int | None
    sticky: int | None
    """The first bit cut off, and whether any bit below it is set."""
    tail: int | None
    random: int | None
    """Under `Rounding.SR`: the first random_bits bits cut off, and the random bits that are added to them."""
    action: str
    code: int
    fields: str
    """The code in binary: sign, exponent field and fraction, or sign and number."""
    element: float | None
    """Value of the code; None for NaN and Inf."""
    decoded: float | None
    """The same times 2**X; None also under the NaN byte."""
    error: float | None
    """Decoded less input."""
    relative_error: float | None

    def to_dict(self) -> dict[str, object]:
        return dict(self.__dict__)


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The outcome of `explain`."""

    numerics: Numerics
    profile: str | None
    given: int
    """Elements that were given; the others are zeros."""
    classes: dict[str, int]
    remarks: tuple[str, ...]
    """What the specials and the subnormals of the input do to this block."""
    largest: Largest | None
    """None where no finite number but zero is left."""
    rules: tuple[ScaleStep, ...]
    elements: tuple[ElementStep, ...]

    @property
    def scale(self) -> ScaleStep:
        """The step of the block's own rule."""
        return next(step for step in self.rules if step.rule == self.numerics.scale_rule)

    def to_dict(self) -> dict[str, object]:
        return {"profile": self.profile, "numerics": self.numerics.to_dict(), "given": self.given, "classes": self.classes,
                "remarks": self.remarks, "largest": self.largest and self.largest.to_dict(), "scale": self.scale.to_dict(),
                "scale_rules": [step.to_dict() for step in self.rules], "elements": [step.to_dict() for step in self.elements]}
