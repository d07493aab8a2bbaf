"""Plots of an exploration for papers: LUTs against SQNR, or levels where SQNR does not vary, as PNG and SVG."""

from __future__ import annotations

import io
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ...host.errors import ToolError
from ...host.files import write_whole
from ...synth.targets import TARGETS
from ..pareto import staircase
from .columns import GROUPS, NAMES
from .scatter import COLOURS, DARK, MARKERS, drawable, encoding, indices, side_by_side, upright, values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("png", "svg")

COLUMNS = 3
"""Panels beside each other at most."""

PAPER, INK, GRID, GREY = "#ffffff", "#000000", "#d5d9e0", "#59616e"

STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.hashsalt": "mxcast",
}
"""matplotlib's own font, and a fixed salt for the names inside an SVG: the same rows give the same file."""


def plots(rows: list[dict], folder: Path, name: str) -> list[Path]:
    """Write ``name.png`` and ``name.svg`` into ``folder``, and give their paths.

    A panel for each format and target, with the same axes for all targets of a format; colour is the scale rule and the
    marker the rounding where these vary, the line is the front of the panel. Points that failed have no mark;
    ValueError if no point has one. ToolError without matplotlib.
    """
    if not (shown := drawable(rows)):
        raise ValueError("a plot needs a point with LUTs and SQNR, and none of these has both")
    try:
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.ticker import StrMethodFormatter
    except ImportError:
        raise ToolError("plots need matplotlib: pip install '.[explore]' in a checkout of mxcast") from None

    up, better = upright(rows)
    formats, targets = values(shown, "format"), values(shown, "target")
    panels = list(product(formats, targets))
    across = len(targets) if 1 < len(targets) <= COLUMNS else min(len(panels), COLUMNS)
    down = -(-len(panels) // across)
    keys = encoding(shown, [key for key in GROUPS if key not in ("format", "target")])
    places = list(zip(shown, *(indices(shown, key) for key in keys), strict=True))
    with matplotlib.rc_context(cast(Any, STYLE)):
        figure = Figure(figsize=(3.5 if across == 1 else 2.4 * across, 2.3 * down + 0.5), layout="constrained")
        grid = figure.subplots(down, across, squeeze=False).flat
        first: dict = {}  # the panel of each format that sets the axes of the others
        for i, axes in enumerate(list(grid)):
            inside = [
                ((row["luts"], row[up]), colour, marker)
                for row, colour, marker in places
                if i < len(panels) and (row["format"], row["target"]) == panels[i]
            ]
            if not inside:
                axes.remove()
                continue
            if (leader := first.setdefault(panels[i][0], axes)) is not axes:
                axes.sharex(leader)
                axes.sharey(leader)
            _panel(figure, axes, inside, better)
            axes.set_title(", ".join(panels[i] if len(targets) > 1 else panels[i][:1]), loc="left")
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            axes.locator_params(axis="x", nbins=5, integer=True)
        where = "" if len(targets) > 1 else f" on {TARGETS[targets[0]].description}"
        figure.supxlabel(f"{NAMES['luts']}{where}", fontsize=8)
        figure.supylabel(NAMES[up], fontsize=8)
        _legend(figure, shown, *keys)
        paths = [Path(folder) / f"{name}.{kind}" for kind in KINDS]
        for path, kind in zip(paths, KINDS, strict=True):
            drawn = io.BytesIO()
            figure.savefig(drawn, format=kind, dpi=300, metadata={"Date": None} if kind == "svg" else None)
            content = drawn.getvalue()
            if kind == "svg":
                content = content.replace(b"</style>", f"{_dark()}</style>".encode(), 1)
            write_whole(path, content)
    return paths


def _dark() -> str:
    """A style for dark screens: matplotlib writes colours into each element."""
    others = dict(zip(COLOURS, DARK)) | {PAPER: "#14171c", INK: "#e6e9ee", GRID: "#353b46", GREY: "#a0a8b5"}
    rules = [
        f"[style*='{name}: {colour}'] {{{name}: {dark} !important}}"
        for colour, dark in others.items()
        for name in ("fill", "stroke")
    ]
    return f"@media (prefers-color-scheme: dark) {{[id^=text] {{fill: {others[INK]}}} {' '.join(rules)}}}"


def _panel(figure: Figure, axes: Axes, points: list[tuple[tuple[float, float], int, int]], better: int) -> None:
    """Draw points, each with the numbers of its colour and marker, and their front; what is on the front is
    drawn last, and what coincides side by side.
    """
    from matplotlib.transforms import ScaledTranslation

    line = staircase((point for point, _, _ in points), better)
    axes.step(*zip(*line, strict=True), where="post", color="black", linewidth=0.8, zorder=1)
    axes.update_datalim([point for point, _, _ in points])  # marks that are moved aside do not count for matplotlib
    axes.autoscale_view()
    aside = side_by_side([point for point, _, _ in points])
    drawn: dict[tuple[bool, int, int, float], list[tuple[float, float]]] = {}
    for (point, colour, marker), right in zip(points, aside, strict=True):
        drawn.setdefault((point in line, colour, marker, right), []).append(point)
    for (best, colour, marker, right), alike in sorted(drawn.items()):
        x, y = zip(*alike, strict=True)
        inches = right / 2 / 72  # marks are half as large as those of the page
        axes.scatter(
            x,
            y,
            s=24,
            color=COLOURS[colour],
            marker=[*MARKERS][marker],
            linewidths=0.5,
            edgecolors="black" if best else "white",
            zorder=2 + best,
            transform=axes.transData + ScaledTranslation(inches, 0, figure.dpi_scale_trans),
        )


def _legend(figure: Figure, rows: list[dict], colour: str | None, marker: str | None) -> None:
    """What colours and markers stand for, above the panels: colours at the left, in as many columns as fit, markers at
    the right.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    places: dict[str | None, Literal["outside upper right", "outside upper left"]] = {
        marker: "outside upper right",
        colour: "outside upper left",
    }
    for key, place in places.items():  # if they are the same, one legend
        if key is None:
            continue
        entries: list = []
        for i, value in enumerate(values(rows, key)):
            shade, text = COLOURS[i] if key == colour else GREY, str(value) or "none"
            entries.append(
                Line2D([], [], linestyle="", markersize=4.5, label=text, color=shade, marker=[*MARKERS][i])
                if key == marker
                else Patch(facecolor=shade, label=text)
            )
        inches = 0.35 + 0.06 * max(len(entry.get_label()) for entry in entries)  # of the widest, at 8 points
        columns = max(1, int(figure.get_figwidth() * (0.7 if key == colour else 0.3) / inches))
        figure.legend(
            handles=entries,
            title=NAMES[key],
            title_fontsize=8,
            alignment="left",
            loc=place,
            ncols=min(columns, len(entries)),
            frameon=False,
            borderaxespad=0.2,
            handletextpad=0.4,
            handlelength=1.1,
            handleheight=0.6,
            columnspacing=1,
        )
