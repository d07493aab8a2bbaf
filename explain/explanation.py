"""The steps of one block as data: what `explain` returns, `mxcast explain` prints and its JSON holds.

Every number is exact in double precision, except relative errors and decibels. What does not apply is None.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..spec import E8M0, Encode, FloatFormat, Number, NumberFormat

CLASSES = ("normal", "subnormal", "zero", "inf", "nan")
"""Classes of source numbers, by exponent field and fraction."""


@dataclass(frozen=True, kw_only=True)
class Largest:
    """The largest magnitude of a block: its lane, its pattern as an FP32 number, and its value."""

    lane: int
    fp32: int
    value: float

    @property
    def exponent_field(self) -> int:
        return self.fp32 >> 23

    @property
    def fraction(self) -> int:
        return self.fp32 & 0x7FFFFF

    def to_dict(self) -> dict[str, object]:
        return {**vars(self), "exponent_field": self.exponent_field, "fraction": self.fraction}


@dataclass(frozen=True, kw_only=True)
class ScaleStep:
    """The scale of the block under one scale rule, and the error that this rule causes."""

    rule: str
    arithmetic: str
    byte: int
    saturates: bool
    """Whether the largest magnitude is beyond the largest value of an element under this scale."""
    saturated: int
    """How many finite inputs are beyond it."""
    relative_rms: float
    """Root of noise over signal, of finite pairs; nan without signal."""

    @property
    def exponent(self) -> int | None:
        """X; None for the NaN byte."""
        return None if self.byte == E8M0.nan_code else self.byte - E8M0.bias

    @property
    def sqnr_db(self) -> float:
        """Signal to quantization noise ratio in decibels; inf without noise, nan without signal."""
        return 0.0 - 20 * math.log10(self.relative_rms) if self.relative_rms else math.inf  # and no -0.0

    def to_dict(self) -> dict[str, object]:
        return finite_fields({**vars(self), "exponent": self.exponent, "sqnr_db": self.sqnr_db})


@dataclass(frozen=True, kw_only=True)
class ElementStep:
    """One element, from its source number V to its code. If the specials give the code, the steps are None."""

    lane: int
    pattern: int
    kind: str
    """One of `CLASSES`."""
    value: float
    """V."""
    quotient: float | None
    """V divided by the scale 2**X."""
    cut: int | None
    """The magnitude of the code of the quotient rounded toward zero; None beyond the largest code."""
    guard: int | None
    sticky: int | None
    """The first bit cut off, and whether any bit below it is set; not under `Rounding.SR`."""
    tail: int | None
    random: int | None
    """Under `Rounding.SR`, the first random_bits bits that are cut off, and the random bits that are added to them."""
    action: str
    """What happened: exact, down, up, tie down, tie up, saturated, flushed or zero; or specials."""
    code: int
    fields: str
    """The code in binary: sign, exponent field and fraction, or sign and number."""
    element: float
    """Value of the code."""
    decoded: float
    """The value of the code times 2**X."""
    error: float | None
    """``decoded`` minus V; None unless both are finite."""
    relative_error: float | None
    """``error`` over the magnitude of V; None for V = 0."""

    def to_dict(self) -> dict[str, object]:
        return finite_fields(vars(self))


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """One block with every step of its conversion."""

    numerics: Encode
    profile: str | None
    given: int
    """Elements that were given; the others are zeros."""
    classes: dict[str, int]
    """How many elements there are of each of `CLASSES`."""
    remarks: tuple[str, ...]
    """What the specials and the subnormals of the input do to this block."""
    largest: Largest | None
    """None where every finite number is zero."""
    scale_rules: tuple[ScaleStep, ...]
    """The scale under every scale rule, with the other rules of the block's numerics."""
    elements: tuple[ElementStep, ...]

    @property
    def scale(self) -> ScaleStep:
        """The step of the block's own rule."""
        return next(step for step in self.scale_rules if step.rule == self.numerics.scale_rule)

    @property
    def patterns(self) -> list[str]:
        """The source patterns in hexadecimal, as `mxcast explain --values` takes them."""
        digits = -(-self.numerics.source.bits // 4)
        return [f"0x{step.pattern:0{digits}X}" for step in self.elements]

    def to_dict(self) -> dict[str, object]:
        """For JSON: infinities and NaN, which JSON lacks, are None; ``values`` repeats the block."""
        return {
            "profile": self.profile,
            "numerics": self.numerics.to_dict(),
            "values": ",".join(self.patterns),
            "given": self.given,
            "classes": self.classes,
            "remarks": list(self.remarks),
            "largest": self.largest and self.largest.to_dict(),
            "scale": self.scale.to_dict(),
            "scale_rules": [step.to_dict() for step in self.scale_rules],
            "elements": [step.to_dict() for step in self.elements],
        }


def finite_fields(fields: dict[str, object]) -> dict[str, object]:
    """Fields for JSON, which lacks infinities and NaN: they become None."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in fields.items()}


def as_float(number: Number) -> float:
    """The value of a number, inf and nan among them."""
    magnitude = float(number.magnitude) if number.kind == "finite" else float(number.kind)
    return -magnitude if number.negative else magnitude


def class_of(number: Number, code: int, format: NumberFormat) -> str:
    """Which of `CLASSES` a number of a code is."""
    if number.kind != "finite":
        return number.kind
    if number.magnitude == 0:
        return "zero"
    is_subnormal = isinstance(format, FloatFormat) and format.is_subnormal(code & format.magnitude_mask)
    return "subnormal" if is_subnormal else "normal"
