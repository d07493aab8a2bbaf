"""Text from elsewhere, such as names in files, as a terminal may have it."""

from __future__ import annotations


def shown(text: str) -> str:
    """The text with escapes for characters that steer a terminal; its lines stay.

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
    """A name as one line of such text.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return shown(name).replace("\n", "\\n").replace("\t", "\\t")
