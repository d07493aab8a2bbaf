"""Verilog with a planted bug. A bug that changes nothing is an error of its test."""

from __future__ import annotations

import re
from collections.abc import Iterable


def planted(text: str, pattern: str, replacement: str) -> str:
    """The text with every match of a pattern replaced."""
    text, count = re.subn(pattern, replacement, text)
    assert count, f"{pattern} does not occur"
    return text


def edited(text: str, edits: Iterable[tuple[str, str]]) -> str:
    """The text with some parts replaced, each of which occurs once."""
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text
