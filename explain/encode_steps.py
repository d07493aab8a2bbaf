"""Steps of the conversion of one block, as records."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..spec import E8M0, Encode
from .explanation import Record, StepByStep, finite_fields


@dataclass(frozen=True, kw_only=True)
class Largest(Record):
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
class ScaleStep(Record):
    """The scale of the block under one scale rule, and the error that this rule causes."""

    rule: str
    arithmetic: str
    byte: int
    saturates: bool
    """Is the largest magnitude beyond the largest value of an element under this scale?"""
    saturated: int
    """Number of finite inputs beyond the largest value of an element."""
    relative_rms: float
    """Root of noise over signal, for finite pairs; nan without signal."""

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
class ElementStep(Record):
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
    """Magnitude of the code of the quotient, rounded toward zero; None beyond the largest code."""
    guard: int | None
    sticky: int | None
    tail: int | None
    random: int | None
    """The bits that decided the rounding (`Rounded`)."""
    action: str
    """exact, down, up, tie down, tie up, saturated, flushed or zero; or specials."""
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


@dataclass(frozen=True, kw_only=True)
class Explanation(StepByStep):
    """One block with every step of its conversion."""

    numerics: Encode
    given: int
    """Number of given elements; zeros complete the block."""
    classes: dict[str, int]
    """Number of elements in each of `CLASSES`."""
    remarks: tuple[str, ...]
    """Effects of specials and input subnormals on this block."""
    largest: Largest | None
    """None if every finite number is zero."""
    scale_rules: tuple[ScaleStep, ...]
    """The scale under every scale rule; the other rules are the ones of the numerics."""
    elements: tuple[ElementStep, ...]

    @property
    def scale(self) -> ScaleStep:
        """The step of the scale rule of the numerics."""
        return next(step for step in self.scale_rules if step.rule == self.numerics.scale_rule)

    @property
    def patterns(self) -> list[str]:
        """The source patterns in hexadecimal, as `mxcast explain --values` reads them."""
        digits = -(-self.numerics.source.bits // 4)
        return [f"0x{step.pattern:0{digits}X}" for step in self.elements]

    def to_dict(self) -> dict[str, object]:
        """For JSON. ``values`` contains the block for `mxcast explain --values`."""
        return {"values": ",".join(self.patterns), **super().to_dict(), "scale": self.scale.to_dict()}
