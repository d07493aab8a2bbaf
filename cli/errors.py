"""Exit codes, and the one sentence for each error that a user can mend."""

from __future__ import annotations

import errno
import signal
from enum import IntEnum
from typing import Any, TextIO
from warnings import showwarning as default_showwarning

from ..host.errors import ToolError, ToolMissing
from ..host.files import Waiting
from ..host.signals import arrived
from .streams import complain
from .text import shown

WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
"""Errors without a file that come from standard output."""


class ExitCode(IntEnum):
    """What the command tells the shell; a check that could not compare anything has failed."""

    PASSED = 0
    FAILED = 1
    USAGE = 2
    """Also what is wrong with the files that were given."""
    TOOL = 3
    """A tool is missing or too old."""
    INCONCLUSIVE = 4
    """No answer: a time-out, a design that cannot be proved, a tool that failed."""
    HANGUP = 129
    INTERRUPTED = 130
    PIPE = 141
    """Who read the output has closed it, as ``head`` does: what a shell says of a program that SIGPIPE ended."""
    TERMINATED = 143


def explained(error: Any) -> tuple[ExitCode, str] | None:
    """Exit code and sentence for an error; None for one that is not the user's."""
    if isinstance(error, KeyboardInterrupt):
        return interrupted(str(error))
    if arrived() is not None:  # what a signal interrupts may fail in ways of its own
        return interrupted()
    if isinstance(error, MemoryError):
        return ExitCode.USAGE, "there is not enough memory for this"
    if isinstance(error, RecursionError):
        return ExitCode.USAGE, "a name or a text of the input is nested too deeply"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return ExitCode.USAGE, "the system starts no more threads: try --jobs 1"
    if isinstance(error, BrokenPipeError):
        return None  # that to a tool: `streams.reader_is_gone` has seen to that of stdout
    if isinstance(error, OSError) and error.strerror:
        return ExitCode.USAGE, _sentence(f"{_place(error)}{error.strerror}")
    if isinstance(error, (ValueError, TypeError, OSError)):
        return ExitCode.USAGE, _sentence(str(error) or type(error).__name__)
    if isinstance(error, ToolMissing):
        return ExitCode.TOOL, _sentence(str(error))
    if isinstance(error, ToolError):
        return ExitCode.INCONCLUSIVE, _sentence(str(error))
    return None


def _place(error: OSError) -> str:
    """The file of an error of the system."""
    if name := error.filename2 or error.filename:  # of two files the second is the one that is written
        return f"{name}: "
    return "output: " if error.errno in WRITING else ""


def interrupted(sentence: str = "") -> tuple[ExitCode, str]:
    """Exit code and sentence for a signal; a verb may have a ``sentence`` of its own."""
    return ExitCode(128 + (arrived() or signal.SIGINT)), sentence or "interrupted"


def warned(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning as `warnings.showwarning` does, those of ours as one sentence."""
    if issubclass(category, (FutureWarning, Waiting)):
        complain(f"mxcast: {_sentence(str(message))}")
    elif arrived() is None:  # after a signal they are of what was left half made
        default_showwarning(message, category, filename, lineno, file, line)


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return shown(text if text.endswith("...") else text.rstrip("."))  # three are of a value that was cut
