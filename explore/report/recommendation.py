"""Recommendations: the point to build for each format and target of a sweep, with the reason, and the alternatives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .columns import NAMED, TEXTS, varies
from .scatter import values

STANDARD = ("ocp", "nvidia", "te")
"""Profiles that software is likely to expect, the most usual first."""
MOST = 12
"""Largest number of recommendations."""
WORTH = 0.1
"""Share of the LUTs that one dB is worth. A wider element of OCP costs 2 to 7 % of the LUTs for each dB
(records/sweeps/rules-xcu.json), so a rule that costs more than 10 % does less than a wider element.
"""
PLACE = ("format", "target", "numbers_per_cycle")


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The point to build for a format and a target, with the reason; or a remark on further formats."""

    about: str
    text: str
    others: Sequence[str] = ()
    """Alternatives, each with the difference."""
    command: str | None = None
    """The command that writes the Verilog of the point."""


def named(row: dict, keys: Iterable[str]) -> str:
    """The values of these columns, as the name of a point."""
    parts = (
        f"{TEXTS[key]} {row[key]}" if key in NAMED else str(row[key]) for key in keys if row.get(key) not in (None, "")
    )
    return " · ".join(parts) or str(row["format"])


def recommended(rows: Sequence[dict]) -> list[Recommendation]:
    """One recommendation for each format, target and rate of points that are done. The rate is given by what is
    around a converter, so rates are not compared.
    """
    rates = values(rows, "numbers_per_cycle")
    groups = [
        (
            f"{format}, {target}" + f", {rate} in a cycle" * (len(rates) > 1),
            [row for row in rows if tuple(row[key] for key in PLACE) == (format, target, rate)],
        )
        for format in values(rows, "format")
        for target in values(rows, "target")
        for rate in rates
    ]
    built = [(about, [row for row in group if row["luts"] is not None]) for about, group in groups]
    found = [_recommendation(about, group) for about, group in built if group]
    if len(found) > MOST:
        return [*found[:MOST], Recommendation(about=f"{len(found) - MOST} more", text="choose one below.")]
    return found


def _recommendation(about: str, group: Sequence[dict]) -> Recommendation:
    ordered = sorted(group, key=lambda row: row["luts"])
    judged = [row for row in ordered if row["sqnr_db"] is not None and not math.isnan(row["sqnr_db"])]
    is_weighed = len({row["sqnr_db"] for row in judged}) > 1
    roles: list[tuple[str, dict]] = []
    for profile in STANDARD:
        roles += [("a usual choice", row) for row in ordered if row["profile"] == profile][:1]
    if is_weighed:
        roles.append(("the most accurate", max(judged, key=lambda row: row["sqnr_db"])))
    roles.append(("the smallest", ordered[0]))
    chosen = max(judged, key=_worth) if is_weighed else ordered[0]
    others = list({row["id"]: row for _, row in roles if row["id"] != chosen["id"]}.values())
    name, *names = _names([chosen, *others], group)
    played = {row["id"]: " and ".join(dict.fromkeys(role for role, one in roles if one is row)) for _, row in roles}
    if len(group) == 1:
        why = "the only point"
    elif not is_weighed:
        why = "the smallest; all are equally accurate" if judged else "the smallest; the accuracy is not known"
    else:
        own = f"{played[chosen['id']]}: " if chosen["id"] in played else ""
        balance = f"the best balance if 1 dB is worth {100 * WORTH:.0f} % of the LUTs"
        why = f"{own}{balance}, unless your software expects other rules"
    return Recommendation(
        about=about,
        text=f"build {name} ({_figures(chosen)}), {why}.",
        others=[f"{one}, {played[row['id']]} ({_compared(row, chosen)})" for one, row in zip(names, others)],
        command=chosen["emit"],
    )


def _worth(row: dict) -> float:
    """The SQNR minus the LUTs, converted to dB by `WORTH`."""
    return row["sqnr_db"] - math.log(max(row["luts"], 1)) / math.log1p(WORTH)


def _names(rows: Sequence[dict], group: Sequence[dict]) -> list[str]:
    """Short names that distinguish these rows, or a single row from its group."""
    keys = [key for key in TEXTS if key not in PLACE and varies(rows if len(rows) > 1 else group, key)]
    return [named(row, keys) for row in rows]


def _figures(row: dict) -> str:
    """LUTs, and SQNR if it is known."""
    sqnr = row["sqnr_db"]
    if sqnr is None or math.isnan(sqnr):
        return f"{row['luts']:,} LUTs"
    return f"{row['luts']:,} LUTs, {'∞' if math.isinf(sqnr) else format(sqnr, '.1f')} dB"


def _compared(row: dict, chosen: dict) -> str:
    """Differences between a row and the chosen one, in LUTs and dB."""
    ratio = row["luts"] / max(chosen["luts"], 1)
    percent = round(100 * (ratio - 1))
    found = ["as many LUTs" if not percent else f"{abs(percent)} % {'more' if percent > 0 else 'fewer'} LUTs"]
    if ratio >= 3:
        found = [f"{ratio:.0f} times the LUTs"]
    theirs, ours = row["sqnr_db"], chosen["sqnr_db"]
    if theirs is not None and ours is not None and math.isfinite(theirs) and math.isfinite(ours):
        difference = theirs - ours
        is_seen = abs(difference) >= 0.05
        found.append(f"{abs(difference):.1f} dB {'more' if difference > 0 else 'less'}" if is_seen else "as accurate")
    elif theirs is not None and not math.isnan(theirs):
        found.append(f"{theirs:.1f} dB".replace("inf", "∞"))
    return ", ".join(found)
