"""Why results differ: kinds of differences, and a sentence for several kinds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cause:
    """A kind of difference, and its words in reports."""

    kind: str
    text: str


Sentences = Sequence[tuple[set[str], str]]
"""Sets of kinds, each with a sentence that is true if all differences are of these kinds."""


def causes_of(texts: Mapping[str, str]) -> tuple[Cause, ...]:
    """A cause for each kind."""
    return tuple(Cause(kind, text) for kind, text in texts.items())


def of_elements(causes: Sequence[Cause], kinds: Mapping[str, np.ndarray], wrong: np.ndarray) -> np.ndarray:
    """For each block the number of the last cause that fits all its wrong elements, or -1 if all are right: (n,) int8.

    ``kinds`` maps each kind to the elements that it fits; all arrays are (n, lanes).
    """
    found = np.full(len(wrong), -1, np.int8)
    differs = wrong.any(axis=1)
    for number, cause in enumerate(causes):  # the last cause wins
        found[differs & (kinds[cause.kind] | ~wrong).all(axis=1)] = number
    return found


def in_common(found: Collection[Cause], sentences: Sentences) -> str | None:
    """The first sentence that covers the kinds of all causes found; None if no sentence fits, or nothing was found."""
    kinds = {cause.kind for cause in found}
    return next((sentence for several, sentence in sentences if kinds and kinds <= several), None)
