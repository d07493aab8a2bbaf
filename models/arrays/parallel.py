"""Work on many parts by a few threads: NumPy lets other threads run while it computes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import index
from typing import TypeVar

from ...spec.catalogue import excerpt
from .arguments import require_whole

Part = TypeVar("Part")
Result = TypeVar("Result")

AHEAD = 2
"""Parts that are fetched ahead for each thread, which bounds the memory."""
MOST = 1024
"""Threads that can be asked for: more than any machine has processors for, and fewer than a system lets one process
start.
"""


def checked_jobs(jobs: int) -> int:
    """``jobs`` if it is a number of threads; raises TypeError or ValueError if not."""
    require_whole("jobs", jobs)
    jobs = index(jobs)
    if not 1 <= jobs <= MOST:
        raise ValueError(f"jobs must be 1 to {MOST}, not {excerpt(jobs)}")
    return jobs


def in_order(work: Callable[[Part], Result], parts: Iterable[Part], jobs: int) -> Iterator[Result]:
    """``map(work, parts)`` by so many threads. Parts are fetched a few at a time; results keep their order.

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
