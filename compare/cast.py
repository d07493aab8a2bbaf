"""Comparison of two casts on every pattern of the source.

A number is cast by itself, so these are all inputs. The number decides the cause of a difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..models.fast.cast import cast_patterns, pattern_values, representatives
from ..spec import Cast, CastNegative, FloatFormat
from .certificate import ElementCertificate, ElementFinding, by_cause, require_no_random_bits, require_same

CAUSES = {
    "nan": "NaN",
    "negative": "negative numbers, -0 and -Inf, which become NaN on one side",
    "inf": "Inf",
    "zero": "zeros",
    "overflow": "numbers above the largest one of the destination",
    "underflow": "numbers below the smallest one of the destination",
    "tie": "numbers halfway between two codes",
    "value": "other numbers between two codes",
}
"""Causes of differences in words. A difference counts for the first cause that fits."""


@dataclass(frozen=True, kw_only=True)
class CastResult:
    """A pattern of the source, and the pattern of the destination on each side."""

    pattern: int
    a: int
    b: int


@dataclass(frozen=True, kw_only=True)
class CastCertificate(ElementCertificate[Cast, ElementFinding[CastResult]]):
    """The comparison of two casts over all patterns of the source."""


def compare_casts(a: Cast, b: Cast) -> CastCertificate:
    """Compare two casts from the same source to the same destination on all patterns of the source.

    Patterns with the same result form a class. The fast model casts one pattern of each class and counts all of them,
    so 2**32 patterns take no longer than 2**17.

    Raises ValueError if the sources or the destinations differ, and for stochastic rounding.

    >>> from mxcast.spec import casting
    >>> found = compare_casts(casting("e4m3"), casting("e4m3", "torch"))
    >>> {cause: (finding.differing, hex(finding.first.pattern)) for cause, finding in found.causes.items()}
    {'nan': (8388607, '0xff800001')}
    """
    require_same("source", a.source.name, b.source.name)
    require_same("destination", a.destination.name, b.destination.name)
    require_no_random_bits(a, b)
    patterns, counts = representatives(a.source)
    of_a, of_b = (_results(patterns, rules) for rules in (a, b))
    found = {}
    for cause, places in by_cause(of_a != of_b, _causes(patterns, a, b)):
        pattern, by_a, by_b = (int(of[places[0, 0]]) for of in (patterns, of_a, of_b))
        first = CastResult(pattern=pattern, a=by_a, b=by_b)
        found[cause] = ElementFinding(differing=sum(counts[places[:, 0]].tolist()), first=first)
    return CastCertificate(a=a, b=b, compared=sum(counts.tolist()), causes=found)


def _results(patterns: np.ndarray, rules: Cast) -> np.ndarray:
    results = np.empty(patterns.shape, f"u{-(-rules.destination.bits // 8)}")
    cast_patterns(patterns.astype(f"u{-(-rules.source.bits // 8)}"), rules, results)
    return results


def _causes(patterns: np.ndarray, a: Cast, b: Cast) -> dict[str, np.ndarray]:
    """Masks of the patterns that each cause fits.

    A class of patterns fits the same causes as its smallest pattern, because no bound of a format and no tie has more
    than 16 bits.
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
    """Mask of the magnitudes halfway between two neighbouring numbers of a format."""
    finite = np.where(np.isfinite(magnitudes), magnitudes, 0)
    exponents = np.frexp(finite)[1] - 1
    steps = np.ldexp(finite, to.man_bits - (np.maximum(exponents, to.emin) if to.subnormals else exponents))
    return steps % 1 == 0.5
