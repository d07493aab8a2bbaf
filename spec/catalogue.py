"""Catalogues: documented rule names, and helpful errors for unknown ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Self, TypeVar

LONGEST = 60
"""Longest excerpt of a value in a message."""
SHORTEST = 3
"""Shortest prefix that suggests a name."""
ALIKE = 0.75
"""Least share of common letters of two similar prefixes: two neighbours of four letters may be exchanged."""


class Rule(StrEnum):
    """A named choice. The value of a member is its name, its docstring is its definition with its source."""

    def __new__(cls, value: str, text: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.__doc__ = text
        return member

    @classmethod
    def formerly(cls) -> Mapping[str, str]:
        """Current names of members by their former names."""
        return {}

    @classmethod
    def named(cls, kind: str, name: object) -> Self:
        """The member of this name (`known_name`). A former name gives a warning. ``kind`` names the rule in errors."""
        if type(name) is cls:
            return name
        if isinstance(name, str) and name in (former := cls.formerly()):
            warnings.warn(f"{kind} {name} is called {former[name]} now", FutureWarning, stacklevel=2)
            name = former[name]
        spelt = known_name(kind, name, cls)
        return next(member for member in cls if member == spelt)


def cut(text: str, longest: int = LONGEST) -> str:
    """A text, or its beginning if it is too long."""
    return text if len(text) <= longest else f"{text[:longest]}..."


def excerpt(value: object) -> str:
    """A value for a message: its beginning if it is long.

    >>> excerpt("e4m4"), excerpt("9" * 5000)
    ("'e4m4'", "'999999999999999999999999999999999999999999999999999999999999...'")
    """
    if type(value) is str:
        return repr(cut(value))
    try:
        return cut(repr(value))
    except ValueError:  # an integer with more digits than Python writes
        return f"a number of {value.bit_length()} bits" if isinstance(value, int) else "a value too long to repeat"


KINDS: dict[type, str] = {dict: "an object", list: "a list", str: "a string"}
"""Types of JSON values in words."""

Value = TypeVar("Value")


def entry(document: object, key: str, kind: type[Value]) -> Value:
    """The value of a key in a JSON document. Raises ValueError if it is missing or of another type.

    >>> entry({"name": 3}, "name", str)
    Traceback (most recent call last):
    ...
    ValueError: name must be a string, not 3
    """
    if not isinstance(document, dict):
        raise ValueError(f"it must be {KINDS[dict]} with keys, not {excerpt(document)}")
    if key not in document:
        raise ValueError(f"the key {key} is missing")
    value = document[key]
    if not isinstance(value, kind):
        raise ValueError(f"{key} must be {KINDS[kind]}, not {excerpt(value)}")
    return value


def constructed(kind: Callable[..., Value], fields: Mapping[str, object]) -> Value:
    """A value from named fields of a file or a user. The constructor ``kind`` checks them."""
    return kind(**fields)


def known_name(kind: str, name: object, known: Iterable[str]) -> str:
    """The name in a catalogue, without regard to case. Raises ValueError for an unknown name.

    >>> known_name("format", "E4M3", ["e4m3", "int8"])
    'e4m3'
    """
    known = [str(k) for k in known]
    if isinstance(name, str) and (spelt := name if name in known else name.lower()) in known:
        return spelt
    raise ValueError(unknown_name(kind, name, known))


def unknown_name(kind: str, name: object, known: Iterable[str], *, all_known: bool = False) -> str:
    """A message for an unknown name that suggests names with this prefix or a similar spelling; with ``all_known`` it
    also lists all names.

    >>> unknown_name("format", "e4m4", ["e4m3", "int8"])
    "unknown format 'e4m4': did you mean 'e4m3'?"
    >>> unknown_name("format", "mxfp8", ["mxfp8_e5m2", "mxfp8_e4m3"])
    "unknown format 'mxfp8': did you mean 'mxfp8_e5m2' or 'mxfp8_e4m3'?"
    >>> unknown_name("format", "mxpf4", ["mxfp8_e5m2", "mxfp4_e2m1"])
    "unknown format 'mxpf4': did you mean 'mxfp4_e2m1'?"
    >>> unknown_name("key", "gird", ["name", "grid"], all_known=True)
    "unknown key 'gird': did you mean 'grid'? Known are name, grid"
    """
    known = [str(k) for k in known]
    given = (name if isinstance(name, str) else excerpt(name)).lower()
    longer = [k for k in known if len(given) >= SHORTEST and k.startswith(given)]
    close = longer or get_close_matches(given, known, n=1) or _alike_at_first(given, known)
    hint, every = f"did you mean {' or '.join(map(repr, close))}?", f"nown are {', '.join(known)}"
    if not close:
        hint = f"k{every}"
    elif all_known:
        hint += f" K{every}"
    return f"unknown {kind} {excerpt(name)}: {hint}"


def _alike_at_first(given: str, known: Iterable[str]) -> list[str]:
    """Longer names with a prefix that is spelt almost like this name."""
    longer = [k for k in known if len(k) > len(given) >= SHORTEST]
    close = get_close_matches(given, {k[: len(given)] for k in longer}, n=1, cutoff=ALIKE)
    return [k for k in longer if k.startswith(tuple(close))]
