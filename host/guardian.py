"""The process that ends our children where nothing in this one could: after SIGKILL, SIGQUIT or a crash.

It reads their numbers from a pipe, whose other end is ours alone. The system closes the pipe when this process ends,
however it ends, and then the guardian kills the children that are left. (PR_SET_PDEATHSIG would reach a child, but
nothing that the child has started.)
"""

from __future__ import annotations

import atexit
import contextlib
import subprocess
import sys
import threading

__all__ = ["forget", "watch"]

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
    """The process, which begins with the first child."""

    def __init__(self) -> None:
        self._lock, self._process = threading.Lock(), None

    def tell(self, word: str) -> None:
        with self._lock:
            if self._process is None:
                # a session of its own, so that no signal to our group ends it before us
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", PROGRAM],
                    start_new_session=True,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                )
                atexit.register(self._dismiss)
            with contextlib.suppress(
                BrokenPipeError
            ):  # somebody has ended it: children still end with all but a killed process
                self._process.stdin.write(word.encode())

    def _dismiss(self) -> None:
        self._process.stdin.close()
        self._process.wait()


_guardian = _Guardian()


def watch(group: int) -> None:
    """Have this group of processes killed when this process ends."""
    _guardian.tell(f"+{group}\n")


def forget(group: int) -> None:
    """Leave a group alone, which has ended."""
    _guardian.tell(f"-{group}\n")
