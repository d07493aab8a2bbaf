"""Whether samples have the probabilities of stochastic rounding.

Let v be the number that is rounded (x / 2^X, or the binary32 number of an order of NVFP4), lo and hi the elements below
and above its magnitude, and f = (|v| - lo) / (hi - lo). A fair function gives hi with probability f; with n random bits
the probability is floor(2^n f) / 2^n. By Hoeffding's inequality the share of hi in N samples is within sqrt(ln(2 M /
RISK) / (2 N)) of its probability for all of M elements at once, except with the probability RISK. Only the calls must
be independent for that; `independence` judges whether all results are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log, sqrt

import numpy as np

from .samples import Samples

RISK = 1e-6
"""The probability that a fair function is called unfair."""
MOST_BITS = 16
"""Random bits that are tried."""


def bound(samples: int, elements: int) -> float:
    """How far shares may be from their probabilities.

    >>> round(bound(10_000, 8192), 4)
    0.0343
    """
    return sqrt(log(2 * max(elements, 1) / RISK) / (2 * samples))


@dataclass(frozen=True)
class Judgement:
    """Whether samples have the probabilities of stochastic rounding."""

    is_fair: bool
    text: str
    """The probabilities that fit, or the reason why none do, in words."""
    bound: float
    probabilities: np.ndarray = field(repr=False)
    """Probabilities of the elements that are between two, by the nearest fit."""
    bits: tuple[int, ...] = ()
    """Numbers of random bits that fit."""
    is_exact: bool = False
    """Whether the exact probability fits."""
    worst: tuple[int, int] | None = None
    """The element that is farthest off."""

    @property
    def fitting(self) -> str:
        """Other numbers of random bits that fit, in words."""
        bits = self.bits
        if not self.is_exact:
            return f"the exact probability does not fit, but the one with {_bits(bits)} does"
        if len(bits) > 1:
            return f"random bits that fit too: {bits[0]} to {bits[-1]}"
        return "no number of bits tells more"


def judgement(one: Samples) -> Judgement:
    """Judge the shares of the upper results."""
    f, shares = one.fraction, one.shares
    limit = bound(len(one.calls), f.size)
    if one.others.any():
        row, lane = np.unravel_index(int(one.others.argmax()), one.v.shape)
        count = int((one.others > 0).sum())
        text = f"returns results that are no neighbours of the exact number, for {count:,} of {one.v.size:,} elements"
        return Judgement(False, text, limit, f, worst=(int(row), int(lane)))
    if not f.size:
        return Judgement(False, "was given no number between two elements", limit, f)
    of_bits = {n: np.floor(f * 2.0**n) / 2.0**n for n in range(1, MOST_BITS + 1)}
    bits = tuple(n for n, p in of_bits.items() if np.abs(shares - p).max() <= limit)
    is_exact = bool(np.abs(shares - f).max() <= limit)
    if is_exact or bits:
        text = "the exact probability" if is_exact else f"that of {_bits(bits)}"
        fits = [*([f] if is_exact else []), *(of_bits[n] for n in bits)]
        nearest = min(fits, key=lambda p: float(np.square(shares - p).sum()))
        return Judgement(True, text, limit, nearest, bits or (MOST_BITS,), is_exact)
    rows, lanes = np.nonzero(one.between)
    place = int(np.abs(shares - f).argmax())
    text = _bias(f, shares, ~np.signbit(one.v[one.between]), limit)
    return Judgement(False, text, limit, f, worst=(int(rows[place]), int(lanes[place])))


def _bias(f: np.ndarray, shares: np.ndarray, is_positive: np.ndarray, limit: float) -> str:
    """How shares differ from the fractions f, in words."""
    constant = {
        "always rounds away from zero": np.ones_like(f),
        "always rounds toward zero": np.zeros_like(f),
        "always rounds up": is_positive.astype(float),
        "always rounds down": (~is_positive).astype(float),
    }
    for text, wanted in constant.items():
        if np.array_equal(shares, wanted):
            return f"{text} and is no stochastic rounding"
    if np.abs(shares - 0.5).max() <= limit:
        return "is biased: both neighbours have the probability 1/2, whatever the number is"
    away, up = shares - f, np.where(is_positive, shares - f, f - shares)
    mean, signed = float(away.mean()), float(up.mean())
    if abs(signed) > abs(mean):
        return f"is biased {'up' if signed > 0 else 'down'}, by {abs(signed):.3f} of a step on average"
    if abs(mean) * 10 < float(np.abs(away).mean()):
        return f"rounds with other probabilities than the distances, by {np.abs(away).mean():.3f} on average"
    return f"is biased {'away from' if mean > 0 else 'toward'} zero, by {abs(mean):.3f} of a step on average"


def _bits(numbers: Sequence[int]) -> str:
    return "1 random bit" if tuple(numbers) == (1,) else f"{' or '.join(map(str, numbers))} random bits"
