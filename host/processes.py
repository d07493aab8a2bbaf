"""Child processes. Whatever ends the work that waits for a child ends the child too, with everything that it has
started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

from .files import PLAIN, temporary_folder
from .guardian import forget, watch
from .signals import interruptible, uninterrupted

__all__ = ["Finished", "Stopped", "TookTooLong", "Workers", "run", "workers"]

Item, Result = TypeVar("Item"), TypeVar("Result")

TEMPORARY = "TMPDIR"

GRACE = 5.0
"""Seconds that a child has to end by itself after SIGTERM."""


class Stopped(RuntimeError):
    """The work that a child was to be started for has ended."""


class TookTooLong(RuntimeError):
    """A child was ended because its time was over."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A child that has ended; ``output`` and ``errors`` are what it printed, unless that went to a file."""

    status: int
    output: str
    errors: str


class _Children:
    """The running children of some threads."""

    def __init__(self) -> None:
        self._lock, self._running, self._stopped = threading.Lock(), set(), False

    def start(self, command: Sequence[str], **options: object) -> subprocess.Popen:
        with self._lock:
            if self._stopped:
                raise Stopped("the work that this command belongs to has ended")
            # a group of its own: a terminal's Ctrl-C reaches us alone, and we end whatever the child has started
            process = subprocess.Popen(command, start_new_session=True, **options)
            self._running.add(process)
            return process

    def ended(self, process: subprocess.Popen) -> None:
        with self._lock:
            self._running.discard(process)

    def stop(self) -> None:
        """End all of them, and let none begin."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        _end(running)


def _end(processes: Sequence[subprocess.Popen]) -> None:
    """End children and their groups: politely, so that they can clear up, then not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        until = time.monotonic() + GRACE
        while any(process.poll() is None for process in processes) and time.monotonic() < until:
            time.sleep(0.01)


_ours = threading.local()
_of_main = _Children()


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | str | None = None,
    input: str = "",
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
    log: IO[bytes] | None = None,
) -> Finished:
    """Run a command to its end, with ``input`` as its standard input; ``log`` is a file for all that it prints. In a
    folder ``cwd`` it also keeps its temporary files, which are removed.

    Raises `TookTooLong` after ``timeout`` seconds, OSError where there is no such program. Whatever exception arrives
    meanwhile, the child and all that it has started are ended before it goes on.
    """
    environment = dict(os.environ if environment is None else environment)
    if cwd is None:
        return _waited(command, None, input, environment, timeout, log)
    # some tools give the name to a shell, which would read more than letters in it
    parent = Path(cwd).absolute()
    with temporary_folder(parent if PLAIN.fullmatch(str(parent)) else Path(tempfile.gettempdir())) as folder:
        environment[TEMPORARY] = str(folder)
        return _waited(command, cwd, input, environment, timeout, log)


def _waited(
    command: Sequence[str | Path],
    cwd: Path | str | None,
    input: str,
    environment: Mapping[str, str],
    timeout: float | None,
    log: IO[bytes] | None,
) -> Finished:
    children: _Children = getattr(_ours, "children", _of_main)
    output, errors = (log, subprocess.STDOUT) if log else (subprocess.PIPE, subprocess.PIPE)
    with uninterrupted():  # or there could be a child that nobody knows of
        process = children.start(
            [str(word) for word in command],
            cwd=cwd,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        try:
            watch(process.pid)
            with interruptible():
                said, complained = process.communicate(input, timeout)
        except BaseException as error:
            _end([process])  # even if it has ended: what it started may go on
            if isinstance(error, subprocess.TimeoutExpired):
                raise TookTooLong(f"{Path(command[0]).name} took more than {timeout:g} seconds") from None
            raise
        finally:
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe:
                    with contextlib.suppress(OSError):
                        pipe.close()
            forget(process.pid)
            children.ended(process)
    return Finished(status=process.returncode, output=said or "", errors=complained or "")


class Workers:
    """Threads, each of which waits for the children that its work starts."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    def _begin(self, work: Callable[[Item], Result], item: Item) -> Future[Result]:
        return self._pool.submit(copy_context().run, work, item)

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results in the order of the items."""
        for future in [self._begin(work, item) for item in items]:
            yield future.result()

    def completed(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        """Items and results, as they end."""
        begun = {self._begin(work, item): item for item in items}
        for future in as_completed(begun):
            yield begun[future], future.result()


@contextlib.contextmanager
def workers(count: int) -> Iterator[Workers]:
    """So many threads to share work that waits for children. If the block ends with an exception, or a generator in it
    is closed, its children are ended and what has not begun is forgotten.
    """
    children = _Children()

    def enter() -> None:
        _ours.children = children

    pool = ThreadPoolExecutor(count, initializer=enter)
    with uninterrupted():
        try:
            with interruptible():
                yield Workers(pool)
                pool.shutdown()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            children.stop()
            pool.shutdown()
            raise
