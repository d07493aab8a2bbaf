"""The `mxcast` command. Every verb is one call into the rooms beside this one."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, those of the process by default; returns the exit code.

    As the command of a process it takes care of signals, before anything else is imported, and of standard streams that are closed or
    cannot show every character.
    """
    from ..host import signals

    if arguments is not None:
        from .app import command

        return command(arguments)
    try:
        signals.install()
        _open_streams()
        from .app import command

        return command(sys.argv[1:])
    except signals.Interrupted as stopped:
        print("mxcast: interrupted", file=sys.stderr)
        return 128 + stopped.number
    finally:
        signals.uninstall()


def _open_streams() -> None:
    """Standard streams that the caller has closed lead nowhere; characters that an encoding lacks are printed as escapes."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)  # has the lowest number that is free, so that no other file gets this one
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            stream = open(number, mode, closefd=False)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
