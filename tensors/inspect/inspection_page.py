"""The report of an inspection: one HTML file without network access, or an SVG of the histograms."""

from __future__ import annotations

from html import escape
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .histogram import HEIGHT, WIDTH, svg
from .inspection import Inspection

TEMPLATE = Environment(
    loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, autoescape=True
).get_template("inspection.html")

LABEL = 20
"""Units of the SVG for the name above a histogram."""


def page(inspection: Inspection) -> str:
    """The HTML page. Equal inspections give equal text."""
    pictures = {
        tensor.name: Markup(svg(tensor.tally.binades, "Scales by power of two"))  # safe: numbers and fixed words
        for tensor in inspection.tensors
        if tensor.tally
    }
    return TEMPLATE.render(inspection=inspection, pictures=pictures)


def picture(inspection: Inspection) -> str:
    """The histograms of all tensors, one below the other, as an SVG file."""
    drawn, y = [], 0
    for tensor in inspection.tensors:
        if tensor.tally is None:
            continue
        name = escape("".join(one if one.isprintable() else "?" for one in tensor.name))
        drawn.append(f'<text y="{y + LABEL - 6}" font-size="12" font-family="sans-serif">{name}</text>')
        inner = svg(tensor.tally.binades, "Scales by power of two")
        placed = f'<svg y="{y + LABEL}" width="{WIDTH}" height="{HEIGHT}" '
        drawn.append(inner.replace("<svg ", placed, 1))
        y += LABEL + HEIGHT
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {max(y, 1)}">{"".join(drawn)}</svg>\n'


PAGES = {".html": page, ".svg": picture}
"""Writers of reports by the suffix of the file."""
