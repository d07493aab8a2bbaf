"""Run-length encodings of functions of consecutive integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class RunLengthEncoding:
    """Results of a function for consecutive integers up to ``stop``.

    Run i begins at ``starts[i]`` (k,) and its results are ``values[:, i]`` (w, k).
    """

    starts: np.ndarray
    values: np.ndarray
    stop: int

    @property
    def start(self) -> int:
        return int(self.starts[0])

    def at(self, number: int) -> tuple[int, ...]:
        """The results for one integer."""
        return tuple(self.values[:, np.searchsorted(self.starts, number, "right") - 1].tolist())


def run_length_encoded(
    evaluate: Callable[[int, int], np.ndarray], start: int, stop: int, chunk: int
) -> RunLengthEncoding:
    """Evaluate every integer from ``start`` up to ``stop``, ``chunk`` at a time.

    ``evaluate(i, j)`` gives the results for i up to j, (w, j - i), one column for each integer. Equal neighbours
    save memory; otherwise the results are arbitrary.
    """
    starts, values = [], []
    last: np.ndarray | None = None
    for begin in range(start, stop, chunk):
        results = evaluate(begin, min(begin + chunk, stop))
        changed = np.flatnonzero(np.logical_or.reduce(results[:, 1:] != results[:, :-1], axis=0)) + 1
        if last is None or (results[:, 0] != last).any():
            changed = np.concatenate([[0], changed])
        last = results[:, -1].copy()
        starts.append(begin + changed)
        values.append(results[:, changed])
    return RunLengthEncoding(np.concatenate(starts), np.concatenate(values, axis=1), stop)


def merged(
    a: RunLengthEncoding, b: RunLengthEncoding, stop: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Both functions up to ``stop``, cut at each change of either; they must begin at the same integer.

    Returns starts and ends (k,) of the segments, and the results of each function on them, (w, k).

    >>> a, b = (run_length_encoded(lambda i, j: np.arange(i, j)[None] >= n, 0, 9, 4) for n in (3, 5))
    >>> starts, ends, of_a, of_b = merged(a, b, 9)
    >>> (ends - starts)[(of_a != of_b).any(axis=0)].sum()
    np.int64(2)
    """
    assert a.start == b.start
    starts = np.union1d(a.starts, b.starts)
    starts = starts[starts < stop]
    ends = np.append(starts[1:], stop)
    of_a, of_b = (runs.values[:, np.searchsorted(runs.starts, starts, "right") - 1] for runs in (a, b))
    return starts, ends, of_a, of_b
