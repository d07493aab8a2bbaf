"""What every catalogue of this package is made of: documented rule names, and a helpful error for an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum
from typing import Self

__all__ = ["Rule", "unknown_name"]


class Rule(StrEnum):
    """A named choice; each member is its name, and its docstring is its definition with its source."""

    def __new__(cls, value: str, text: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.__doc__ = text
        return member

    @classmethod
    def named(cls, kind: str, name: str) -> Self:
        """The member of this name; ``kind`` says in the error what was asked for."""
        try:
            return cls(name)
        except ValueError:
            raise ValueError(unknown_name(kind, name, list(cls))) from None


def unknown_name(kind: str, name: object, known: Iterable[str]) -> str:
    """One sentence for a name that is in no catalogue.

    >>> unknown_name("format", "e4m4", ["e4m3", "int8"])
    "unknown format 'e4m4': did you mean 'e4m3'?"
    """
    known = [str(k) for k in known]
    close = get_close_matches(str(name).lower(), known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
    return f"unknown {kind} {name!r}: {hint}"
