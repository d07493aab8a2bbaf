"""Tables of the report: rows and columns on a wide screen, a list of names and values for each row on a narrow one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

MISSING = "–"


@dataclass(frozen=True)
class Head:
    """The heading of a column."""

    name: str
    meaning: str = ""
    is_figure: bool = False
    is_further: bool = False
    """Hidden until further figures are asked for."""

    @property
    def classes(self) -> str:
        names = [*(["n"] if self.is_figure else []), *(["further"] if self.is_further else [])]
        return f' class="{" ".join(names)}"' if names else ""


def table(
    label: str, heads: Sequence[Head], rows: Iterable[Sequence[str]], *, name: str = "", below: Sequence[str] = ()
) -> str:
    """A table in a box that scrolls if needed. Cells are HTML. ``below`` adds a second row, one cell, to each row."""
    columns = "".join(
        f'<th scope="col"{head.classes}{_titled(head.meaning)}>{escape(head.name)}</th>' for head in heads
    )
    lines = [
        f"<tr>{''.join(_cell(n, head, cell) for n, (head, cell) in enumerate(zip(heads, row)))}</tr>" for row in rows
    ]
    if below:
        under = (f'<tr class="below"><td colspan="{len(heads)}">{cell}</td></tr>' for cell in below)
        body = "\n".join(f"<tbody>{line}{more}</tbody>" for line, more in zip(lines, under))
    else:
        body = "<tbody>" + "\n".join(lines) + "</tbody>"
    named = f' id="{name}"' if name else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(label)}"><table{named}>'
        f"<thead><tr>{columns}</tr></thead>{body}</table></div>"
    )


def _titled(meaning: str) -> str:
    return f' title="{escape(meaning)}"' if meaning else ""


def _cell(place: int, head: Head, cell: str) -> str:
    kind, scope = ("td", "") if place else ("th", ' scope="row"')
    return f'<{kind}{scope}{head.classes} data-name="{escape(head.name)}">{cell}</{kind}>'


def number(value: float | None, form: str, factor: float = 1) -> str:
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return format(0, form.lstrip("+"))  # neither +0 nor -0
    return format(value * factor, form).replace("-", "−")


def text(value: object) -> str:
    """A text as HTML, with line breaks allowed after commas."""
    if value in (None, ""):
        return MISSING
    return f"{value:,}" if isinstance(value, int) else re.sub(r",(?=\S)", ",<wbr>", escape(str(value)))


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
