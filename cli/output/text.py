"""Text from files, made safe for a terminal."""

from __future__ import annotations


def shown(text: str) -> str:
    """The text with escapes for control characters; line ends stay.

    >>> shown("a\\x1b[2J\\nb")
    'a\\\\x1b[2J\\nb'
    """
    return "".join(
        character
        if character.isprintable() or character in "\n\t"
        else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )


def one_line(name: str) -> str:
    """A name as one line of such text, with escapes for line ends.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return shown(name).replace("\n", "\\n").replace("\t", "\\t")
