"""A guardian process that ends the children of this process when it cannot: after SIGKILL, SIGQUIT or a crash.

It reads the numbers of their groups from a pipe, whose other end only this process has. The system closes the pipe when
this process ends, in whatever way, and then the guardian kills the groups that are left. (PR_SET_PDEATHSIG would reach
a child, but nothing that the child has started.)
"""

from __future__ import annotations

import atexit
import contextlib
import subprocess
import sys
import threading
from typing import IO

__all__ = ["forget", "prepare", "watch"]

PROGRAM = """
import contextlib, os, signal, sys
watched = set()
for line in sys.stdin:
    (watched.add if line[0] == "+" else watched.discard)(int(line[1:]))
for number in watched:
    with contextlib.suppress(OSError):
        os.killpg(number, signal.SIGKILL)
"""


class _Guardian:
    """The guardian process, which is started with the first child."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipe: IO[bytes] | None = None

    def prepare(self) -> IO[bytes]:
        with self._lock:
            if self._pipe is None:
                self._pipe = self._started()
            return self._pipe

    def send(self, line: str) -> None:
        pipe = self.prepare()
        with self._lock:
            with contextlib.suppress(BrokenPipeError):  # the guardian was killed: this process still ends its children
                pipe.write(line.encode())

    def _started(self) -> IO[bytes]:
        """Start the process, and return the pipe to it."""
        # a session of its own, so that a signal to our group does not end it before us
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", PROGRAM],
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        pipe = process.stdin
        assert pipe is not None

        def dismiss() -> None:
            pipe.close()
            process.wait()

        atexit.register(dismiss)
        return pipe


_guardian = _Guardian()


def prepare() -> None:
    """Start the guardian, before the first child: so the child is alone only until its number is written."""
    _guardian.prepare()


def watch(group: int) -> None:
    """Kill this group of processes when this process ends."""
    _guardian.send(f"+{group}\n")


def forget(group: int) -> None:
    """Forget a group that has ended."""
    _guardian.send(f"-{group}\n")
