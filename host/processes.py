"""Child processes. When the work that waits for a child ends, for whatever reason, the child and its descendants are
ended too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
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
from .guardian import MARK, forget, prepare, watch
from .signals import interruptible, uninterrupted

Item = TypeVar("Item")
Result = TypeVar("Result")

TEMPORARY = "TMPDIR"

GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""


class Stopped(RuntimeError):
    """The work ended before its child was started."""


class TookTooLong(RuntimeError):
    """A child was ended at its time limit."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A child that has ended; ``output`` and ``errors`` are its printed text, unless it went to a file."""

    status: int
    output: str
    errors: str


class _Children:
    """The running children of some threads."""

    def __init__(self) -> None:
        self._lock, self._stopped = threading.Lock(), False
        self._running: set[subprocess.Popen[str]] = set()

    def start(
        self,
        command: Sequence[str],
        cwd: Path | str | None,
        environment: Mapping[str, str],
        output: int | IO[bytes],
        errors: int,
    ) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise Stopped("the work that this command belongs to has ended")
            process = subprocess.Popen(
                command,
                start_new_session=True,  # a group of its own: Ctrl-C reaches this process alone, which ends the group
                cwd=cwd,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=errors,
                text=True,
                encoding="utf-8",
                errors="replace",
            )
            self._running.add(process)
            return process

    def ended(self, process: subprocess.Popen[str]) -> None:
        with self._lock:
            self._running.discard(process)

    def stop(self) -> None:
        """End all children, and start no more."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        _end(running)


def _end(processes: Sequence[subprocess.Popen[str]]) -> None:
    """End children and their groups: first by SIGTERM, so that they can clean up, then by SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        until = time.monotonic() + GRACE
        while any(process.poll() is None for process in processes) and time.monotonic() < until:
            time.sleep(0.01)


_thread = threading.local()
_main_children = _Children()


def python(program: str, *arguments: str | Path) -> list[str | Path]:
    """The command that runs a program with this interpreter and its packages. ``.pth`` files are not executed: they
    would take longer than the start itself.
    """
    path = [folder for folder in sys.path if os.path.isabs(folder)]
    return [sys.executable, "-P", "-S", "-c", f"import sys; sys.path[:] = {path!r}\n{program}", *arguments]


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | str | None = None,
    input: str = "",
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
    log: IO[bytes] | None = None,
) -> Finished:
    """Run a command to its end, with ``input`` as its standard input. ``log`` is a file for everything that it prints.
    If it runs in a folder ``cwd``, its temporary files are there too, and are removed.

    Raises `TookTooLong` after ``timeout`` seconds, and OSError if the program is missing. Before any exception leaves
    this function, the child and its descendants are ended.
    """
    environment = {**(os.environ if environment is None else environment), **MARK}
    if cwd is None:
        return _waited(command, None, input, environment, timeout, log)
    # some tools pass the name to a shell, which interprets special characters
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
    children: _Children = getattr(_thread, "children", _main_children)
    output: int | IO[bytes] = log or subprocess.PIPE
    errors = subprocess.STDOUT if log else subprocess.PIPE
    with uninterrupted():  # or a signal could leave a running child
        prepare()
        process = children.start([str(word) for word in command], cwd, environment, output, errors)
        try:
            watch(process.pid)
            with interruptible():
                printed, complaints = process.communicate(input, timeout)
        except BaseException as error:
            _end([process])  # even if it has ended: its descendants may go on
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
    return Finished(status=process.returncode, output=printed or "", errors=complaints or "")


class Workers:
    """Threads that wait for the children of their work."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    def _begin(self, work: Callable[[Item], Result], item: Item) -> Future[Result]:
        return self._pool.submit(copy_context().run, work, item)

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results in the order of the items."""
        for future in [self._begin(work, item) for item in items]:
            yield future.result()

    def completed(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        """Items with their results, in the order in which they end."""
        begun = {self._begin(work, item): item for item in items}
        for future in as_completed(begun):
            yield begun[future], future.result()


@contextlib.contextmanager
def workers(count: int) -> Iterator[Workers]:
    """``count`` threads that share work, each waiting for its children. If the block ends with an exception, or a
    generator in it is closed, the children are ended, and pending work is dropped.
    """
    children = _Children()

    def enter() -> None:
        _thread.children = children

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
