"""Processes that no change is sure to start: ``always @*`` waits for a change before it runs."""

from __future__ import annotations

from collections.abc import Iterable

from .activity import Activity
from .parts import Symbol


def not_started(activities: list[Activity], inputs: Iterable[Symbol], valued: set[Symbol]) -> list[Activity]:
    """The processes that wait for a change of names that may never change after the start of a simulation.

    ``inputs`` belong to the whole design. ``valued`` are the variables with an initial value: the first write to such a
    variable need not change it.
    """
    valued = valued.union(*(activity.blocking.symbols for activity in activities if activity.kind == "initial"))
    changing = set(inputs) - valued
    waiting = [activity for activity in activities if activity.kind not in ("initial", "final")]
    while started := [activity for activity in waiting if _starts(activity, changing)]:
        waiting = [activity for activity in waiting if not _starts(activity, changing)]
        for activity in started:
            changing |= (activity.blocking.symbols | activity.nonblocking.symbols) - valued
    return [activity for activity in waiting if _waits(activity) and activity.blocking.symbols]


def _waits(activity: Activity) -> bool:
    return activity.kind == "listed" or (activity.kind == "combinational" and not activity.sees_functions)


def _starts(activity: Activity, changing: set[Symbol]) -> bool:
    if _waits(activity):
        seen = activity.listed if activity.kind == "listed" else activity.reads.symbols
        return bool(seen & changing)
    if activity.kind in ("continuous", "connection"):  # a constant may reach its net before the block waits
        return bool(activity.reads.symbols & changing)
    return True
