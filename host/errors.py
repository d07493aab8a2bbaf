"""Errors of tools, and errors of designs that tools cannot read."""

from __future__ import annotations


class ToolError(RuntimeError):
    """A tool has failed. The message is one sentence; ``log`` is the output of the tool."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class ToolMissing(ToolError):
    """A tool is not installed, or too old. The message ends with the command that installs it."""


class DesignError(ValueError):
    """A tool cannot read the design of the user. The message is one sentence; ``log`` is the output of the tool."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log
