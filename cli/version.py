"""`mxcast --version`, which needs nothing else of the command."""

from __future__ import annotations


def print_version() -> None:
    from importlib.metadata import version

    print(f"mxcast {version('mxcast')}")
