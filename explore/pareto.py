"""The Pareto front: points that no other point beats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .points import Explored

MORE = (
    "sqnr_db",
    "numbers_per_cycle",
    "fmax_mhz",
    "fmax_lowest_mhz",
    "fmax_highest_mhz",
    "blocks_per_s",
    "gbytes_per_s",
)
"""Figures of which more is better. Less is better for all others; for a bias, the magnitude counts."""


def front(rows: Sequence[Explored], objectives: Iterable[str]) -> set[str]:
    """The ids of the points with all these figures that no other point of their target dominates.

    A point dominates another if it is as good in each figure, better in one, and loses no more numbers. Points with
    equal figures are all in or all out, so the order of the rows does not matter.
    """
    objectives = tuple(objectives)
    found: set[str] = set()
    for target in {row.target for row in rows}:
        costs = {row.id: cost for row in rows if row.target == target and (cost := _cost(row, objectives)) is not None}
        best = _undominated(costs.values())
        found |= {id for id, cost in costs.items() if cost in best}
    return found


def staircase(points: Iterable[tuple[float, float]], better: int = 1) -> list[tuple[float, float]]:
    """The points of a plane that no other dominates, by x. Small x is better, and large y; small y for -1.

    >>> staircase([(3, 5), (1, 2), (2, 1), (3, 4)])
    [(1, 2), (3, 5)]
    """
    costs = _undominated((x, -better * y) for x, y in points)
    return sorted((x, -better * y) for x, y in costs)


def _undominated(costs: Iterable[tuple[float, ...]]) -> set[tuple[float, ...]]:
    """The costs that no other dominates."""
    costs = set(costs)
    return {cost for cost in costs if not any(_dominates(other, cost) for other in costs)}


def _cost(row: Explored, objectives: tuple[str, ...]) -> tuple[float, ...] | None:
    """The figures of a row, with signs so that less is better; None if one is missing."""
    values = [getattr(row, name) for name in objectives]
    if row.status != "done" or any(value is None for value in values):
        return None
    lost = row.lost if row.lost and "lost" not in objectives else 0  # figures ignore lost numbers
    return (*(-value if name in MORE else abs(value) for name, value in zip(objectives, values)), lost)


def _dominates(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a != b and all(x <= y for x, y in zip(a, b))
