"""Separation of rules that fit all tried blocks, by more blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...sim.operations import golden
from ...sim.transactions import Transactions
from ...spec import Encode, Role
from .candidates import Candidate, Converted
from .expected.returned_numbers import numbers_of
from .outcome import is_departure
from .separation import separation
from .trial import Trial

COMPLETED = 512
"""Blocks that are drawn to find one whose numbers separate two rules."""


def told_apart(trial: Trial, matches: list[Candidate]) -> tuple[list[Candidate], tuple[str, ...]]:
    """The rules that also fit blocks that separate them, and the names of two that no tried block separates. Departures
    count only if no profile fits.
    """
    profiles = [one for one in matches if not is_departure(one)]
    if not profiles:
        return matches, ()
    kept = [profiles[0]]
    for other in profiles[1:]:
        first = kept[0]
        found = separation(first.numerics, other.numerics)
        if found.block is None and not found.is_whole:
            return [*kept, other], (first.names[0], other.names[0])
        if found.block is None:
            kept.append(other)
            continue
        if trial.raises and not trial.finite(found.block).all():
            return [*kept, other], (first.names[0], other.names[0])
        for block in (found.block, *_completed(trial, found.block, first, other)):
            made = Converted(block, trial.convert(block))
            trial.separating.append(made)
            fits = [trial.fits(one.numerics, made) for one in (first, other)]
            if fits != [True, True]:
                break
        else:  # different codes that mean the same numbers
            return [*kept, other], (first.names[0], other.names[0])
        if not fits[0]:
            kept = [other] if fits[1] else []
        if not kept:
            return [], ()
    return kept, ()


def _completed(trial: Trial, block: Transactions, first: Candidate, other: Candidate) -> Iterator[Transactions]:
    """The block with smaller numbers after its first, so that two rules return different numbers: the numbers of the
    block itself may be the same under two scales.
    """
    a, b = first.numerics, other.numerics
    if not (isinstance(a, Encode) and isinstance(b, Encode)) or Role.NUMBERS not in trial.normal.made.arrays:
        return
    patterns = np.repeat(block[Role.NUMBERS], COMPLETED, axis=0)
    largest = patterns[:, :1] & patterns.dtype.type(a.source.magnitude_mask)
    rng = np.random.default_rng(trial.seed)
    distances = rng.integers(0, min(20 << a.source.man_bits, int(largest.max()) + 1), patterns.shape)
    smaller = np.maximum(largest.astype(np.int64) - distances, 0).astype(patterns.dtype)
    given = block.rows(np.zeros(COMPLETED, int)).with_arrays(
        {Role.NUMBERS: np.where(np.arange(patterns.shape[1]) == 0, patterns, smaller)}
    )
    differs = (numbers_of(a, golden(a, given)) != numbers_of(b, golden(b, given))).any(axis=1)
    if differs.any():
        yield given.rows(np.flatnonzero(differs)[:1])
