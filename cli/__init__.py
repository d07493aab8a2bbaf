"""The `mxcast` command. Every verb is one call into the rooms beside this one."""

from .app import main

__all__ = ["main"]
