"""Standard streams that are closed, full, without a reader, or lack characters."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import select
import sys
from collections.abc import Iterator


def open_streams() -> None:
    """Open closed standard streams on /dev/null, and print missing characters as escapes."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)  # takes the lowest free number before another file does
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            stream = open(number, mode, closefd=False)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def stdout_as_stderr() -> Iterator[None]:
    """Send to stderr what foreign code, C included, prints on stdout."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(stdout, 1)
        os.close(stdout)


def complain(text: str) -> None:
    """Print a line on stderr. An error of stderr does not change the exit code."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        abandon("stderr")


def reader_is_gone() -> bool:
    """Has the reader of stdout closed it? If so, later output is discarded.

    The broken pipe may also lead to a tool, which is a defect and must be reported.
    """
    assert sys.__stdout__ is not None  # `open_streams` opens it
    stdout = sys.__stdout__.fileno()  # typer replaces sys.stdout
    poll = select.poll()
    poll.register(stdout, 0)
    gone = any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    if gone or os.path.samestat(os.fstat(stdout), os.stat(os.devnull)):  # rich redirects it there
        abandon("stdout")
        return True
    return False


def abandon(name: str) -> None:
    """Discard later output of this stream, so that the interpreter does not try to write it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, getattr(sys, f"__{name}__").fileno())
    os.close(nowhere)
