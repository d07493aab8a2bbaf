"""Exit codes, and the one sentence for each error that a user can mend."""

from __future__ import annotations

from enum import IntEnum

import typer

__all__ = ["ExitCode", "explained"]

UsageError = typer.BadParameter.__base__  # typer brings its own, or that of click, and exports only this child


class ExitCode(IntEnum):
    """What the command tells the shell; a check that could not compare anything has failed."""

    PASSED = 0
    FAILED = 1
    USAGE = 2
    TOOL = 3
    INTERRUPTED = 130


def explained(error: BaseException) -> tuple[ExitCode, str] | None:
    """Exit code and sentence for an error; None for one that is not the user's."""
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return ExitCode.INTERRUPTED, "interrupted"
    if isinstance(error, UsageError):
        return ExitCode.USAGE, _sentence(error.format_message())
    if isinstance(error, OSError) and error.strerror:
        return ExitCode.USAGE, _sentence(f"{error.filename or 'output'}: {error.strerror}")
    if isinstance(error, (ValueError, TypeError, OSError)):
        return ExitCode.USAGE, _sentence(str(error) or type(error).__name__)
    if isinstance(error, RuntimeError):
        from ..hdl.host import ToolError  # here, because it brings all of hdl along

        if isinstance(error, ToolError):
            return ExitCode.TOOL, _sentence(str(error))
    return None


def _sentence(text: str) -> str:
    return " ".join(text.split()).rstrip(".")
