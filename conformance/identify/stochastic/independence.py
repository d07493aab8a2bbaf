"""Whether the results of a random function depend on each other.

Let U be 1 if an element gets the upper of its two neighbours, in the order of calls, blocks and lanes, and p its
probability. If all results are independent, the sum of (U - p)(U' - p') over all pairs at one distance is a martingale.
By Freedman's inequality (1975) it is within b L / 3 + sqrt((b L / 3)^2 + 2 v L) of 0 for all of K distances at once,
except with the probability RISK, where L = ln(2 K / RISK), b bounds one product, and v the sum of their variances.
Distances are between two results of a call, between a call and the next one, and between calls for one element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

RISK = 1e-6
"""The probability that an independent function is called dependent."""
LOW, HIGH = 1 / 4, 3 / 4
"""Probabilities of the elements that are tested; results of others vary little."""
FEWEST = 64
"""The smallest number of elements."""
OF_CALLS = 512
"""Elements for which all pairs of calls are tested."""
AT_ONCE = 64
"""Elements, or calls, that are transformed at a time."""
USEFUL = 0.5
"""The largest correlation that is useful as a bound."""


def is_central(fraction: np.ndarray) -> np.ndarray:
    """Elements whose results are tested."""
    return (fraction >= LOW) & (fraction <= HIGH)


@dataclass(frozen=True)
class Dependence:
    """The outcome of the test."""

    text: str
    """How results depend on each other, in words; empty if nothing was found."""
    bound: float
    """Correlations of neighbours below this one are not seen; above `USEFUL` nothing was tested."""

    @property
    def is_tested(self) -> bool:
        return self.bound <= USEFUL

    def remark(self, samples: int, elements: int) -> str:
        """The test on so many elements, in words."""
        if not self.is_tested:
            return f"independence not tested: {samples:,} samples of {elements:,} elements near the middle are too few"
        return (
            f"independence was tested: of two results of a call, of a call and the next one, and of one element in any "
            f"two calls; between neighbours a correlation of {self.bound:.3f} would show (Freedman; an independent "
            f"function fails once in {round(1 / RISK):,} runs)"
        )


@dataclass(frozen=True)
class _Sums:
    """Sums of products by their distance: (n,) each."""

    products: np.ndarray
    scale: np.ndarray
    """The sums for a correlation of 1."""
    variance: np.ndarray

    @classmethod
    def of(cls, spectra: np.ndarray, size: int, distances: np.ndarray) -> _Sums:
        """The three sums at some distances, from their spectra."""
        return cls(*np.fft.irfft(spectra, 2 * size)[:, distances])

    def limits(self, most: float, factor: float) -> np.ndarray:
        """Freedman's bound, where ``most`` bounds one product and ``factor`` is L."""
        linear = most * factor / 3
        return linear + np.sqrt(linear**2 + 2 * np.maximum(self.variance, 0) * factor)

    def beyond(self, most: float, factor: float) -> Iterator[tuple[int, float]]:
        """The first place of a correlation beyond the bound that is at least half of the largest one, and it."""
        rows = np.flatnonzero(np.abs(self.products) > self.limits(most, factor))
        if len(rows):
            ratios = self.products[rows] / np.maximum(self.scale[rows], 1)
            at = int((2 * np.abs(ratios) >= np.abs(ratios).max()).argmax())
            yield int(rows[at]), float(ratios[at])


def _by_distance(size: int) -> np.ndarray:
    """The whole numbers from 1 - size to size - 1, the nearest to 0 first."""
    return np.array(sorted(range(1 - size, size), key=abs))


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


