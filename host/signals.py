"""SIGINT, SIGTERM and SIGHUP as an exception in the main thread, so that code can clean up."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

PATIENCE = 15.0
"""Seconds to clean up. Further signals are ignored in this time; later ones end the process at once."""


class Interrupted(KeyboardInterrupt):
    """A signal has arrived; its exit code is 128 + ``number``."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class _State:
    depth = 0
    """Number of `uninterrupted` blocks around the main thread, less the number of `interruptible` blocks."""
    number: int | None = None
    """The first signal that arrived."""
    since = 0.0
    waits = False
    """Is its exception not raised yet?"""
    dropping = False
    """Is `_dropped` running, which would drop an exception too?"""


def install() -> None:
    """Make the signals raise `Interrupted`, except those that the process was started to ignore (``nohup``)."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _arrive)
    sys.unraisablehook = _dropped


def uninstall() -> None:
    """Give the signals back to the system, when nothing is left to clear up and the process ends.

    If a signal has arrived, the process ends because of it. Later signals still change nothing, and warnings about
    objects that were left half made are off.
    """
    if arrived() is not None:
        warnings.simplefilter("ignore")
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # Python restores any other handler before it ends
        return
    for number in SIGNALS:
        if signal.getsignal(number) is _arrive:
            signal.signal(number, signal.SIG_DFL)
    sys.unraisablehook = sys.__unraisablehook__


def arrived() -> int | None:
    """The number of the first signal that has arrived, if one has."""
    return _State.number


def _arrive(number: int, _: object) -> None:
    if _State.dropping:
        _send_again(number)
        return
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
    """Send a signal again if Python dropped its exception, as in ``__del__``."""
    if not isinstance(dropped.exc_value, Interrupted):
        sys.__unraisablehook__(dropped)
        return
    _State.dropping = True
    try:
        _State.number = None
        _send_again(dropped.exc_value.number)
    finally:
        _State.dropping = False


def _send_again(number: int) -> None:
    threading.Timer(0.01, os.kill, (os.getpid(), number)).start()


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """A block that defers signals: the exception is raised at its end, or in an `interruptible` block inside.

    Code that must clean up starts with this block and makes only its long steps interruptible. The block has no effect
    in other threads than the main thread, which no signal interrupts.
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
    """A block within `uninterrupted` in which signals raise their exception at once."""
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
    if _State.waits and _State.number is not None and _State.depth <= 0:
        _State.waits = False
        raise Interrupted(_State.number)
