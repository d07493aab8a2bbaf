"""Runs the command, and answers every error that a user can mend with one sentence and an exit code."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from ..host.signals import arrived
from .output.streams import abandon, complain, reader_is_gone
from .version import print_version


def command(arguments: Sequence[str]) -> int:
    """Run the command with these arguments; returns the exit code.

    An error that the user can mend, and a warning of this package, is one sentence on stderr; with --json an error is a
    document on stdout too. Any other error is a defect of this package and keeps its traceback.
    """
    with warnings.catch_warnings():
        warnings.showwarning = _warned
        return _answered(arguments)


def _run(arguments: Sequence[str]) -> int:
    if arguments and arguments[0] == "--version":  # without typer, which takes longer to import than Python to start
        print_version()
        return 0
    from .group import run

    return run(arguments)


def _answered(arguments: Sequence[str]) -> int:
    try:
        code = _run(arguments)
        sys.stdout.flush()  # a full disk shows here
        if arrived() is None:
            return code
        from .errors import interrupted

        code, sentence = interrupted()  # a signal while typer read the options, for which it returns a code of its own
    except (Exception, KeyboardInterrupt, SystemExit) as raised:
        from .errors import ExitCode, explained

        error: BaseException = raised
        if isinstance(error, SystemExit):  # typer raises it for any broken pipe
            error = error.__context__ or error
        if isinstance(error, BrokenPipeError) and reader_is_gone():
            return int(ExitCode.PIPE)
        known = explained(error)
        if known is None:
            raise error  # noqa: B904  # it is no other error
        code, sentence = known
    try:
        if "--json" in itertools.takewhile("--".__ne__, arguments):
            import json

            print(json.dumps({"error": sentence, "exit_code": int(code)}, indent=2))
        sys.stdout.flush()
    except OSError:  # the disk is still full
        abandon("stdout")
    complain(f"mxcast: {sentence}")
    return int(code)


def _warned(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    from .errors import warned

    warned(message, category, filename, lineno, file, line)
