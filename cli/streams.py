"""The standard streams: closed, full, without a reader, or of an encoding that lacks characters."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import select
import sys
from collections.abc import Iterator


def open_streams() -> None:
    """Standard streams that the caller has closed lead nowhere; characters that an encoding lacks are printed as
    escapes.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            nowhere = os.open(
                os.devnull, os.O_RDWR
            )  # has the lowest number that is free, so that no other file gets this one
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
    """Send to stderr what somebody else's code prints on stdout, C included: it is no result of ours."""
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
    """Print a line on stderr. Where that cannot be written nobody reads it, and the exit code stays what it is."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        abandon("stderr")


def reader_is_gone() -> bool:
    """Has the reader of stdout closed it? Then what is still to be printed goes nowhere.

    A broken pipe may also be that to a tool, which is a defect and no reason for silence.
    """
    assert sys.__stdout__ is not None  # `open_streams` has seen to that
    stdout = sys.__stdout__.fileno()  # not sys.stdout, which typer wraps so that it is silent
    poll = select.poll()
    poll.register(stdout, 0)
    gone = any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    if gone or os.path.samestat(os.fstat(stdout), os.stat(os.devnull)):  # where rich sends it of its own
        abandon("stdout")
        return True
    return False


def abandon(name: str) -> None:
    """Send what is still to be printed on this stream nowhere, so that the interpreter does not try once more and
    complain.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, getattr(sys, f"__{name}__").fileno())
    os.close(nowhere)
