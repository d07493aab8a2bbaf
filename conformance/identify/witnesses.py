"""The rules that a converter is compared with, and its departures from them with their smallest blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...sim.operations import golden, of
from ...spec import Encode, Role
from .candidates import Candidate, Converted, Rules
from .causes.departures import Causes, Departure, unexplained
from .causes.minimise import smallest
from .causes.suspicions import is_exchanged, suspicions
from .expected.returned_numbers import described_numbers, remarks_on_numbers
from .trial import FEW, Trial

WITNESSES = 4
"""Causes whose smallest block is searched."""


def compared_with(trial: Trial, order: Sequence[Candidate]) -> Candidate:
    """The rules to compare with: the nearest ones. If most blocks differ from all rules, a profile whose codes are
    right but exchanged, or whose differences named causes explain best.
    """
    normal = trial.normal
    if order[0].normal * 2 < len(normal.given):
        return order[0]
    for one in trial.profiles if Role.CODES in normal.made.arrays else ():
        if isinstance(one.numerics, Encode) and is_exchanged(one.numerics, normal):
            return one
    left = [unexplained(one.numerics, trial.few(one.numerics)) for one in trial.profiles]
    best = int(np.argmin(left))
    return trial.profiles[best] if left[best] * 2 < FEW else order[0]


def departures_from(trial: Trial, base: Candidate) -> tuple[tuple[Departure, ...], tuple[str, ...]]:
    """Departures from some rules, the worst cause first, and remarks. The first causes get their smallest blocks."""
    rules, (hard, normal) = base.numerics, trial.converted(base.numerics)
    separating = [trial.seen(rules, one) for one in trial.separating]
    causes = Causes.of(rules, normal, hard, trial.nan_codes_free)
    found = causes.found([normal, hard, *separating])
    departures = [
        _with_witness(trial, causes, departure, block) if place < WITNESSES else departure
        for place, (departure, block) in enumerate(found)
    ]
    return tuple(departures), (*trial.remarks, *_remarks(trial, rules, normal, hard))


def _remarks(trial: Trial, rules: Rules, normal: Converted, hard: Converted) -> tuple[str, ...]:
    """Sentences about all differences."""
    every = Converted.joined([normal, hard])
    if isinstance(rules, Encode) and Role.NUMBERS in normal.made.arrays:
        return remarks_on_numbers(rules, normal, every)
    know = of(rules)
    why = know.why(every.given, golden(rules, every.given), every.made, trial.nan_codes_free)
    only = know.only([know.causes[number] for number in np.unique(why[why >= 0])])
    return tuple(dict.fromkeys([*filter(None, [only]), *suspicions(rules, normal), *suspicions(rules, every)]))


def _with_witness(trial: Trial, causes: Causes, departure: Departure, found: Converted) -> Departure:
    """The departure with the smallest block found that differs for its cause."""
    rules, role = causes.rules, next(iter(found.given.arrays))

    def differs(elements: np.ndarray) -> np.ndarray:
        given = found.given.rows(np.zeros(len(elements), int)).with_arrays({role: elements})
        is_tried = trial.finite(given) if trial.raises else np.ones(len(given), bool)
        rows = np.flatnonzero(is_tried)
        if len(rows):
            tried = given.rows(rows)
            parts = [tried.rows(slice(i, i + 1)) for i in range(len(tried))] if trial.is_of_tensors else [tried]
            made = [trial.alone(rules, part) for part in parts]
            is_tried[rows] = np.concatenate([causes.texts(one) == departure.text for one in made])
        return is_tried

    small = found
    if differs(found.given[role])[0]:
        elements = smallest(found.given[role][0], differs)
        small = trial.alone(rules, found.given.with_arrays({role: elements[None]}))
    return replace(departure, witness=_described(rules, small), block=small.given)


def _described(rules: Rules, block: Converted) -> str:
    if isinstance(rules, Encode) and Role.NUMBERS in block.made.arrays:
        return described_numbers(rules, block.given, block.made)
    return of(rules).described("the smallest block", block.given, golden(rules, block.given), block.made)
