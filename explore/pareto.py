"""Which points are worth building: those that no other beats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .points import Explored

MORE = ("sqnr_db", "fmax_mhz", "fmax_lowest_mhz", "fmax_highest_mhz", "blocks_per_s", "gbytes_per_s")
"""Figures of which more is better; of all others less is, of a bias the magnitude."""


def front(rows: Sequence[Explored], objectives: Iterable[str]) -> set[str]:
    """The ids of the points that have all these figures and that no other point of their target dominates: as good in
    each, and better in one, with no more numbers lost. Points with equal figures are all in or all out, so that the
    order of the rows does not matter.
    """
    objectives = tuple(objectives)
    found: set[str] = set()
    for target in {row.target for row in rows}:
        costs = {row.id: cost for row in rows if row.target == target and (cost := _cost(row, objectives)) is not None}
        best = _undominated(costs.values())
        found |= {id for id, cost in costs.items() if cost in best}
    return found


def staircase(points: Iterable[tuple[float, float]], better: int = 1) -> list[tuple[float, float]]:
    """The points of a plane with no other that has x not larger and y not smaller (for -1: not larger), by x.

    >>> staircase([(3, 5), (1, 2), (2, 1), (3, 4)])
    [(1, 2), (3, 5)]
    """
    costs = _undominated((x, -better * y) for x, y in points)
    return sorted((x, -better * y) for x, y in costs)


def _undominated(costs: Iterable[tuple[float, ...]]) -> set[tuple[float, ...]]:
    """The costs that no other cost dominates: no other is as small in all figures."""
    costs = set(costs)
    return {cost for cost in costs if not any(_dominates(other, cost) for other in costs)}


def _cost(row: Explored, objectives: tuple[str, ...]) -> tuple[float, ...] | None:
    """Figures of which less is better."""
    values = [getattr(row, name) for name in objectives]
    if row.status != "done" or any(value is None for value in values):
        return None
    lost = (
        (row.lost,) if row.lost and "lost" not in objectives else (0,)
    )  # figures of what is left of the numbers outdo none of all
    return (*(-value if name in MORE else abs(value) for name, value in zip(objectives, values)), *lost)


def _dominates(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a != b and all(x <= y for x, y in zip(a, b))
