"""The input domain of a comparison: all finite magnitudes of a source format by rank, and ranges of elements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..models.arrays.source import DTYPES, INFINITY, widen
from ..spec import FP32, FloatFormat

BINADE = 1 << 23
"""FP32 patterns with the same exponent field."""


class ElementRange(NamedTuple):
    """Elements of blocks with this scale byte: the magnitudes of ranks ``start`` up to ``stop``."""

    byte: int
    start: int
    stop: int


@dataclass(frozen=True)
class InputDomain:
    """Finite magnitudes in increasing order, as FP32 patterns, and the patterns of Inf and NaN.

    The rank of a magnitude is its index in this order. FP32 has no table, because its rank is the pattern.
    """

    name: str
    nan_step: int
    """Step between the fractions of NaN, as FP32 patterns."""
    table: np.ndarray | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        return int(INFINITY) if self.table is None else len(self.table)

    def patterns(self, start: int, stop: int) -> np.ndarray:
        """FP32 patterns of ranks ``start`` up to ``stop``: (stop - start,) uint32."""
        return np.arange(start, stop, dtype=np.uint32) if self.table is None else self.table[start:stop]

    def rank(self, pattern: int) -> int:
        return int(pattern) if self.table is None else int(np.searchsorted(self.table, np.uint32(pattern)))

    @property
    def special_count(self) -> int:
        """Number of patterns of Inf and NaN, of both signs."""
        return 2 * (BINADE // self.nan_step)

    def special_patterns(self, start: int, stop: int) -> np.ndarray:
        """FP32 patterns of Inf and NaN of ranks ``start`` up to ``stop``, the positive ones first."""
        rank = np.arange(start, stop, dtype=np.uint32)
        negative, fraction = np.divmod(rank, np.uint32(BINADE // self.nan_step))
        return (negative << 31) | INFINITY | (fraction * np.uint32(self.nan_step))

    def element_ranges(self, largest: Mapping[int, int]) -> Iterator[Iterator[ElementRange]]:
        """Ranges of all possible elements, given the rank of the largest magnitude of blocks with each scale byte.

        In each sequence the magnitudes shrink relative to the scale: once all elements of a range are zero, elements of
        later ranges are zero too. A domain with a table gives all pairs of magnitude and byte. FP32 gives classes: the
        code of a normal number depends only on its fraction and on the distance between its exponent field and the
        byte, so each distance is evaluated at the byte that allows the largest fraction. Subnormal numbers are
        evaluated at every byte.
        """
        if self.table is not None:
            return (iter([ElementRange(byte, 0, last + 1)]) for byte, last in largest.items())
        subnormal = (ElementRange(byte, 0, min(last + 1, BINADE)) for byte, last in sorted(largest.items()))
        return iter([_by_distance(largest), subnormal])


def _by_distance(largest: Mapping[int, int]) -> Iterator[ElementRange]:
    for distance in range(254, -255, -1):
        choices = []
        for byte, last in largest.items():
            start = (distance + byte) * BINADE
            if BINADE <= start <= last:
                choices.append(ElementRange(byte, start, min(last + 1, start + BINADE)))
        if choices:  # most fractions first, then the scale nearest to 1
            yield max(choices, key=lambda one: (one.stop - one.start, -abs(one.byte - 127)))


def _domain(source: FloatFormat) -> InputDomain:
    if source.name not in DTYPES:
        raise ValueError(f"the golden model takes {', '.join(DTYPES)}, not {source.name}")
    nan_step = 1 << (FP32.man_bits - source.man_bits)
    if source is FP32:
        return InputDomain(source.name, nan_step)
    finite = np.arange(((1 << source.exp_bits) - 1) << source.man_bits, dtype=np.uint16).view(DTYPES[source.name])
    table = widen(finite, np.empty(finite.size, np.uint32)).copy()
    return InputDomain(source.name, nan_step, table)


def common_domain(a: FloatFormat, b: FloatFormat) -> InputDomain:
    """The numbers that both sources have. If one source contains the other, these are the numbers of the narrower one.

    >>> from mxcast.spec import BF16, FP16
    >>> common_domain(FP32, BF16).name, common_domain(FP16, BF16).name, common_domain(FP16, BF16).size
    ('bf16', 'bf16 and fp16', 4352)
    """
    wide, narrow = (_domain(source) for source in sorted((a, b), key=lambda source: (source != FP32, source.name)))
    if a == b or wide.table is None or narrow.table is None:
        return narrow
    return InputDomain(
        f"{wide.name} and {narrow.name}", max(wide.nan_step, narrow.nan_step), np.intersect1d(wide.table, narrow.table)
    )
