"""slang, the wheel pyslang."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeAlias

from ...host.errors import ToolMissing
from ...host.signals import uninterrupted

Node: TypeAlias = Any
"""A symbol, statement, expression or piece of syntax of pyslang, whose stubs do not say which has what."""

ADVICE = "pip install '.[proof]' in a checkout of mxcast"


def slang_version() -> str:
    """Version of the wheel. Raises `ToolMissing` without it."""
    try:
        return version("pyslang")
    except PackageNotFoundError:
        raise ToolMissing(f"slang is missing: {ADVICE}") from None


def load_slang() -> None:
    """Import it, so that a later import finds it loaded. Raises `ToolMissing` without it."""
    slang_version()
    with uninterrupted():  # a signal's exception would go through the start of a module of C++, which aborts
        import pyslang  # noqa: F401
