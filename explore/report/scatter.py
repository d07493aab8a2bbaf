"""The scatter of points as SVG: colours, markers, ticks and the front."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

from ...spec import Decode
from ..pareto import staircase
from .columns import GROUPS, LABELS

COLOURS = ("#1b55d6", "#e2620d", "#0b9468", "#b84aa6", "#151a2d", "#6b4a00", "#9a6bea", "#5f6670")
"""Contrast on white of at least 3.5 to 1; distinguishable under protanopia, deuteranopia and tritanopia."""

DARK_COLOURS = ("#5f9bff", "#c98f1f", "#3fdc94", "#e8619f", "#e4f4f6", "#f2e14c", "#8a68ff", "#e0534f")
"""The same for dark screens."""


def _palette(paper: str, ink: str, soft: str, line: str, colours: Sequence[str]) -> str:
    named = {"paper": paper, "ink": ink, "soft": soft, "line": line} | {f"c{i}": c for i, c in enumerate(colours)}
    return " ".join(f"--{name}: {colour};" for name, colour in named.items())


LIGHT = _palette("#fff", "#16191f", "#59616e", "#d5d9e0", COLOURS)
DARK = _palette("#14171c", "#e6e9ee", "#a0a8b5", "#353b46", DARK_COLOURS)
"""CSS variables of a page or an SVG."""

STYLE = """\
.axes path { stroke: var(--line); } .axes text { fill: var(--soft); font-size: 12px; }
.axes .label { fill: var(--ink); font-size: 13px; }
.line { fill: none; stroke: var(--ink); stroke-width: 1.25; }
.l1 { stroke-dasharray: 6 3; } .l2 { stroke-dasharray: 1.5 2.5; } .l3 { stroke-dasharray: 8 3 2 3; }
.marks path { fill-opacity: .8; stroke: var(--paper); stroke-width: .6; }
.marks .front { stroke: var(--ink); stroke-width: 1.6; fill-opacity: 1; }
.plain { fill: var(--soft); } """ + " ".join(f".c{i} {{ fill: var(--c{i}); }}" for i in range(len(COLOURS)))
"""CSS of a drawing, in its variables."""

MARKERS = (
    "M4.5 0A4.5 4.5 0 1 1-4.5 0A4.5 4.5 0 1 1 4.5 0Z",
    "M-4-4H4V4H-4Z",
    "M0-5.2L5 3.8H-5Z",
    "M0-5.6L5.6 0L0 5.6L-5.6 0Z",
    "M0 5.2L5-3.8H-5Z",
    "M-1.8-5.2H1.8V-1.8H5.2V1.8H1.8V5.2H-1.8V1.8H-5.2V-1.8H-1.8Z",
    "M-5-2.6L-2.6-5L0-2.4L2.6-5L5-2.6L2.4 0L5 2.6L2.6 5L0 2.4L-2.6 5L-5 2.6L-2.4 0Z",
)
"""SVG paths around the origin, all of about one area."""
BAR = "M-7-3.5H7V3.5H-7Z"
"""The mark of a colour without a marker."""

LINES = 4
"""Kinds of lines, for fronts (`STYLE`)."""

WIDTH, HEIGHT = 860, 460
LEFT, RIGHT, TOP, BOTTOM = 60, 18, 34, 46
"""Margins of the drawing, in units of the SVG; the script of report.html uses the same."""


STEP, SPAN = 9, 45
"""Distance between marks of points that coincide, and largest distance from the first to the last."""


def side_by_side(places: Sequence[tuple[float, float]]) -> list[float]:
    """The offset to the right of each point, so that no mark hides another.

    >>> side_by_side([(1, 2), (1, 2), (3, 4)])
    [-4.5, 4.5, 0.0]
    """
    found = [0.0] * len(places)
    for place, number in Counter(places).items():
        step = min(STEP, SPAN / (number - 1)) if number > 1 else 0
        for k, i in enumerate(i for i, other in enumerate(places) if other == place):
            found[i] = (k - (number - 1) / 2) * step
    return found


def values(rows: Iterable[dict], key: str) -> list:
    """The different values of a column, in order of appearance."""
    return list(dict.fromkeys(row[key] for row in rows if row.get(key) is not None))


def encoding(rows: Sequence[dict], keys: Sequence[str] = GROUPS) -> tuple[str | None, str | None]:
    """The columns of colour and marker. Both are the same if only one column varies, and None if no column varies.

    Colour is the first of ``keys`` that varies, with no more values than there are markers. The marker is the rounding
    if it varies, else the next column. Random bits that follow from the rounding are ignored.
    """
    few = [key for key in keys if 1 < len(values(rows, key)) <= len(MARKERS)]
    if len({(row.get("rounding"), row.get("random_bits")) for row in rows}) == len(values(rows, "rounding")):
        few = [key for key in few if key != "random_bits"]
    colour = next((key for key in few if key != "rounding"), "rounding" if few else None)
    marker = "rounding" if "rounding" in few else next((key for key in few if key != colour), colour)
    return colour, marker


def indices(rows: Sequence[dict], key: str | None) -> list[int]:
    """The number of the colour or marker of each row: the place of its value among the values of the column."""
    places = {value: i for i, value in enumerate(values(rows, key))} if key else {}
    return [places.get(row.get(key), 0) for row in rows]


def upright(rows: Sequence[dict]) -> tuple[str, int]:
    """The vertical axis, and 1 if more of it is better, -1 if less.

    It is SQNR, or levels if SQNR is the same in all rows, as in a sweep of micro-architectures. For decoders, most of
    which lose nothing, it is the share of numbers that differ. In a sweep of lanes it is the numbers in a cycle.
    """
    if len(values(rows, "numbers_per_cycle")) > 1:
        return "numbers_per_cycle", 1
    if values(rows, "operation") == [Decode.name] and len(values(rows, "differing")) > 1:
        return "differing", -1
    return ("levels", -1) if len(values(rows, "sqnr_db")) <= 1 < len(values(rows, "levels")) else ("sqnr_db", 1)


def plottable(row: dict, up: str) -> bool:
    """Does a row have finite figures for both axes?"""
    return all(row[key] is not None and math.isfinite(row[key]) for key in ("luts", up))


def drawable(rows: Sequence[dict]) -> list[dict]:
    """The points that have a place in the drawing."""
    up, _ = upright(rows)
    return [row for row in rows if plottable(row, up)]


def ticks(low: float, high: float, count: int) -> list[float]:
    """About ``count`` round numbers between the two.

    >>> ticks(1654, 3213, 5)
    [2000.0, 2500.0, 3000.0]
    """
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return [round(i * step, 12) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def swatch(colour: int | None, marker: int | None) -> str:
    """A mark for a legend, as an SVG of its own."""
    return f'<svg class="swatch" viewBox="-7 -7 14 14" aria-hidden="true">{mark(colour, marker)}</svg>'


def mark(colour: int | None, marker: int | None) -> str:
    """A mark for a legend: a bar without a marker, grey without a colour."""
    name = "plain" if colour is None else f"c{colour}"
    return f'<path class="{name}" d="{BAR if marker is None else MARKERS[marker]}"/>'


def line_swatch(number: int) -> str:
    """The line of a front for a legend."""
    return (
        '<svg class="swatch long-swatch" viewBox="0 0 28 14" aria-hidden="true">'
        f'<path class="line l{number % LINES}" d="M0 7H28"/></svg>'
    )


Looks = Sequence[tuple[int, int]]
"""Numbers of a colour and a marker for each row."""


def looks(rows: Sequence[dict], keys: Sequence[str] = GROUPS) -> Looks:
    """The colour and marker of each row, by the columns that `encoding` chooses."""
    colours, markers = (indices(rows, key) for key in encoding(rows, keys))
    return list(zip(colours, markers, strict=True))


def scatter(
    rows: Sequence[dict],
    titles: Sequence[str],
    *,
    size: tuple[int, int] = (WIDTH, HEIGHT),
    marked: Looks | None = None,
    among: Sequence[dict] | None = None,
) -> str:
    """The body of an SVG: LUTs against the column that `upright` chooses, with a front for each target.

    Every row has a mark with its number in ``data-i``, and its title for pointers without JavaScript; the mark of a row
    without one of the figures is not shown. The front of the sweep is drawn last, on top. ``marked`` are the looks of
    the rows and ``among`` the rows that the axes reach to, if these are not the rows of this drawing alone.
    """
    width, height = size
    among, marked = rows if among is None else among, looks(rows) if marked is None else marked
    up, better = upright(among)
    points = {i: (row["luts"], row[up]) for i, row in enumerate(rows) if plottable(row, up)}
    reached = [(row["luts"], row[up]) for row in among if plottable(row, up)]
    (x_low, x_high), (y_low, y_high) = (_domain([point[axis] for point in reached]) for axis in (0, 1))

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            round(LEFT + (x - x_low) / (x_high - x_low) * (width - LEFT - RIGHT), 1),
            round(height - BOTTOM - (y - y_low) / (y_high - y_low) * (height - TOP - BOTTOM), 1),
        )

    axes = []
    for x in ticks(x_low, x_high, width // 107):
        at = place(x, y_low)[0]
        axes.append(
            f'<path d="M{at} {TOP}V{height - BOTTOM}"/>'
            f'<text x="{at}" y="{height - BOTTOM + 17}" text-anchor="middle">{x:,g}</text>'
        )
    for y in ticks(y_low, y_high, 6):
        at = place(x_low, y)[1]
        axes.append(
            f'<path d="M{LEFT} {at}H{width - RIGHT}"/><text x="{LEFT - 7}" y="{at + 4}" text-anchor="end">{y:,g}</text>'
        )
    axes.append(
        f'<text class="label" id="across" x="{width - RIGHT}" y="{height - 8}" '
        f'text-anchor="end">{escape(LABELS["luts"])}</text>'
        f'<text class="label" id="up" x="8" y="16">{escape(LABELS[up])}</text>'
    )
    lines = []
    for number, target in enumerate(values(rows, "target")):
        best = staircase((points[i] for i in points if rows[i]["target"] == target), better)
        steps = "".join(f"H{x}V{y}" if n else f"M{x} {y}" for n, (x, y) in enumerate(place(*point) for point in best))
        lines.append(f'<path class="line l{number % LINES}" d="{steps}"/>')
    places = {i: place(*point) for i, point in points.items()}
    aside = dict(zip(places, side_by_side([*places.values()]), strict=True))
    marks = []
    for i, row in sorted(enumerate(rows), key=lambda item: bool(item[1]["pareto"])):
        colour, marker = marked[i]
        where = '" display="none"'
        if i in points:
            where = f'translate({round(places[i][0] + aside[i], 1)} {places[i][1]})"'
        marks.append(
            f'<path class="c{colour}{" front" if row["pareto"] else ""}" data-i="{i}" d="{MARKERS[marker]}" '
            f'transform="{where}><title>{escape(titles[i])}</title></path>'
        )
    return (
        f'<g id="axes" class="axes">{"".join(axes)}</g><g id="line">{"".join(lines)}</g>'
        f'<g id="marks" class="marks">{chr(10).join(marks)}</g>'
    )


def _domain(numbers: Sequence[float]) -> tuple[float, float]:
    """The range of an axis, a little wider than the numbers."""
    low, high = min(numbers, default=0), max(numbers, default=1)
    margin = (high - low) * 0.05 or abs(high) * 0.05 or 1
    return low - margin, high + margin
