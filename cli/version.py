"""`mxcast --version`, which needs nothing else of the command."""

from __future__ import annotations


def print_version() -> None:
    from ..host.version import VERSION

    print(f"mxcast {VERSION}")
