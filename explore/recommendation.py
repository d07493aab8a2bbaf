"""What a reader of a report would build: the standard choices, the smallest and the most accurate point."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from .scatter import values

__all__ = ["recommendation"]

STANDARD = ("ocp", "nvidia", "te")
"""Profiles that others are likely to expect, the usual one first."""
MOST = 12
"""Formats and targets with a line of their own."""


def recommendation(rows: Sequence[dict], name: Callable[[dict], str]) -> str:
    """HTML: a line for each format and target among points that are done; ``name`` tells a point from the others.

    Of points that are equal in what is asked for, the smallest counts, then the first.
    """
    groups = [
        (format, target, [row for row in rows if (row["format"], row["target"]) == (format, target)])
        for format in values(rows, "format")
        for target in values(rows, "target")
    ]
    groups = [group for group in groups if any(row["luts"] is not None for row in group[2])]
    lines = [
        f"<li><strong>{escape(format)}, {escape(target)}</strong>: {escape(_line(group, name))}.</li>"
        for format, target, group in groups[:MOST]
    ]
    if len(groups) > MOST:
        lines.append(f"<li>{len(groups) - MOST} more: choose one below.</li>")
    return f'<ul class="recommendation">{"".join(lines)}</ul>' if lines else ""


def _line(group: Sequence[dict], name: Callable[[dict], str]) -> str:
    built = sorted((row for row in group if row["luts"] is not None), key=lambda row: row["luts"])
    parts = []
    standard = [next((row for row in built if row["profile"] == profile), None) for profile in STANDARD]
    if found := [f"{row['profile']} ({_figures(row)})" for row in standard if row]:
        parts.append(f"standard {'choice' if len(found) == 1 else 'choices'} {', '.join(found)}")
    parts.append(f"smallest {name(built[0])} ({_figures(built[0])})")
    judged = [row for row in built if row["sqnr_db"] is not None and not math.isnan(row["sqnr_db"])]
    if judged and len({row["sqnr_db"] for row in judged}) > 1:
        best = max(judged, key=lambda row: row["sqnr_db"])
        parts.append(f"most accurate {name(best)} ({_figures(best)})")
    return "; ".join(parts)


def _figures(row: dict) -> str:
    """LUTs, and SQNR where it is known."""
    sqnr = row["sqnr_db"]
    if sqnr is None or math.isnan(sqnr):
        return f"{row['luts']:,} LUTs"
    return f"{row['luts']:,} LUTs, {'∞' if math.isinf(sqnr) else format(sqnr, '.1f')} dB"
