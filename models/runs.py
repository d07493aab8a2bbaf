"""Functions of consecutive numbers, evaluated everywhere and kept as runs of equal results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["Runs", "merged", "runs_of"]


@dataclass(frozen=True, eq=False)
class Runs:
    """Results for ``start`` to ``stop``: run i begins at ``starts[i]`` (k,) and has the results ``values[:, i]`` (w,
    k).
    """

    starts: np.ndarray
    values: np.ndarray
    stop: int

    @property
    def start(self) -> int:
        return int(self.starts[0])

    def at(self, number: int) -> tuple[int, ...]:
        """The results for one number."""
        return tuple(self.values[:, np.searchsorted(self.starts, number, "right") - 1].tolist())


def runs_of(evaluate: Callable[[int, int], np.ndarray], start: int, stop: int, chunk: int) -> Runs:
    """Evaluate every number from ``start`` to ``stop``, ``chunk`` at a time.

    ``evaluate(i, j)`` gives the results of i to j, (w, j - i): one column a number. Nothing is assumed about them; that
    neighbours are often equal only saves memory.
    """
    starts, values = [], []
    last = None
    for begin in range(start, stop, chunk):
        results = evaluate(begin, min(begin + chunk, stop))
        changed = np.flatnonzero(np.logical_or.reduce(results[:, 1:] != results[:, :-1], axis=0)) + 1
        if last is None or (results[:, 0] != last).any():
            changed = np.concatenate([[0], changed])
        last = results[:, -1].copy()
        starts.append(begin + changed)
        values.append(results[:, changed])
    return Runs(np.concatenate(starts), np.concatenate(values, axis=1), stop)


def merged(a: Runs, b: Runs, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Both functions up to ``stop``, which begin at the same number, cut where either changes: starts and ends (k,) of
    the pieces, and the results of each on them, (w, k).

    >>> a, b = (runs_of(lambda i, j: np.arange(i, j)[None] >= n, 0, 9, 4) for n in (3, 5))
    >>> starts, ends, of_a, of_b = merged(a, b, 9)
    >>> (ends - starts)[(of_a != of_b).any(axis=0)].sum()
    np.int64(2)
    """
    assert a.start == b.start
    starts = np.union1d(a.starts, b.starts)
    starts = starts[starts < stop]
    ends = np.append(starts[1:], stop)
    values = (runs.values[:, np.searchsorted(runs.starts, starts, "right") - 1] for runs in (a, b))
    return starts, ends, *values
