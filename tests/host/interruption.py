"""A signal at every point of some code, one after the other; and processes that heed signals."""

from __future__ import annotations

import contextvars
import itertools
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType

import pytest

from mxcast.host import signals

__all__ = ["heed_signals", "interrupted_everywhere"]


def heed_signals() -> None:
    """Set up a child: under ``nohup``, or in the background of a shell, it would ignore the
    signals.
    """
    for number in (*signals.SIGNALS, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def interrupted_everywhere(body: Callable[[], None], *modules: ModuleType, opcodes: bool = True) -> Iterator[str]:
    """Run ``body`` again and again, each time with a signal that arrives one step later in the code of these modules,
    until there are no more steps. Yields the place after each run. A step is an opcode or a line.
    """
    files = {module.__file__ for module in modules}
    for wanted in itertools.count(1):
        place, seen = None, 0

        def step(frame: FrameType, event: str, _: object) -> Callable | None:
            nonlocal place, seen
            if frame.f_code.co_filename not in files:
                return None
            frame.f_trace_opcodes = opcodes
            if event == ("opcode" if opcodes else "line"):
                seen += 1
                if seen == wanted:
                    place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                    sys.settrace(None)
                    signals._arrive(signal.SIGTERM, None)
            return step

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(
                signals,
                "_State",
                type("_State", (signals._State,), {"depth": 0, "number": None, "since": 0.0, "waits": False}),
            )
            before = sys.gettrace()
            sys.settrace(step)
            try:
                contextvars.copy_context().run(body)  # its settings stay in the copy
            except signals.Interrupted:
                pass
            finally:
                sys.settrace(before)
        if place is None:
            return
        yield place
