"""Times of functions and processes: rounds in turn, the best of each, one core.

The best time is the one that other work on the machine lengthened least.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mxcast.models.native import instruction_set

Times = Mapping[str, Sequence[float]]


def in_turn(
    calls: Mapping[str, Callable[[], object]], rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[str, list[float]]:
    """Seconds of each call in each round. Calls take turns, so that a slow moment of the machine hits all of them.

    The default clock counts processor time, so that waiting for other processes is left out. Calls with several threads
    need `time.perf_counter`.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = clock()
            call()
            times[name].append(clock() - start)
    return times


def rates(times: Times, amount: float, digits: int = 1) -> dict[str, float]:
    """Millions a second of ``amount`` things, by the best time."""
    return {name: round(amount / 1e6 / min(each), digits) for name, each in times.items()}


def ratio(times: Times, slower: str, faster: str) -> float:
    """The best time of one call divided by the best time of another."""
    return round(min(times[slower]) / min(times[faster]), 2)


@contextmanager
def one_core() -> Iterator[set[int]]:
    """Pin this process to one core; yields all cores that it may use."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield cores
    finally:
        os.sched_setaffinity(0, cores)


def versions(*packages: str) -> dict[str, str]:
    """The processor, the instruction set of the compiled module, and versions of Python and of installed packages."""
    found = {
        "machine": _processor(),
        "instruction_set": instruction_set or "NumPy alone",
        "python": platform.python_version(),
    }
    for name in (*packages, "numpy", "mxcast"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            pass
    return found


def _processor() -> str:
    """The processor's name, on Linux from the system's list, with family and model, as some names say little."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.exists() else []
    found = dict(reversed([[part.strip() for part in line.split(":", 1)] for line in lines if ":" in line]))
    name = found.get("model name") or platform.processor() or platform.machine()
    numbers = [f"{word} {found[key]}" for word, key in (("family", "cpu family"), ("model", "model")) if key in found]
    return f"{name} ({', '.join(numbers)})" if numbers else name


def process(*command: object) -> tuple[float, int]:
    """Seconds of a process, and its largest memory in MiB."""
    words = [str(word) for word in command]
    start = time.perf_counter()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    taken = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(words)} failed")
    return taken, usage.ru_maxrss >> 10
