"""A guardian process that ends the children of this process when it cannot: after SIGKILL, SIGQUIT or a crash.

It reads the numbers of their groups from a pipe, whose other end only this process has. The system closes the pipe when
this process ends, in whatever way, and then the guardian kills the groups that are left. (PR_SET_PDEATHSIG would reach
a child, but nothing that the child has started.)

A child may be begun whose number was never written. Therefore every child has a mark of this process in its
environment, and the guardian looks through ``/proc``, if it exists, for processes with the mark.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import subprocess
import sys
import threading
from typing import IO

MARK = {"MXCAST_CHILD_OF": f"{os.getpid()}-{secrets.token_hex(8)}"}
"""The variable by which the guardian knows the children of this process."""

PROGRAM = r"""
import contextlib, glob, os, signal, sys, time
watched = set()
mark = os.fsencode(sys.argv[1])
def marked():
    for name in glob.glob("/proc/[0-9]*/environ"):
        with contextlib.suppress(OSError), open(name, "rb") as environment:
            if mark in environment.read().split(b"\0"):
                yield int(name.split("/")[2])
for line in sys.stdin:
    if line == "end\n":
        sys.exit()
    (watched.add if line[0] == "+" else watched.discard)(int(line[1:]))
for number in watched:
    with contextlib.suppress(OSError):
        os.killpg(number, signal.SIGKILL)
for wait in (0, 0.05, 0.2, 0.5):  # a child has its environment only a moment after it was begun
    time.sleep(wait)
    for number in marked():
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)
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
            [sys.executable, "-I", "-S", "-c", PROGRAM, *(f"{name}={value}" for name, value in MARK.items())],
            start_new_session=True,
            env={name: value for name, value in os.environ.items() if name not in MARK},  # or another would end it
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        pipe = process.stdin
        assert pipe is not None

        def dismiss() -> None:
            with contextlib.suppress(BrokenPipeError):
                pipe.write(b"end\n")
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
