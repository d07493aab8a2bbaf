"""A profile: the rules of one public definition, with its source and date."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

Rules: TypeAlias = tuple[tuple[str, str], ...]
"""Fields and their values by name."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The rules of one public definition.

    It applies to every block format, unless ``by_element`` or ``by_destination`` lists the formats that it defines.
    """

    name: str
    rules: Rules
    source: str
    date: str
    library: str = ""
    """Name of the Python distribution that follows these rules, if any."""
    checked: str = ""
    """Last release or commit of the library that was read or run, and follows these rules."""
    until: str = ""
    """Replaces ``checked`` if a later release follows other rules: the last release or commit with these."""
    remark: str = ""
    by_element: tuple[tuple[str, Rules], ...] = ()
    """Names of the elements that an encoder defines, each with the rules that apply to it alone; empty for any
    element."""
    by_destination: tuple[tuple[str, Rules], ...] = ()
    """Names of the destinations that a cast defines, each with the rules that apply to it alone."""

    @property
    def up_to(self) -> str:
        """The last version of the library with these rules, in words; empty for a standard or a paper.

        >>> from mxcast.spec import DECODERS, PROFILES
        >>> PROFILES["mlx"].up_to, DECODERS["te"].up_to
        ('mlx 0.32.4', 'commit bf4b2b9f8 of 2026-08-05, the last with these rules')
        """
        version = f"{self.until}, the last with these rules" if self.until else self.checked
        return f"{self.library} {version}".strip()


def by_name(*profiles: Profile) -> dict[str, Profile]:
    return {profile.name: profile for profile in profiles}


def each(*rules: tuple[Iterable[str], dict[str, str]]) -> tuple[tuple[str, Rules], ...]:
    """Formats, and the rules that apply to each of them alone."""
    return tuple((name, tuple(own.items())) for names, own in rules for name in names)


TE_CHECKED = "commit d0067d0da of 2026-08-22 (2.20.0.dev0)"
TORCHAO_CHECKED = "0.18.0, commit 36027d82d of 2026-08-21 (0.19.0)"
