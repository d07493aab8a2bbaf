"""Exit codes, and one sentence for each error that a user can mend."""

from __future__ import annotations

import errno
import signal
import sys
from enum import IntEnum
from typing import TextIO
from warnings import formatwarning

from ..host.errors import ToolError, ToolMissing
from ..host.files import Waiting
from ..host.signals import arrived
from .output.streams import complain
from .output.text import shown

WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
"""Errors of standard output, which name no file."""


class ExitCode(IntEnum):
    """Exit codes of the command. A check that could not compare anything has failed."""

    PASSED = 0
    FAILED = 1
    USAGE = 2
    """A wrong option, configuration or input file."""
    TOOL = 3
    """A tool is missing or too old."""
    INCONCLUSIVE = 4
    """No answer: a time-out, a design that cannot be proved, a tool that failed."""
    HANGUP = 129
    INTERRUPTED = 130
    PIPE = 141
    """The reader of the output has closed it, as ``head`` does: the exit code of a program that SIGPIPE ended."""
    TERMINATED = 143


def explained(error: BaseException) -> tuple[ExitCode, str] | None:
    """Exit code and sentence for an error that the user can mend; None for any other error."""
    if isinstance(error, KeyboardInterrupt):
        return interrupted(str(error))
    if arrived() is not None:  # code that a signal interrupts may fail in any way
        return interrupted()
    if isinstance(error, MemoryError):
        return ExitCode.USAGE, "there is not enough memory for this"
    if isinstance(error, RecursionError):
        return ExitCode.USAGE, "a name or a text of the input is nested too deeply"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return ExitCode.USAGE, "the system starts no more threads: try --jobs 1"
    if isinstance(error, BrokenPipeError):
        return None  # the pipe to a tool; `streams.reader_is_gone` handles stdout
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
    if name := error.filename2 or error.filename:  # the second of two files is the one that is written
        return f"{name}: "
    return "output: " if error.errno in WRITING else ""


def interrupted(sentence: str = "") -> tuple[ExitCode, str]:
    """Exit code and sentence for a signal; ``sentence`` replaces the usual one."""
    return ExitCode(128 + (arrived() or signal.SIGINT)), sentence or "interrupted"


def warned(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning of this package as one sentence, and any other as Python does."""
    if issubclass(category, (FutureWarning, Waiting)):
        complain(f"mxcast: {_sentence(str(message))}")
    elif arrived() is None:  # after a signal, warnings concern unfinished objects
        print(formatwarning(message, category, filename, lineno, line), end="", file=file or sys.stderr)


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return shown(text if text.endswith("...") else text.rstrip("."))  # three points mark a value that was cut
