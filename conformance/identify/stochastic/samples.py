"""Many results of a random converter for the same blocks, counted element by element."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ....spec import Cast, NumberFormat
from ..candidates import Candidate, Rules
from ..expected.scaled import magnitudes
from .independence import Independence, is_central


@dataclass
class Samples:
    """Samples of some blocks, under rules with the right scales. All arrays are (n, lanes)."""

    found: list[Candidate]
    """Rules under which the same numbers are rounded."""
    v: np.ndarray
    """float64: the numbers that are rounded."""
    unit: np.ndarray
    """Divisor of returned numbers: the scale, or 1 for codes."""
    lower: np.ndarray
    """The nearest magnitude of an element that is not larger."""
    upper: np.ndarray
    """The next one; the same if v is an element."""
    ups: np.ndarray
    """Times that the upper one was returned."""
    others: np.ndarray
    """Times that neither of the two was returned."""
    stray: np.ndarray
    """The last of these other results."""
    calls: list[bytes] = field(default_factory=list)
    """For each sample packed bits: whether the elements of `central` got the upper one."""

    @classmethod
    def under(cls, found: Candidate, v: np.ndarray, unit: np.ndarray, format: NumberFormat) -> Samples:
        """No samples yet, under some rules."""
        known = magnitudes(format)
        at = np.searchsorted(known, np.abs(v), side="right") - 1
        lower = known[at]
        upper = np.where(lower == np.abs(v), lower, known[np.minimum(at + 1, len(known) - 1)])
        zeros = np.zeros(v.shape, np.int64)
        return cls([found], v, unit, lower, upper, zeros, zeros.copy(), np.zeros(v.shape))

    def add(self, results: np.ndarray) -> None:
        """Count one more sample: (n, lanes) float64."""
        with np.errstate(all="ignore"):
            lower, upper = ((side * self.unit).astype(np.float32) for side in (self.lower, self.upper))
            magnitude = np.abs(results)
            has_sign = (np.signbit(results) == np.signbit(self.v)) | (results == 0)
            is_upper = (magnitude == upper) & has_sign
            is_other = ~(is_upper | (magnitude == lower) & has_sign)
            self.stray = np.where(is_other, results / self.unit, self.stray)
        self.ups += is_upper
        self.others += is_other
        self.calls.append(np.packbits(is_upper[self.central]).tobytes())

    @property
    def between(self) -> np.ndarray:
        """(n, lanes) whether v is between two elements."""
        return self.lower < self.upper

    @property
    def fraction(self) -> np.ndarray:
        """f of the elements that are between two."""
        kept = self.between
        return (np.abs(self.v[kept]) - self.lower[kept]) / (self.upper[kept] - self.lower[kept])

    @cached_property
    def central(self) -> np.ndarray:
        """(n, lanes) the elements by which dependence is judged."""
        found = self.between.copy()
        found[found] = is_central(self.fraction)
        return found

    def independence(self, rules: Rules, probabilities: np.ndarray) -> Independence:
        """The results of all samples, with the probabilities of the elements that are between two."""
        kept = self.central[self.between]
        lanes = 0 if isinstance(rules, Cast) else self.v.shape[1]
        return Independence(np.flatnonzero(self.central), probabilities[kept], self.calls, lanes)

    @property
    def shares(self) -> np.ndarray:
        """Shares of the upper result, for the elements that are between two."""
        return self.ups[self.between] / len(self.calls)

    def described(self, patterns: np.ndarray, worst: tuple[int, int]) -> str:
        """The samples of one element, in words; ``patterns`` are the inputs."""
        digits, samples = patterns.dtype.itemsize * 2, len(self.calls)
        lower, upper = (np.copysign(side[worst], self.v[worst]) for side in (self.lower, self.upper))
        head = f"an element: input 0x{int(patterns[worst]):0{digits}X}, {self.v[worst]:.9g} under its scale, is "
        where = f"{lower:.9g}" if lower == upper else f"between {lower:.9g} and {upper:.9g}"
        if self.others[worst]:
            return (
                f"{head}{where}, and became {self.stray[worst]:.9g}, {int(self.others[worst]):,} of {samples:,} times"
            )
        f = (abs(self.v[worst]) - self.lower[worst]) / (self.upper[worst] - self.lower[worst])
        times = f"{int(self.ups[worst]):,} of {samples:,} times"
        return f"{head}{where}: {upper:.9g} came {times}, expected {f * samples:,.1f}"
