"""Where two casts differ: on every pattern of the source.

A number is cast by itself, so this is everything. A difference has a cause, which the number itself shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..models.fast.cast import cast_patterns, pattern_values, representatives
from ..spec import Cast, CastNegative, CastRounding, FloatFormat
from .certificate import ElementCertificate, ElementFinding

CAUSES = {
    "nan": "NaN",
    "negative": "negative numbers, -0 and -Inf, which one side makes NaN",
    "inf": "Inf",
    "zero": "zeros",
    "overflow": "numbers above the largest one of the destination",
    "underflow": "numbers below the smallest one of the destination",
    "tie": "numbers halfway between two codes",
    "value": "other numbers between two codes",
}
"""What a number is that two casts treat differently, by its name. A difference is of the first of them that it fits."""


@dataclass(frozen=True, kw_only=True)
class CastResult:
    """A pattern of the source, and the pattern of the destination that either side gives."""

    pattern: int
    a: int
    b: int


@dataclass(frozen=True, kw_only=True)
class CastCertificate(ElementCertificate[Cast, CastResult]):
    """What is equal and what is not between two casts, over all patterns of the source."""


def compare_casts(a: Cast, b: Cast) -> CastCertificate:
    """Compare two casts from the same source to the same destination on all patterns of the source.

    The fast model casts one FP32 pattern of each class of those that have the same result, and counts all of them, so
    that 2**32 patterns take no longer than 2**17.

    Raises ValueError for other sources or destinations on the two sides, and for stochastic rounding, whose results
    depend on random bits too.

    >>> from mxcast.spec import casting
    >>> found = compare_casts(casting("e4m3"), casting("e4m3", "torch"))
    >>> {cause: (finding.differing, hex(finding.first.pattern)) for cause, finding in found.causes.items()}
    {'nan': (8388607, '0xff800001')}
    """
    for role, one, other in (("source", a.source, b.source), ("destination", a.destination, b.destination)):
        if one != other:
            raise ValueError(f"both sides must have the same {role}, not {one.name} and {other.name}")
    if CastRounding.SR in (a.rounding, b.rounding):
        raise ValueError("stochastic rounding (sr) cannot be compared, because its results depend on random bits")
    patterns, counts = representatives(a.source)
    of_a, of_b = (_results(patterns, rules) for rules in (a, b))
    holds, left, found = _holds(patterns, a, b), of_a != of_b, {}
    for cause in CAUSES:
        places = (left & holds[cause]).nonzero()[0]
        left &= ~holds[cause]
        if len(places):
            pattern, by_a, by_b = (int(of[places[0]]) for of in (patterns, of_a, of_b))
            first = CastResult(pattern=pattern, a=by_a, b=by_b)
            found[cause] = ElementFinding(differing=sum(counts[places].tolist()), first=first)
    return CastCertificate(a=a, b=b, compared=sum(counts.tolist()), causes=found)


def _results(patterns: np.ndarray, rules: Cast) -> np.ndarray:
    results = np.empty(patterns.shape, f"u{-(-rules.destination.bits // 8)}")
    cast_patterns(patterns.astype(f"u{-(-rules.source.bits // 8)}"), rules, results)
    return results


def _holds(patterns: np.ndarray, a: Cast, b: Cast) -> dict[str, np.ndarray]:
    """Which patterns fit a cause, by its name. Every class of patterns fits the same ones as its smallest pattern: no
    bound of a format and no tie has more than 16 bits.
    """
    to, values = a.destination, pattern_values(patterns, a.source)
    magnitudes = np.abs(values)
    becomes_nan = not to.signed and CastNegative.NAN in (a.negative, b.negative)
    return {
        "nan": np.isnan(values),
        "negative": np.signbit(values) & becomes_nan,
        "inf": np.isinf(values),
        "zero": values == 0,
        "overflow": magnitudes > float(to.max_value),
        "underflow": magnitudes < _smallest(to),
        "tie": _is_tie(magnitudes, to),
        "value": np.ones(values.shape, bool),
    }


def _smallest(to: FloatFormat) -> float:
    """The smallest number above zero."""
    return float(to.decode(1 if to.subnormals else 0).magnitude)


def _is_tie(magnitudes: np.ndarray, to: FloatFormat) -> np.ndarray:
    """Which magnitudes lie halfway between two neighbouring numbers of a format."""
    finite = np.where(np.isfinite(magnitudes), magnitudes, 0)
    exponents = np.frexp(finite)[1] - 1
    steps = np.ldexp(finite, to.man_bits - (np.maximum(exponents, to.emin) if to.subnormals else exponents))
    return steps % 1 == 0.5
