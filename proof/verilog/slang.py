"""The elaborator slang, from the wheel pyslang."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeAlias

from ...host.errors import ToolMissing
from ...host.signals import uninterrupted

Node: TypeAlias = Any
"""A symbol, statement, expression or syntax node of pyslang; its stubs do not list the attributes of each."""

ADVICE = "pip install '.[proof]' in a checkout of mxcast"


def slang_version() -> str:
    """Version of the wheel. Raises `ToolMissing` if it is missing."""
    try:
        return version("pyslang")
    except PackageNotFoundError:
        raise ToolMissing(f"slang is missing: {ADVICE}") from None


def load_slang() -> None:
    """Import pyslang before its first use. Raises `ToolMissing` if it is missing."""
    slang_version()
    with uninterrupted():  # an exception from a signal handler would abort the start of a C++ module
        import pyslang  # noqa: F401
