"""SIGINT, SIGTERM and SIGHUP as an exception in the main thread, so that whatever has to be cleared up is."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator

__all__ = ["Interrupted", "SIGNALS", "arrived", "install", "uninstall", "uninterrupted"]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

PATIENCE = 15.0
"""Seconds for clearing up, in which further signals change nothing; after that they end the process at once."""


class Interrupted(KeyboardInterrupt):
    """A signal has arrived; the exit code that tells a shell of it is 128 + ``number``."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class _State:
    depth = 0
    """How many blocks of `uninterrupted` there are around the main thread."""
    number: int | None = None
    """The first signal that arrived."""
    since = 0.0
    waits = False
    """Whether its exception is still to be raised."""


def install() -> None:
    """Have the signals raise `Interrupted`, but for those that the process was told to ignore (``nohup``)."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _arrive)


def uninstall() -> None:
    """Leave the signals to the system again: nothing is left to be cleared up."""
    for number in SIGNALS:
        if signal.getsignal(number) is _arrive:
            signal.signal(number, signal.SIG_DFL)


def arrived() -> int | None:
    """The number of the first signal that has arrived, if one has."""
    return _State.number


def _arrive(number: int, _: object) -> None:
    if _State.number is not None:
        if time.monotonic() - _State.since > PATIENCE:
            os._exit(128 + number)
        return
    _State.number, _State.since = number, time.monotonic()
    if _State.depth:
        _State.waits = True
    else:
        raise Interrupted(number)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """A block that ends before a signal raises its exception. It must be short; in other threads than the main one, which no signal
    interrupts, it is a block like any other."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _State.depth += 1
    try:
        yield
    finally:
        _State.depth -= 1
        if _State.waits and not _State.depth:
            _State.waits = False
            raise Interrupted(_State.number)
