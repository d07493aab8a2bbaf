"""Tables as text: in columns for a pipe, and as lists for a narrow terminal."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from .text import shown


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def plain_table(rows: Sequence[Mapping[str, object]], title: str | None) -> str:
    """The table for a pipe, without folded lines. Importing rich would take longer than a conversion."""
    right = [is_number(value) for value in rows[0].values()]
    head = [[column.replace("_", " ")] for column in rows[0]]
    body = [[_text(value).split("\n") for value in row.values()] for row in rows]
    widths = [max(len(line) for cell in column for line in cell) for column in zip(head, *body)]

    def lines(cells: list[list[str]]) -> Iterator[str]:
        for texts in zip_longest(*cells, fillvalue=""):
            yield "  ".join(
                text.rjust(width) if to_right else text.ljust(width)
                for text, width, to_right in zip(texts, widths, right)
            ).rstrip()

    rule = _line() * (sum(widths) + 2 * len(widths) - 2)
    return "\n".join(
        [*([title] if title else []), *lines(head), rule, *(line for cells in body for line in lines(cells)), ""]
    )


def _line() -> str:
    """The character of a horizontal line that the terminal can show."""
    try:
        "─".encode(sys.stdout.encoding or "ascii")
        return "─"
    except UnicodeEncodeError:
        return "-"


def listed(rows: Sequence[Mapping[str, object]], title: str | None, columns: int) -> str:
    """The table as a list that fits into ``columns``: the first cell of each row, then its other cells by name. Empty
    cells are left out.
    """
    found = [*folded(title, columns), ""] if title else []
    for row in rows:
        first, *rest = ((name.replace("_", " "), _text(value)) for name, value in row.items())
        found += folded(first[1] or first[0], columns)
        for name, text in rest:
            if text:
                found += folded(f"{name}: {text}", columns, "  ")
    return "\n".join([*found, ""])


def folded(text: str, columns: int, indent: str = "") -> Iterator[str]:
    """Lines of a text that fit into ``columns`` unless a word is longer; later lines are indented more."""
    for number, line in enumerate(text.split("\n")):
        fold = textwrap.TextWrapper(columns, break_long_words=False, break_on_hyphens=False)
        fold.initial_indent, fold.subsequent_indent = indent + "  " * bool(number), indent + "  "
        yield from fold.wrap(line)


def _text(value: object) -> str:
    """A cell without its style."""
    return str(value.plain) if hasattr(value, "plain") else cell(value)


def cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:g}"
    if isinstance(value, dict):
        return "\n".join(f"{key}={item}" for key, item in value.items())
    return "" if value is None else shown(str(value))
