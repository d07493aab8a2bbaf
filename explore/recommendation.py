"""What to build, of the points of a sweep: one for each format and target, the standard choices, and the smallest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from .columns import NAMED, TEXTS, varies
from .scatter import values

__all__ = ["named", "recommended"]

STANDARD = ("ocp", "nvidia", "te")
"""Profiles that others are likely to expect, the usual one first."""
MOST = 12
"""Formats and targets with a sentence of their own."""
WITHIN = 0.5
"""dB below the most accurate point, within which the smallest is recommended: a twelfth of a bit."""
PLACE = ("format", "target")


def named(row: dict, keys: Iterable[str]) -> str:
    """The values that tell a point from others."""
    parts = (
        f"{TEXTS[key]} {row[key]}" if key in NAMED else str(row[key]) for key in keys if row.get(key) not in (None, "")
    )
    return " · ".join(parts) or str(row["format"])


def recommended(rows: Sequence[dict]) -> list[tuple[str, str]]:
    """Of points that are done, for each format and target what it is about, and a sentence.

    Of points that are equal in what is asked for, the smallest counts, then the first.
    """
    keys = [key for key in TEXTS if varies(rows, key) and key not in PLACE]
    groups = [
        (f"{format}, {target}", [row for row in rows if (row["format"], row["target"]) == (format, target)])
        for format in values(rows, "format")
        for target in values(rows, "target")
    ]
    built = [(about, [row for row in group if row["luts"] is not None]) for about, group in groups]
    found = [(about, _sentence(group, keys)) for about, group in built if group]
    if len(found) > MOST:
        return [*found[:MOST], (f"{len(found) - MOST} more", "choose one below.")]
    return found


def _sentence(group: Sequence[dict], keys: Sequence[str]) -> str:
    ordered = sorted(group, key=lambda row: row["luts"])
    judged = [row for row in ordered if row["sqnr_db"] is not None and not math.isnan(row["sqnr_db"])]
    parts = []
    if judged and len({row["sqnr_db"] for row in judged}) > 1:
        best = max(judged, key=lambda row: row["sqnr_db"])
        chosen = next(row for row in judged if row is best or row["sqnr_db"] >= best["sqnr_db"] - WITHIN)
        unless = "unless your software expects other rules"
        if chosen is best:
            parts.append(f"build {named(best, keys)} ({_figures(best)}), the most accurate, {unless}")
        else:
            parts.append(
                f"build {named(chosen, keys)} ({_figures(chosen)}), the smallest within {WITHIN:g} dB of the most "
                f"accurate, {named(best, keys)} ({_figures(best)}), {unless}"
            )
    standard = [next((row for row in ordered if row["profile"] == profile), None) for profile in STANDARD]
    if found := [f"{row['profile']} ({_figures(row)})" for row in standard if row]:
        parts.append(f"standard {'choice' if len(found) == 1 else 'choices'} {', '.join(found)}")
    parts.append(f"smallest {named(ordered[0], keys)} ({_figures(ordered[0])})")
    return "; ".join(parts) + "."


def _figures(row: dict) -> str:
    """LUTs, and SQNR where it is known."""
    sqnr = row["sqnr_db"]
    if sqnr is None or math.isnan(sqnr):
        return f"{row['luts']:,} LUTs"
    return f"{row['luts']:,} LUTs, {'∞' if math.isinf(sqnr) else format(sqnr, '.1f')} dB"
