"""The scatter of an exploration as one SVG file, for papers: a panel for each format and target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from .columns import GROUPS, NAMES, TEXTS, varies
from .recommendation import named
from .scatter import DARK, LIGHT, STYLE, drawable, encoding, looks, mark, scatter, values

COLUMNS = 3
"""Panels in a row, at most."""
PANEL = (430, 340)
"""Width and height of a panel, in units of the SVG."""
LINE, LETTER = 22, 7.5
"""Height of a line of the legend, and width of a letter in it."""


def drawing(rows: Sequence[dict]) -> str:
    """The SVG of the points: same rows, same text. All targets of a format have the same axes."""
    shown = drawable(rows)
    formats, targets = values(shown, "format"), values(shown, "target")
    panels = [
        (format, target)
        for format in formats
        for target in targets
        if any((row["format"], row["target"]) == (format, target) for row in shown)
    ]
    across = len(targets) if 1 < len(targets) <= COLUMNS else min(len(panels), COLUMNS)
    keys = [key for key in GROUPS if key not in ("format", "target")]
    marked = looks(shown, keys)
    texts = [key for key in TEXTS if varies(shown, key)]
    width, height = PANEL
    legend = list(_legend(shown, encoding(shown, keys), across * width))
    parts = [f'<g transform="translate(0 {LINE * n})">{line}</g>' for n, line in enumerate(legend, 1)]
    for n, (format, target) in enumerate(panels):
        inside = [i for i, row in enumerate(shown) if (row["format"], row["target"]) == (format, target)]
        body = scatter(
            [shown[i] for i in inside],
            [named(shown[i], texts) for i in inside],
            size=PANEL,
            marked=[marked[i] for i in inside],
            among=[row for row in shown if row["format"] == format],
        )
        for name in ("axes", "line", "marks", "across", "up"):  # of the page, which has one panel
            body = body.replace(f' id="{name}"', "")
        x, y = n % across * width, n // across * (height + LINE) + LINE * (len(legend) + 1)
        parts.append(
            f'<g class="panel" transform="translate({x} {y})"><text class="title" x="8" y="12">'
            f'{escape(f"{format}, {target}")}</text><g transform="translate(0 {LINE / 2:g})">{body}</g></g>'
        )
    size = f"{across * width} {-(-len(panels) // across) * (height + LINE) + LINE * (len(legend) + 1)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}">\n<style>\n'
        f"svg {{ {LIGHT} background: var(--paper); font: 13px sans-serif; fill: var(--ink); }}\n"
        f"@media (prefers-color-scheme: dark) {{ svg {{ {DARK} }} }}\n"
        f".title {{ font-weight: bold; }}\n{STYLE}\n</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _legend(rows: Sequence[dict], keys: tuple[str | None, str | None], width: int) -> Iterator[str]:
    """Lines of the legend of colours and markers; entries that do not fit go to the next line."""
    colour, marker = keys
    for key in dict.fromkeys(filter(None, keys)):
        line, x = f'<text x="8">{escape(NAMES[key])}:</text>', 8 + LETTER * (len(NAMES[key]) + 3)
        for i, value in enumerate(values(rows, key)):
            text = str(value) or "none"
            step = 16 + LETTER * (len(text) + 2)
            if x + step > width:
                yield line
                line, x = "", 8 + 2 * LETTER
            sign = mark(i if key == colour else None, i if key == marker else None)
            line += f'<g transform="translate({x + 8:g} -4)">{sign}</g><text x="{x + 20:g}">{escape(text)}</text>'
            x += step
        yield line
