"""Numbers, cast step by step: why their codes are what they are.

The results come from the exact definition. The fast model must give the same bits, and the steps shown must lead to
them; otherwise there is an error and no explanation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Unpack

import numpy as np

from ..models.exact.cast import NEGATIVES, OVERFLOWS, UNDERFLOWS, ZEROS, cast_number, neighbour, signed
from ..models.fast.cast import cast_patterns
from ..spec import Cast, CastFields, CastRounding, FloatFormat, Number, casting, profile_of
from .encode import code_fields
from .explanation import as_float, class_of, finite_fields


@dataclass(frozen=True, kw_only=True)
class CastStep:
    """One number, from its pattern to that of the destination. Numbers are exact in double precision."""

    pattern: int
    kind: str
    """The class of the number: normal, subnormal, zero, inf or nan."""
    value: float
    below: int | None
    above: int | None
    """The codes between which a finite number lies, with the signs that these have as results, by their magnitudes.
    ``below`` alone is the number itself, or the largest one; ``above`` alone is the smallest one. None where nothing is
    rounded."""
    guard: int | None
    sticky: int | None
    """The first bit cut off, and whether any bit below it is set; not under `CastRounding.SR`. None where nothing is
    rounded, and from the number on that would follow the largest one."""
    tail: int | None
    random: int | None
    """Under `CastRounding.SR`, the first random_bits bits that are cut off, and the bits that are added to them."""
    action: str
    """What happened: exact, down, up, tie down, tie up, saturated, overflow to Inf, overflow to NaN, underflow to the
    smallest, underflow to NaN, negative to NaN, zero, inf, nan, nan to largest or nan to zero."""
    sign_dropped: bool
    """Was the magnitude of a negative number cast, to a format without a sign?"""
    code: int
    """The pattern of the destination."""
    fields: str
    """The code in binary: sign, exponent field and fraction, those that there are."""
    result: float
    """Value of the code."""
    result_kind: str
    """The class of the result."""
    error: float | None
    """``result`` minus ``value``; None unless both are finite."""

    def to_dict(self) -> dict[str, object]:
        return finite_fields(vars(self))


@dataclass(frozen=True, kw_only=True)
class CastExplanation:
    """Numbers with every step of their casts."""

    numerics: Cast
    profile: str | None
    numbers: tuple[CastStep, ...]

    def to_dict(self) -> dict[str, object]:
        """For JSON: infinities and NaN, which JSON lacks, are None."""
        return {
            "profile": self.profile,
            "numerics": self.numerics.to_dict(),
            "numbers": [step.to_dict() for step in self.numbers],
        }


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
    format, profile, rules : the cast, as `cast` takes them; with ``destination`` the way back
    random : random bits for each number under the rounding ``sr``, the rest being zeros

    Returns
    -------
    CastExplanation
        each number from its pattern to that of the destination

    Raises
    ------
    ValueError
        for a pattern outside the source, for too many random bits, for random bits without the rounding ``sr``, for an
        unknown name, and for what no cast can be
    AssertionError
        where the fast model or the steps shown disagree with the exact definition, which is a defect of mxcast

    >>> why = explain_cast([0x3FC80000, 0x43FA0000], "e4m3")
    >>> [(step.value, step.below, step.above, step.action, step.result) for step in why.numbers]
    [(1.5625, 60, 61, 'tie down', 1.5), (500.0, 126, None, 'saturated', 448.0)]
    """
    chosen = casting(format, profile, **rules)
    _check(patterns, random, chosen)
    bits = [*(random or ()), *[0] * (len(patterns) - len(random or ()))]
    codes = [cast_number(pattern, chosen, drawn) for pattern, drawn in zip(patterns, bits)]
    if codes != _fast(patterns, chosen, bits):
        raise AssertionError("the model disagrees with the exact definition")
    return CastExplanation(
        numerics=chosen,
        profile=profile_of(chosen, profile),
        numbers=tuple(_step(pattern, code, drawn, chosen) for pattern, code, drawn in zip(patterns, codes, bits)),
    )


def _check(patterns: Sequence[int], random: Sequence[int] | None, rules: Cast) -> None:
    source = rules.source
    for pattern in patterns:
        if not 0 <= pattern < 1 << source.bits:
            raise ValueError(f"patterns of {source.name} must be 0 to {(1 << source.bits) - 1}, not {pattern}")
    if random is None:
        return
    if not rules.random_bits:
        raise ValueError(f"random bits are for the rounding sr, not for {rules.rounding}")
    if len(random) > len(patterns):
        raise ValueError(f"there are {len(patterns)} numbers and at most as many random numbers, not {len(random)}")
    for bits in random:
        if not 0 <= bits < 1 << rules.random_bits:
            raise ValueError(f"random must be numbers of {rules.random_bits} bits, not {bits}")


