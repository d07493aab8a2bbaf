"""The `mxcast` command. Every verb is one call into the packages beside this one."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # that of typing, which takes longer to import than all that comes before `install`
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, those of the process by default; returns the exit code.

    As the command of a process it takes care of signals, before anything else is imported, and of standard streams that
    are closed or cannot show every character.
    """
    if arguments is not None:
        from .app import command

        return command(arguments)
    try:
        from ..host.signals import install

        install()
        from .streams import open_streams

        open_streams()
        from .app import command

        return command(sys.argv[1:])
    except KeyboardInterrupt as stopped:
        from signal import SIGINT

        from .streams import complain

        complain("mxcast: interrupted")
        return 128 + getattr(stopped, "number", SIGINT)  # it has no number before `install`
    finally:
        from ..host.signals import uninstall

        uninstall()
