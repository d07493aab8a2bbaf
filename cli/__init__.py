"""The `mxcast` command. Every verb is one call into the rooms beside this one."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, those of the process by default; returns the exit code.

    As the command of a process it takes care of signals, before anything else is imported, and of standard streams that
    are closed or cannot show every character.
    """
    from ..host import signals

    if arguments is not None:
        from .app import command

        return command(arguments)
    try:
        signals.install()
        from .streams import open_streams

        open_streams()
        from .app import command

        return command(sys.argv[1:])
    except signals.Interrupted as stopped:
        from .streams import complain

        complain("mxcast: interrupted")
        return 128 + stopped.number
    finally:
        signals.uninstall()