def _fast(patterns: Sequence[int], rules: Cast, random: Sequence[int]) -> list[int]:
    """The codes by the fast model."""
    codes = np.empty(len(patterns), f"u{-(-rules.destination.bits // 8)}")
    given = np.array(patterns, f"u{-(-rules.source.bits // 8)}")
    cast_patterns(given, rules, codes, np.array(random, np.uint16) if rules.random_bits else None)
    return codes.tolist()


@dataclass(frozen=True, kw_only=True)
class _Trace:
    """How one number was rounded. The fields but ``magnitude`` are those of `CastStep`, codes without their sign."""

    action: str
    magnitude: int | None = None
    """The magnitude of the code; None for NaN."""
    below: int | None = None
    above: int | None = None
    guard: int | None = None
    sticky: int | None = None
    tail: int | None = None
    random: int | None = None


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
        guard=trace.guard,
        sticky=trace.sticky,
        tail=trace.tail,
        random=trace.random,
        action=trace.action,
        sign_dropped=number.negative and not to.signed and trace.magnitude is not None,
        code=code,
        fields=code_fields(code, to),
        result=given,
        result_kind=class_of(result, code, to),
        error=given - value if math.isfinite(value) and math.isfinite(given) else None,
    )


def _signed(magnitude: int, number: Number, rules: Cast) -> int:
    """The code of a magnitude, with the sign that the rules give it."""
    was_zero = number.kind == "finite" and number.magnitude == 0
    return signed(magnitude, ZEROS[rules.zero](number.negative, was_zero, magnitude == 0), rules.destination)


def _traced(number: Number, random: int, rules: Cast) -> _Trace:
    """What becomes of one number, whatever the sign of a result."""
    to = rules.destination
    if number.kind == "nan":
        return _Trace(action="nan" if to.nan_code is not None else f"nan to {rules.nan_substitute}")
    if number.negative and not to.signed and NEGATIVES[rules.negative]:
        return _Trace(action="negative to NaN")
    if number.kind == "inf":
        return _beyond(rules, is_inf=True)
    if number.magnitude == 0:
        return _Trace(action="zero", magnitude=0) if to.subnormals else _gone(number.magnitude, rules)
    return _rounded(number.magnitude, random, rules)


def _rounded(value: Fraction, random: int, rules: Cast) -> _Trace:
    """How a magnitude > 0 is rounded, from the bits that hardware uses."""
    to = rules.destination
    cut, part = neighbour(value, to)
    guard, sticky, tail = int(2 * part >= 1), int(2 * part % 1 > 0), math.floor(part * 2**rules.random_bits)
    up = INCREMENTS[rules.rounding](guard, sticky, cut & 1, tail + random >> rules.random_bits)
    action = "exact" if part == 0 else "up" if up else "down"
    if guard and not sticky and rules.rounding in TIES:
        action = f"tie {action}"
    done = _Trace(action=action, magnitude=cut + up)
    if cut + up > to.max_code:
        done = _beyond(rules, is_inf=False)
    if cut + up < 0:
        done = _gone(value, rules)
    has_above = cut < -1 or (part > 0 and cut < to.max_code)
    done = replace(
        done, below=min(cut, to.max_code) if cut >= 0 else None, above=max(cut + 1, 0) if has_above else None
    )
    if not -1 <= cut <= to.max_code:
        return done
    if rules.rounding is CastRounding.SR:
        return replace(done, tail=tail, random=random)
    return replace(done, guard=guard, sticky=sticky)


def _beyond(rules: Cast, is_inf: bool) -> _Trace:
    """What becomes of Inf, or of a number beyond the largest."""
    to, magnitude = rules.destination, OVERFLOWS[rules.overflow](rules, is_inf)
    if magnitude == to.max_code:
        return _Trace(action="saturated", magnitude=magnitude)
    if magnitude is None:
        return _Trace(action="overflow to NaN")
    return _Trace(action="inf" if is_inf else "overflow to Inf", magnitude=magnitude)


def _gone(value: Fraction, rules: Cast) -> _Trace:
    """What becomes of a magnitude below the smallest number of a format without a zero."""
    if UNDERFLOWS[rules.underflow](value):
        return _Trace(action="underflow to NaN")
    return _Trace(action="underflow to the smallest", magnitude=0)


INCREMENTS: dict[CastRounding, Callable[[int, int, int, int], int]] = {
    CastRounding.RNE: lambda guard, sticky, last, carry: guard & (sticky | last),
    CastRounding.RNA: lambda guard, sticky, last, carry: guard,
    CastRounding.RNZ: lambda guard, sticky, last, carry: guard & sticky,
    CastRounding.RTZ: lambda guard, sticky, last, carry: 0,
    CastRounding.RP: lambda guard, sticky, last, carry: guard | sticky,
    CastRounding.SR: lambda guard, sticky, last, carry: carry,
}
"""What each rounding adds to the magnitude that was cut off, given the guard and sticky bits, its last bit and the
carry of the random bits.
"""

TIES = (CastRounding.RNE, CastRounding.RNA, CastRounding.RNZ)
"""Roundings to nearest, under which a tie is worth a word."""
