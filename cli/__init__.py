"""The `mxcast` command. Each verb calls one function of the other packages."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing takes longer to import than everything before `install`
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, or with the arguments of the process; returns the exit code.

    For a process, signals are handled before anything else is imported. Standard streams may be closed, or may lack
    characters.
    """
    if arguments is not None:
        from .app import command

        return command(arguments)
    import gc

    gc.set_threshold(50_000)  # imports make many objects and no garbage
    try:
        from ..host.signals import install

        install()
        from .output.streams import open_streams

        open_streams()
        from .app import command

        return command(sys.argv[1:])
    except KeyboardInterrupt as stopped:
        from signal import SIGINT

        from .output.streams import complain

        complain("mxcast: interrupted")
        return 128 + getattr(stopped, "number", SIGINT)  # a plain KeyboardInterrupt before `install`
    finally:
        from ..host.signals import uninstall

        uninstall()
        if "pyslang" not in sys.modules:  # it reports objects that are left
            gc.freeze()  # a search for garbage at the end of the process takes 20 ms
