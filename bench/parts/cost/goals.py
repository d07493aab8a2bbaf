"""The best micro-architecture for each goal: `hdl.BEST` from the figures in records/sweeps/architectures.json and,
for gates and LUTs of four inputs, gates.json. `hdl.BEST_DECODERS` is from those in records/sweeps/decoders.json, by the
fraction bits of the element.

Area is LUTs, on ECP5 logic cells, as a carry takes two, and of gates NAND gates of two inputs. The critical path is the
delay that Yosys gives; where it gives none, levels times the mean delay of a level on that target, unless speed alone
is asked for. Both are geometric means over the formats of the sweep. For the generic target and for gates nothing
counts that lives by an attribute of one tool, `keep_hierarchy`: kept modules and carry chains. The generic target has
the geometric mean over all targets but `-relaxed` ones, whose devices count already.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from mxcast.explore.points import Explored
from mxcast.hdl import BEST, BEST_DECODERS, GENERIC, Goal
from mxcast.spec import FloatFormat, block_format

FILES = ("architectures", "gates")
"""The records of `hdl.BEST`."""
FIELDS = ("amax", "quantizer", "structure")
DECODER_FIELDS = ("lane", "structure")
GOALS = (Goal.AREA, Goal.SPEED, Goal.BALANCED)
Choice = tuple[str, ...]
"""A value for each of these."""
CELLS = {"ecp5": "logic cells", "ecp5-relaxed": "logic cells", "asic": "NAND2"}
"""Targets whose area is not counted in LUTs, and its unit."""


def mean(numbers: Iterable[float]) -> float:
    values = list(numbers)
    return math.exp(sum(map(math.log, values)) / len(values))


def needs_an_attribute(choice: Choice) -> bool:
    return "carry_chain" in choice or "kept" in choice


class Figures:
    """Area and critical path of each choice on each target."""

    def __init__(self, rows: list[Explored], fields: tuple[str, ...] = FIELDS) -> None:
        self.rows: dict[str, dict[Choice, list[Explored]]] = {}
        for row in rows:
            self.rows.setdefault(row.target, {}).setdefault(tuple(getattr(row, field) for field in fields), []).append(
                row
            )

    def area(self, target: str, choice: Choice) -> float:
        return mean(row.logic_cells if target in CELLS else row.luts for row in self.rows[target][choice])

    def is_timed(self, target: str, choice: Choice) -> bool:
        return all(row.delay_ps is not None for row in self.rows[target][choice])

    def path(self, target: str, choice: Choice) -> float:
        rows = self.rows[target][choice]
        if self.is_timed(target, choice):
            return mean(row.delay_ps for row in rows)
        return mean(row.levels for row in rows) * self.level(target)

    def level(self, target: str) -> float:
        """The delay of a level, of those converters on a target of which it is known."""
        timed = [row for rows in self.rows[target].values() for row in rows if row.delay_ps is not None]
        return mean(row.delay_ps / row.levels for row in timed) if timed else 1

    def shown(self, target: str, choice: Choice) -> list[str]:
        """Area and critical path with their units."""
        timed, levels = self.is_timed(target, choice), mean(row.levels for row in self.rows[target][choice])
        return [
            f"{self.area(target, choice):,.0f} {CELLS.get(target, 'LUTs')}",
            f"{self.path(target, choice):,.0f} ps" if timed else f"{levels:.1f} levels",
        ]

    def choices(self, target: str) -> list[Choice]:
        """Those that a target may have."""
        return [choice for choice in self.rows[target] if target != "asic" or not needs_an_attribute(choice)]

    def scores(self, target: str, goal: Goal, choices: list[Choice]) -> dict[Choice, float]:
        """The less, the better."""
        if goal is Goal.SPEED:  # not mixed with delays
            choices = [choice for choice in choices if self.is_timed(target, choice)] or choices
        area, path = goal is not Goal.SPEED, goal is not Goal.AREA
        return {
            choice: (self.area(target, choice) if area else 1) * (self.path(target, choice) if path else 1)
            for choice in choices
        }

    def best(self, target: str, goal: Goal) -> Choice:
        if target != GENERIC:
            scores = self.scores(target, goal, self.choices(target))
        else:
            choices = [choice for choice in self.rows["xcu"] if not needs_an_attribute(choice)]
            each = [self.scores(name, goal, choices) for name in self.rows if not name.endswith("-relaxed")]
            scores = {choice: mean(one[choice] for one in each) for choice in choices}
        return min(scores, key=lambda choice: scores[choice])


def best(rows: list[Explored]) -> dict[str, dict[Goal, Choice]]:
    """The right contents of `hdl.BEST`."""
    figures = Figures(rows)
    return {target: {goal: figures.best(target, goal) for goal in GOALS} for target in BEST}


def by_fraction(rows: list[Explored]) -> list[Figures]:
    """The figures of decoders of elements of one, two and three fraction bits."""

    def bits(row: Explored) -> int:
        element = block_format(row.format).element
        assert isinstance(element, FloatFormat)
        return element.man_bits

    return [Figures([row for row in rows if bits(row) == count], DECODER_FIELDS) for count in (1, 2, 3)]


def best_decoders(rows: list[Explored]) -> dict[str, dict[Goal, list[Choice]]]:
    """The right contents of `hdl.BEST_DECODERS`, without the generic target, whose decoders do not change."""
    each = by_fraction(rows)
    return {
        target: {goal: [figures.best(target, goal) for figures in each] for goal in GOALS}
        for target in BEST_DECODERS
        if target != GENERIC
    }


def decoder_lines(rows: list[Explored]) -> list[list[object]]:
    """For each target and goal the choices, with area and critical path."""
    each = by_fraction(rows)

    def shown(figures: Figures, target: str, choice: Choice) -> str:
        return ", ".join([" ".join(choice), *figures.shown(target, choice)])

    return [
        [target, str(goal), *(shown(figures, target, choice) for figures, choice in zip(each, choices))]
        for target, goals in best_decoders(rows).items()
        for goal, choices in goals.items()
    ]


def lines(rows: list[Explored]) -> list[list[object]]:
    """For each target and goal the choice, its area and its critical path; the generic target has neither."""
    figures, chosen = Figures(rows), best(rows)
    return [
        [target, str(goal), " ".join(choice), *figures.shown(target, choice)]
        for target in chosen
        if target != GENERIC
        for goal, choice in chosen[target].items()
    ] + [[GENERIC, str(goal), " ".join(choice), "-", "-"] for goal, choice in chosen[GENERIC].items()]
