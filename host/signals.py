"""SIGINT, SIGTERM and SIGHUP as an exception in the main thread, so that whatever has to be cleared up is."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

__all__ = ["SIGNALS", "Interrupted", "arrived", "install", "interruptible", "uninstall", "uninterrupted"]

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
    """How many blocks of `uninterrupted` there are around the main thread, less those of `interruptible`."""
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
    sys.unraisablehook = _dropped


def uninstall() -> None:
    """Leave the signals to the system again: nothing is left to be cleared up."""
    for number in SIGNALS:
        if signal.getsignal(number) is _arrive:
            signal.signal(number, signal.SIG_DFL)
    sys.unraisablehook = sys.__unraisablehook__


def arrived() -> int | None:
    """The number of the first signal that has arrived, if one has."""
    return _State.number


def _arrive(number: int, _: object) -> None:
    if _State.number is not None:
        if time.monotonic() - _State.since > PATIENCE:
            os._exit(128 + number)
        return
    _State.number, _State.since = number, time.monotonic()
    if _State.depth > 0:
        _State.waits = True
    else:
        raise Interrupted(number)


def _dropped(dropped: sys.UnraisableHookArgs) -> None:
    """Python drops what is raised in ``__del__`` and the like, and calls this. A signal has to come again, in a moment
    and elsewhere.
    """
    if not isinstance(dropped.exc_value, Interrupted):
        sys.__unraisablehook__(dropped)
        return
    _State.number = None
    threading.Timer(0.01, os.kill, (os.getpid(), dropped.exc_value.number)).start()


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """A block in which a signal waits: it raises its exception at the end, or in a block of `interruptible` inside.

    So what has to be cleared up is, if it begins here and only what may take long is interruptible. In other threads
    than the main one, which no signal interrupts, this is a block like any other.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _State.depth += 1
    try:
        yield
    finally:
        _State.depth -= 1
        _raise_if_one_waits()


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """A block within `uninterrupted` in which signals arrive as they do outside of it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _State.depth -= 1
    try:
        _raise_if_one_waits()
        yield
    finally:
        _State.depth += 1


def _raise_if_one_waits() -> None:
    if _State.waits and _State.depth <= 0:
        _State.waits = False
        raise Interrupted(_State.number)
