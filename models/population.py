"""The numbers that a comparison walks: all finite magnitudes of a source, by rank, and the classes of elements among
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..spec import FP32, FloatFormat
from .amax import INFINITY
from .source import DTYPES, widen

__all__ = ["Population", "Task", "common"]

BINADE = 1 << 23
"""FP32 patterns with the same exponent field."""


class Task(NamedTuple):
    """Numbers of ranks ``start`` to ``stop`` as elements of blocks with this scale byte."""

    byte: int
    start: int
    stop: int


@dataclass(frozen=True)
class Population:
    """Finite magnitudes in increasing order, each an FP32 pattern, and which NaN there are.

    FP32 itself has no table: the rank of a number is its pattern.
    """

    name: str
    nan_step: int
    """What fractions of NaN are a multiple of, as FP32 patterns."""
    table: np.ndarray | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        return int(INFINITY) if self.table is None else len(self.table)

    def patterns(self, start: int, stop: int) -> np.ndarray:
        """FP32 patterns of ranks ``start`` to ``stop``: (stop - start,) uint32."""
        return np.arange(start, stop, dtype=np.uint32) if self.table is None else self.table[start:stop]

    def rank(self, pattern: int) -> int:
        return int(pattern) if self.table is None else int(np.searchsorted(self.table, np.uint32(pattern)))

    @property
    def special_count(self) -> int:
        """How many patterns Inf and NaN have, signs counted."""
        return 2 * (BINADE // self.nan_step)

    def special_patterns(self, start: int, stop: int) -> np.ndarray:
        """FP32 patterns of Inf and NaN of ranks ``start`` to ``stop``, the positive ones first."""
        rank = np.arange(start, stop, dtype=np.uint32)
        negative, fraction = np.divmod(rank, np.uint32(BINADE // self.nan_step))
        return (negative << 31) | INFINITY | (fraction * np.uint32(self.nan_step))

    def tasks(self, reach: Mapping[int, int]) -> Iterator[Iterator[Task]]:
        """Everything that can be an element, given the rank of the largest number that a block of each byte can hold.

        In each sequence magnitudes shrink against the scale: once they all have become zero, so will the rest. Of a
        source with a table these are all pairs of number and byte. Of FP32 they are classes: the code of a normal
        number depends on its fraction and on the distance between its exponent field and the byte only, so each
        distance is walked at the byte that reaches the largest fraction; subnormal numbers at every byte.
        """
        if self.table is not None:
            return (iter([Task(byte, 0, last + 1)]) for byte, last in reach.items())
        return iter(
            [_by_distance(reach), (Task(byte, 0, min(last + 1, BINADE)) for byte, last in sorted(reach.items()))]
        )


def _by_distance(reach: Mapping[int, int]) -> Iterator[Task]:
    for distance in range(254, -255, -1):
        choices = []
        for byte, last in reach.items():
            start = (distance + byte) * BINADE
            if BINADE <= start <= last:
                choices.append(Task(byte, start, min(last + 1, start + BINADE)))
        if choices:  # the one with the most fractions; of several the scale nearest to 1
            yield max(choices, key=lambda task: (task.stop - task.start, -abs(task.byte - 127)))


def _population(source: FloatFormat) -> Population:
    if source.name not in DTYPES:
        raise ValueError(f"the golden model takes {', '.join(DTYPES)}, not {source.name}")
    nan_step = 1 << (FP32.man_bits - source.man_bits)
    if source is FP32:
        return Population(source.name, nan_step)
    finite = np.arange(((1 << source.exp_bits) - 1) << source.man_bits, dtype=np.uint16).view(DTYPES[source.name])
    table = widen(finite, np.empty(finite.size, np.uint32)).copy()
    return Population(source.name, nan_step, table)


def common(a: FloatFormat, b: FloatFormat) -> Population:
    """The numbers that both sources have: those of the narrower one, where one holds all of the other.

    >>> from mxcast.spec import BF16, FP16
    >>> common(FP32, BF16).name, common(FP16, BF16).name, common(FP16, BF16).size
    ('bf16', 'bf16 and fp16', 4352)
    """
    wide, narrow = (_population(source) for source in sorted((a, b), key=lambda source: (source != FP32, source.name)))
    if a == b or wide.table is None:
        return narrow
    return Population(
        f"{wide.name} and {narrow.name}", max(wide.nan_step, narrow.nan_step), np.intersect1d(wide.table, narrow.table)
    )
