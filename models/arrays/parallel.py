"""Work on many parts by several threads. NumPy lets other threads run while it computes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import index
from typing import TypeVar

from ...spec.catalogue import excerpt
from .source import require_float_mode, require_whole

Part = TypeVar("Part")
Result = TypeVar("Result")

AHEAD = 2
"""Parts that are fetched ahead for each thread. This bounds the memory."""
MOST = 1024
"""Most threads: more than machines have processors, and fewer than systems let one process start."""


def checked_jobs(jobs: int) -> int:
    """``jobs`` as an integer. Raises TypeError or ValueError if it is not a number of threads."""
    require_whole("jobs", jobs)
    jobs = index(jobs)
    if not 1 <= jobs <= MOST:
        raise ValueError(f"jobs must be 1 to {MOST}, not {excerpt(jobs)}")
    return jobs


def processors() -> int:
    """The number of processors that this process may use."""
    usable = getattr(os, "sched_getaffinity", None)  # on Linux
    return len(usable(0)) if usable else os.cpu_count() or 1


def in_order(work: Callable[[Part], Result], parts: Iterable[Part], jobs: int) -> Iterator[Result]:
    """``map(work, parts)`` by ``jobs`` threads. Parts are fetched a few at a time; results keep their order.

    >>> list(in_order(abs, [-1, 2, -3], jobs=2))
    [1, 2, 3]
    """
    if jobs == 1:
        yield from map(work, parts)
        return
    from concurrent.futures import ThreadPoolExecutor

    waiting = iter(parts)
    with ThreadPoolExecutor(jobs) as pool:
        begun = deque(pool.submit(work, part) for part in islice(waiting, AHEAD * jobs))
        try:
            while begun:
                yield begun.popleft().result()
                begun.extend(pool.submit(work, part) for part in islice(waiting, 1))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def in_chunks(work: Callable[[slice], None], count: int, rows: int, jobs: int, *, at_once: int = 1) -> None:
    """Call ``work`` for all of ``count`` rows, in slices of ``rows`` that ``jobs`` threads share equally.

    A call takes up to ``at_once`` slices of a thread together.
    Raises RuntimeError if a thread flushes subnormal numbers to zero or does not round to nearest.
    """
    share = -(-count // (rows * checked_jobs(jobs))) * rows or rows

    def of_thread(start: int) -> None:
        require_float_mode()
        end = min(start + share, count)
        for first in range(start, end, rows * at_once):
            work(slice(first, min(first + rows * at_once, end)))

    for _ in in_order(of_thread, range(0, count, share), jobs):
        pass
