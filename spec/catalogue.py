"""What every catalogue of this package is made of: documented rule names, and a helpful error for an unknown one."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Self, TypeVar

LONGEST = 60
"""Characters of a value that a sentence repeats."""
SHORTEST = 3
"""Characters of a beginning that tells which name was meant."""
ALIKE = 0.75
"""Share of letters that two beginnings have in common: two neighbours of four letters may be exchanged."""


class Rule(StrEnum):
    """A named choice; each member is its name, and its docstring is its definition with its source."""

    def __new__(cls, value: str, text: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.__doc__ = text
        return member

    @classmethod
    def formerly(cls) -> Mapping[str, str]:
        """Names that members had before, and those that they have now."""
        return {}

    @classmethod
    def named(cls, kind: str, name: str) -> Self:
        """The member of this name (`known_name`); ``kind`` says in the error what was asked for. A name of before is
        read, with a warning that gives the new one."""
        if type(name) is cls:
            return name
        if isinstance(name, str) and name in (former := cls.formerly()):
            warnings.warn(f"{kind} {name} is called {former[name]} now", FutureWarning, stacklevel=2)
            name = former[name]
        spelt = known_name(kind, name, cls)
        return next(member for member in cls if member == spelt)


def cut(text: str, longest: int = LONGEST) -> str:
    """A text, or its beginning where it is long."""
    return text if len(text) <= longest else f"{text[:longest]}..."


def excerpt(value: object) -> str:
    """A value that was given, as a sentence repeats it: its beginning where it is long.

    >>> excerpt("e4m4"), excerpt("9" * 5000)
    ("'e4m4'", "'999999999999999999999999999999999999999999999999999999999999...'")
    """
    if type(value) is str:
        return repr(cut(value))
    try:
        return cut(repr(value))
    except ValueError:  # a whole number of more digits than Python writes
        return f"a number of {value.bit_length()} bits" if isinstance(value, int) else "a value too long to repeat"


KINDS: dict[type, str] = {dict: "an object", list: "a list", str: "a string"}
"""Words for values of JSON, by their type in Python."""

Value = TypeVar("Value")


def entry(document: object, key: str, kind: type[Value]) -> Value:
    """The value of a key in a document of JSON. Raises ValueError, one sentence, if it is missing or of another kind.

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


def known_name(kind: str, name: object, known: Iterable[str]) -> str:
    """The name in a catalogue that this one is, in capitals or not. Raises ValueError where there is none.

    >>> known_name("format", "E4M3", ["e4m3", "int8"])
    'e4m3'
    """
    known = [str(k) for k in known]
    if isinstance(name, str) and (spelt := name if name in known else name.lower()) in known:
        return spelt
    raise ValueError(unknown_name(kind, name, known))


def unknown_name(kind: str, name: object, known: Iterable[str], *, all_known: bool = False) -> str:
    """One sentence for a name that is in no catalogue, with those that begin with it or are spelt alike; with
    ``all_known`` all others too.

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
    """Longer names whose beginnings are spelt almost like this one."""
    longer = [k for k in known if len(k) > len(given)]
    close = get_close_matches(given, {k[: len(given)] for k in longer}, n=1, cutoff=ALIKE)
    return [k for k in longer if k.startswith(tuple(close))]