@dataclass(frozen=True)
class Independence:
    """The results of some elements in many calls."""

    places: np.ndarray
    """(m,) places of the elements in a call, blocks one after the other."""
    probabilities: np.ndarray
    """(m,)"""
    calls: Sequence[bytes]
    """Packed bits for each call: whether the elements got their upper neighbours."""
    lanes: int = 0
    """Lanes of a block; 0 for a cast."""

    def found(self) -> Dependence:
        """The strongest dependence."""
        if len(self.places) < FEWEST or len(self.calls) < 2:
            return Dependence("", 1.0)
        size = int(self.places.max()) + 1
        same, following = self._neighbours(size)
        far = self._calls_apart()
        factor = log(2 * (len(same.products) + len(following.products) + len(far.products)) / RISK)
        largest = float(self._most.max() ** 2)
        found = [
            (ratio, described(at).format(f"have the correlation {ratio:.2f}"))
            for sums, described in (
                (same, lambda at: self._within(at + 1)),
                (following, lambda at: self._following(int(_by_distance(size)[at]))),
                (
                    far,
                    lambda at: f"results of one element {_several(at + 1, 'call')} apart {{}}: are calls seeded alike?",
                ),
            )
            for at, ratio in sums.beyond(largest, factor)
        ]
        most = max((abs(ratio) for ratio, _ in found), default=0)
        text = next((text for ratio, text in found if 2 * abs(ratio) >= most), "")
        near = slice(max(self.lanes - 1, 1))
        return Dependence(text, float((same.limits(largest, factor)[near] / same.scale[near]).max()))

    def repeated(self) -> str:
        """Which call had the results of another one, in words; not where all calls are alike."""
        first: dict[bytes, int] = {}
        for number, results in enumerate(self.calls if len(self.places) >= FEWEST else ()):
            known = first.setdefault(results, number)
            if known != number and len(first) > 1:
                return f"call {number + 1} has the results of call {known + 1}"
        return ""

    @property
    def _most(self) -> np.ndarray:
        return np.maximum(self.probabilities, 1 - self.probabilities)

    @property
    def _variance(self) -> np.ndarray:
        return self.probabilities * (1 - self.probabilities)

    def _within(self, distance: int) -> str:
        if not self.lanes:
            return f"results {_several(distance, 'number')} apart {{}}: do they share random bits?"
        if distance % self.lanes == 0:
            blocks = _several(distance // self.lanes, "block")
            return f"results of one lane {blocks} apart {{}}: do blocks share random bits?"
        if distance < self.lanes:
            return f"results {_several(distance, 'lane')} apart {{}}: do elements of a block share random bits?"
        return f"results {distance} elements apart {{}}: do they share random bits?"

    def _following(self, moved: int) -> str:
        moved_by = f", {_several(abs(moved), 'element')} {'later' if moved > 0 else 'earlier'}," if moved else ""
        return f"results of a call and of the next one{moved_by} {{}}: do calls share random bits?"

    def _deviations(self, start: int, stop: int) -> np.ndarray:
        """(stop - start, m) U - p of some calls."""
        packed = np.frombuffer(b"".join(self.calls[start:stop]), np.uint8).reshape(stop - start, -1)
        return np.unpackbits(packed, axis=1, count=len(self.places)) - self.probabilities.astype(np.float32)

    def _chunks(self) -> Iterator[tuple[int, int]]:
        return ((start, min(start + AT_ONCE, len(self.calls))) for start in range(0, len(self.calls), AT_ONCE))

    def _spectra(self, values: np.ndarray, size: int) -> np.ndarray:
        """The transforms of values at their places, (..., m) -> (..., size + 1)."""
        whole = np.zeros((*values.shape[:-1], size))
        whole[..., self.places] = values
        return np.fft.rfft(whole, 2 * size)

    def _neighbours(self, size: int) -> tuple[_Sums, _Sums]:
        """Pairs at 1, 2, ... places in a call, and at the places of `_by_distance` in a call and the next one."""
        same, following = np.zeros(size + 1, np.complex128), np.zeros(size + 1, np.complex128)
        before = np.zeros((0, size + 1), np.complex128)
        for chunk in self._chunks():
            spectra = np.concatenate([before, self._spectra(self._deviations(*chunk), size)])
            same += (np.abs(spectra[len(before) :]) ** 2).sum(axis=0)
            following += (np.conj(spectra[:-1]) * spectra[1:]).sum(axis=0)
            before = spectra[-1:]
        count = len(self.calls)
        scale = np.abs(self._spectra(np.sqrt(self._variance), size)) ** 2
        variance = np.conj(self._spectra(self._most**2, size)) * self._spectra(self._variance, size)
        return (
            _Sums.of(np.array([same, count * scale, count * variance]), size, np.arange(1, size)),
            _Sums.of(np.array([following, (count - 1) * scale, (count - 1) * variance]), size, _by_distance(size)),
        )

    def _calls_apart(self) -> _Sums:
        """Pairs of results of one element at 1, 2, ... calls."""
        count = len(self.calls)
        chosen = np.linspace(0, len(self.places) - 1, min(OF_CALLS, len(self.places))).astype(int)
        whole = np.concatenate([self._deviations(*chunk)[:, chosen] for chunk in self._chunks()])
        spectrum = np.zeros(count + 1)
        for start in range(0, len(chosen), AT_ONCE):
            spectrum += (np.abs(np.fft.rfft(whole[:, start : start + AT_ONCE], 2 * count, axis=0)) ** 2).sum(axis=1)
        pairs, variance = count - np.arange(1, count), self._variance[chosen]
        return _Sums(
            np.fft.irfft(spectrum, 2 * count)[1:count],
            pairs * variance.sum(),
            pairs * (self._most[chosen] ** 2 * variance).sum(),
        )
