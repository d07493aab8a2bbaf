"""The cast of numbers, step by step.

The results come from the exact definition. An explanation is only returned if the fast model gives the same codes and
the steps lead to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Unpack

import numpy as np

from ..models.exact.cast import NEGATIVES, OVERFLOWS, UNDERFLOWS, ZEROS, cast_number, neighbour, signed
from ..models.fast.cast import cast_patterns
from ..spec import Cast, CastFields, FloatFormat, Number, casting, profile_of
from .explanation import (
    Record,
    StepByStep,
    as_float,
    class_of,
    code_fields,
    difference,
    random_numbers,
    require_codes,
    require_same,
)
from .rounding import NO_BITS, rounded


@dataclass(frozen=True, kw_only=True)
class CastStep(Record):
    """One number, from its pattern to the pattern of the destination."""

    pattern: int
    kind: str
    """The class of the number: normal, subnormal, zero, inf or nan."""
    value: float
    below: int | None
    above: int | None
    """The codes around a finite number by magnitude, with the signs of results. ``below`` alone is the number itself or
    the largest one, ``above`` alone the smallest one. None if nothing is rounded."""
    guard: int | None
    sticky: int | None
    tail: int | None
    random: int | None
    """The bits that decided the rounding (`Rounded`). None if nothing is rounded, or beyond the largest number."""
    action: str
    """exact, down, up, tie down, tie up, saturated, overflow to Inf, overflow to NaN, underflow to the
    smallest, underflow to NaN, negative to NaN, zero, inf, nan, nan to largest or nan to zero."""
    sign_dropped: bool
    """Was the magnitude of a negative number cast, to a format without a sign?"""
    code: int
    """The pattern of the destination."""
    fields: str
    """The code in binary: sign, exponent field and fraction, as far as the format has them."""
    result: float
    """Value of the code."""
    result_kind: str
    """The class of the result."""
    error: float | None
    """``result`` minus ``value``; None unless both are finite."""


@dataclass(frozen=True, kw_only=True)
class CastExplanation(StepByStep):
    """Numbers with every step of their casts."""

    numerics: Cast
    numbers: tuple[CastStep, ...]


def explain_cast(
    patterns: Sequence[int],
    format: str | FloatFormat | Cast,
    profile: str | None = None,
    *,
    random: Sequence[int] | None = None,
    **rules: Unpack[CastFields],
) -> CastExplanation:
    """Cast numbers, or codes back to numbers, and keep every step.

    Parameters
    ----------
    patterns : bit patterns of the source
    format, profile, rules : the cast, as for `cast`; with ``destination`` the way back
    random : random bits of each number under the rounding ``sr``, which zeros complete

    Returns
    -------
    CastExplanation
        each number from its pattern to the pattern of the destination

    Raises
    ------
    ValueError
        for a pattern outside the source, too many random bits, random bits without the rounding ``sr``, an unknown
        name, or an impossible cast
    AssertionError
        if the fast model or the steps disagree with the exact definition, which is a defect of mxcast

    >>> why = explain_cast([0x3FC80000, 0x43FA0000], "e4m3")
    >>> [(step.value, step.below, step.above, step.action, step.result) for step in why.numbers]
    [(1.5625, 60, 61, 'tie down', 1.5), (500.0, 126, None, 'saturated', 448.0)]
    """
    chosen = casting(format, profile, **rules)
    require_codes("patterns", patterns, chosen.source)
    bits = random_numbers(random, len(patterns), chosen)
    codes = [cast_number(pattern, chosen, drawn) for pattern, drawn in zip(patterns, bits)]
    require_same(_fast(patterns, chosen, bits), codes)
    return CastExplanation(
        numerics=chosen,
        profile=profile_of(chosen, profile),
        numbers=tuple(_step(pattern, code, drawn, chosen) for pattern, code, drawn in zip(patterns, codes, bits)),
    )


def _fast(patterns: Sequence[int], rules: Cast, random: Sequence[int]) -> list[int]:
    """The codes by the fast model."""
    codes = np.empty(len(patterns), f"u{-(-rules.destination.bits // 8)}")
    given = np.array(patterns, f"u{-(-rules.source.bits // 8)}")
    cast_patterns(given, rules, codes, np.array(random, np.uint16) if rules.random_bits else None)
    return codes.tolist()


@dataclass(frozen=True)
class _Trace:
    """The rounding of one number; ``magnitude`` is the code without its sign, None for NaN."""

    action: str
    magnitude: int | None = None
    below: int | None = None
    above: int | None = None
    bits: dict[str, int | None] = field(default_factory=lambda: NO_BITS)


def _step(pattern: int, code: int, random: int, rules: Cast) -> CastStep:
    to, number = rules.destination, rules.source.decode(pattern)
    trace = _traced(number, random, rules)
    if trace.magnitude is not None and _signed(trace.magnitude, number, rules) != code:
        raise AssertionError(f"the steps shown for {pattern:#x} do not lead to {code:#x}: {trace}")
    result = to.decode(code)
    value, given = as_float(number), as_float(result)
    below, above = (None if one is None else _signed(one, number, rules) for one in (trace.below, trace.above))
    return CastStep(
        pattern=pattern,
        kind=class_of(number, pattern, rules.source),
        value=value,
        below=below,
        above=above,
        **trace.bits,
        action=trace.action,
        sign_dropped=number.negative and not to.signed and trace.magnitude is not None,
        code=code,
        fields=code_fields(code, to),
        result=given,
        result_kind=class_of(result, code, to),
        error=difference(given, value),
    )


def _signed(magnitude: int, number: Number, rules: Cast) -> int:
    """The code of a magnitude with its sign under the rules."""
    was_zero = number.kind == "finite" and number.magnitude == 0
    return signed(magnitude, ZEROS[rules.zero](number.negative, was_zero, magnitude == 0), rules.destination)


def _traced(number: Number, random: int, rules: Cast) -> _Trace:
    """The cast of one number, without the sign of the result."""
    to = rules.destination
    if number.kind == "nan":
        return _Trace("nan" if to.nan_code is not None else f"nan to {rules.nan_substitute}")
    if number.negative and not to.signed and NEGATIVES[rules.negative]:
        return _Trace("negative to NaN")
    if number.kind == "inf":
        return _beyond(rules, is_inf=True)
    if number.magnitude == 0:
        return _Trace("zero", 0) if to.subnormals else _gone(number.magnitude, rules)
    return _rounded(number.magnitude, random, rules)


def _rounded(value: Fraction, random: int, rules: Cast) -> _Trace:
    """Round a magnitude > 0, from the bits that hardware uses."""
    to = rules.destination
    cut, part = neighbour(value, to)
    result = rounded(cut, part, rules.rounding, random, rules.random_bits)
    magnitude = cut + result.up
    done = _Trace(result.action, magnitude)
    if magnitude > to.max_code:
        done = _beyond(rules, is_inf=False)
    if magnitude < 0:
        done = _gone(value, rules)
    has_above = cut < -1 or (part > 0 and cut < to.max_code)
    return replace(
        done,
        below=min(cut, to.max_code) if cut >= 0 else None,
        above=max(cut + 1, 0) if has_above else None,
        bits=result.bits if -1 <= cut <= to.max_code else NO_BITS,
    )


def _beyond(rules: Cast, is_inf: bool) -> _Trace:
    """The cast of Inf, or of a number beyond the largest."""
    to, magnitude = rules.destination, OVERFLOWS[rules.overflow](rules, is_inf)
    if magnitude == to.max_code:
        return _Trace("saturated", magnitude)
    if magnitude is None:
        return _Trace("overflow to NaN")
    return _Trace("inf" if is_inf else "overflow to Inf", magnitude)


def _gone(value: Fraction, rules: Cast) -> _Trace:
    """The cast of a magnitude below the smallest number of a format without a zero."""
    if UNDERFLOWS[rules.underflow](value):
        return _Trace("underflow to NaN")
    return _Trace("underflow to the smallest", 0)
